// Reader of MessagePack, the encoding of AMDGPU metadata notes (https://github.com/msgpack/msgpack spec).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hkc::emu::msgpack {

enum class Type : uint8_t { nil, boolean, integer, real, string, binary, array, map };

/// A decoded value. Strings and binaries are views of the bytes that were parsed.
struct Value {
    Type type = Type::nil;
    int64_t integer = 0;  ///< Integers (those above INT64_MAX wrap) and booleans.
    double real = 0;
    std::string_view text;
    std::vector<Value> items;  ///< Array elements, or map keys and values in turn.

    /// The value of a string key of a map; nullptr if this is no map or has no such key.
    const Value* get(std::string_view key) const;
    std::string_view string_or(std::string_view key, std::string_view otherwise) const;
    /// The value of an integer key, which must be in [0, 2^32).
    std::optional<uint32_t> unsigned_at(std::string_view key) const;
};

/// Decodes one value; nullopt if the bytes are damaged, end early, or nest deeper than 32 levels.
std::optional<Value> parse(const uint8_t* data, size_t size);

}  // namespace hkc::emu::msgpack
