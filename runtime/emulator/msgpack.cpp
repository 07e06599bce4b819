#include "msgpack.h"

#include <cstring>

namespace hkc::emu::msgpack {

namespace {

constexpr int max_depth = 32;

class Reader {
 public:
    Reader(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

    bool value(Value& out, int depth) {
        uint64_t tag = 0;
        if (depth > max_depth || !number(1, tag)) return false;
        if (tag <= 0x7f) return integer(out, static_cast<int64_t>(tag));
        if (tag <= 0x8f) return container(out, Type::map, tag & 0x0f, depth);
        if (tag <= 0x9f) return container(out, Type::array, tag & 0x0f, depth);
        if (tag <= 0xbf) return bytes(out, Type::string, tag & 0x1f);
        if (tag >= 0xe0) return integer(out, static_cast<int8_t>(tag));
        return tagged(out, static_cast<uint8_t>(tag), depth);
    }

 private:
    size_t left() const { return static_cast<size_t>(end_ - next_); }

    // A big-endian unsigned number of `width` bytes.
    bool number(size_t width, uint64_t& out) {
        if (left() < width) return false;
        out = 0;
        for (size_t i = 0; i < width; ++i) out = out << 8 | *next_++;
        return true;
    }

    static bool integer(Value& out, int64_t value) {
        out.type = Type::integer;
        out.integer = value;
        return true;
    }

    bool bytes(Value& out, Type type, uint64_t length) {
        if (left() < length) return false;
        out.type = type;
        out.text = std::string_view(reinterpret_cast<const char*>(next_), length);
        next_ += length;
        return true;
    }

    bool container(Value& out, Type type, uint64_t count, int depth) {
        const uint64_t values = type == Type::map ? 2 * count : count;
        if (values > left()) return false;  // every value takes a byte at least
        out.type = type;
        for (uint64_t i = 0; i < values; ++i) {
            if (!value(out.items.emplace_back(), depth + 1)) return false;
        }
        return true;
    }

    bool sized(Value& out, Type type, size_t width, int depth) {
        uint64_t length = 0;
        if (!number(width, length)) return false;
        if (type == Type::array || type == Type::map) return container(out, type, length, depth);
        return bytes(out, type, length);
    }

    bool signed_number(Value& out, size_t width) {
        uint64_t raw = 0;
        if (!number(width, raw)) return false;
        const int shift = static_cast<int>(64 - 8 * width);
        return integer(out, static_cast<int64_t>(raw << shift) >> shift);
    }

    bool unsigned_number(Value& out, size_t width) {
        uint64_t raw = 0;
        return number(width, raw) && integer(out, static_cast<int64_t>(raw));
    }

    bool real(Value& out, size_t width) {
        uint64_t raw = 0;
        if (!number(width, raw)) return false;
        out.type = Type::real;
        if (width == 4) {
            const uint32_t narrow = static_cast<uint32_t>(raw);
            float value;
            std::memcpy(&value, &narrow, sizeof value);
            out.real = value;
        } else {
            std::memcpy(&out.real, &raw, sizeof out.real);
        }
        return true;
    }

    bool extension(Value& out, uint64_t length) {
        return left() > length && bytes(out, Type::binary, length + 1);
    }

    bool tagged(Value& out, uint8_t tag, int depth) {
        uint64_t length = 0;
        switch (tag) {
            case 0xc0:
                return true;  // nil
            case 0xc2:
            case 0xc3:
                out.type = Type::boolean;
                out.integer = tag & 1;
                return true;
            case 0xc4:
            case 0xc5:
            case 0xc6:
                return sized(out, Type::binary, size_t{1} << (tag - 0xc4), depth);
            case 0xc7:
            case 0xc8:
            case 0xc9:
                return number(size_t{1} << (tag - 0xc7), length) && extension(out, length);
            case 0xca:
            case 0xcb:
                return real(out, tag == 0xca ? 4 : 8);
            case 0xcc:
            case 0xcd:
            case 0xce:
            case 0xcf:
                return unsigned_number(out, size_t{1} << (tag - 0xcc));
            case 0xd0:
            case 0xd1:
            case 0xd2:
            case 0xd3:
                return signed_number(out, size_t{1} << (tag - 0xd0));
            case 0xd4:
            case 0xd5:
            case 0xd6:
            case 0xd7:
            case 0xd8:
                return extension(out, uint64_t{1} << (tag - 0xd4));
            case 0xd9:
            case 0xda:
            case 0xdb:
                return sized(out, Type::string, size_t{1} << (tag - 0xd9), depth);
            case 0xdc:
            case 0xdd:
                return sized(out, Type::array, tag == 0xdc ? 2 : 4, depth);
            case 0xde:
            case 0xdf:
                return sized(out, Type::map, tag == 0xde ? 2 : 4, depth);
            default:
                return false;  // 0xc1 is never used
        }
    }

    const uint8_t* next_;
    const uint8_t* end_;
};

}  // namespace

const Value* Value::get(std::string_view key) const {
    if (type != Type::map) return nullptr;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (items[i].type == Type::string && items[i].text == key) return &items[i + 1];
    }
    return nullptr;
}

std::string_view Value::string_or(std::string_view key, std::string_view otherwise) const {
    const Value* value = get(key);
    return value != nullptr && value->type == Type::string ? value->text : otherwise;
}

std::optional<uint32_t> Value::unsigned_at(std::string_view key) const {
    const Value* value = get(key);
    if (value == nullptr || value->type != Type::integer) return std::nullopt;
    if (value->integer < 0 || value->integer > UINT32_MAX) return std::nullopt;
    return static_cast<uint32_t>(value->integer);
}

std::optional<Value> parse(const uint8_t* data, size_t size) {
    Value value;
    if (!Reader(data, size).value(value, 0)) return std::nullopt;
    return value;
}

}  // namespace hkc::emu::msgpack
