// Copies and fills, in one and two dimensions. Everything is done when the function returns, on every stream.
#include <algorithm>
#include <cstring>

#include "hip_host.h"
#include "hip_range.h"

using namespace hkc::emu;

namespace {

/// Bytes in rows: row i begins at `first + i * pitch`.
template <typename Byte>
struct Rows {
    Byte* first;
    size_t pitch;
};

struct Extent {
    size_t width, height;  ///< In bytes and rows.
};

/// How far `extent` reaches in rows of this pitch; nullopt if that is no size.
std::optional<size_t> reach(size_t pitch, Extent extent) {
    size_t rows = 0, bytes = 0;
    if (__builtin_mul_overflow(pitch, extent.height - 1, &rows)) return std::nullopt;
    if (__builtin_add_overflow(rows, extent.width, &bytes)) return std::nullopt;
    return bytes;
}

template <typename Byte>
hipError_t check_rows(Rows<Byte> rows, Extent extent, bool must_be_device, const char* what) {
    if (rows.pitch < extent.width) {
        return finish(hipErrorInvalidPitchValue, std::string(what) + " has rows of " +
                                                     std::to_string(rows.pitch) + " bytes, " +
                                                     std::to_string(extent.width) + " are used");
    }
    const std::optional<size_t> bytes = reach(rows.pitch, extent);
    uint64_t end = 0;
    if (!bytes || __builtin_add_overflow(address_of(rows.first), *bytes, &end)) {
        return finish(hipErrorInvalidValue, std::string(what) + " is larger than the address space");
    }
    return check_range(rows.first, *bytes, must_be_device, what);
}

/// One row, whose arena side is known to be good.
hipError_t copy_row(char* to, const char* from, size_t bytes) {
    if (in_arena(to) && in_arena(from)) {
        std::memmove(to, from, bytes);
        return hipSuccess;
    }
    if (in_arena(to)) {
        return read_client(to, from, bytes)
                   ? hipSuccess
                   : finish(hipErrorInvalidValue, "the source is not readable memory");
    }
    return write_client(to, from, bytes)
               ? hipSuccess
               : finish(hipErrorInvalidValue, "the source or the destination is not mapped memory");
}

hipError_t copy_rows(Rows<char> to, Rows<const char> from, Extent extent, hipMemcpyKind kind,
                     hipStream_t stream) {
    if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
    const bool known =
        (kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault) || kind == hipMemcpyDeviceToDeviceNoCU;
    if (!known) return finish(hipErrorInvalidMemcpyDirection);
    if (extent.width == 0 || extent.height == 0) return hipSuccess;
    const bool both = kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDeviceToDeviceNoCU;
    const bool to_device = both || kind == hipMemcpyHostToDevice;
    const bool from_device = both || kind == hipMemcpyDeviceToHost;
    if (const hipError_t bad = check_rows(to, extent, to_device, "the destination")) return bad;
    if (const hipError_t bad = check_rows(from, extent, from_device, "the source")) return bad;
    for (size_t row = 0; row < extent.height; ++row) {
        const hipError_t bad =
            copy_row(to.first + row * to.pitch, from.first + row * from.pitch, extent.width);
        if (bad != hipSuccess) return bad;
    }
    return hipSuccess;
}

hipError_t copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    return guarded([&] {
        return copy_rows({static_cast<char*>(to), bytes}, {static_cast<const char*>(from), bytes}, {bytes, 1},
                         kind, stream);
    });
}

hipError_t copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                   size_t height, hipMemcpyKind kind, hipStream_t stream) {
    return guarded([&] {
        return copy_rows({static_cast<char*>(to), to_pitch}, {static_cast<const char*>(from), from_pitch},
                         {width, height}, kind, stream);
    });
}

/// Where one side of a hip_Memcpy2D begins; nullptr for an array, which the emulated device does not have.
const char* side(hipMemoryType type, const void* host, const void* device, size_t x, size_t y, size_t pitch) {
    const void* base = nullptr;
    if (type == hipMemoryTypeHost || type == hipMemoryTypeUnregistered) base = host;
    if (type == hipMemoryTypeDevice || type == hipMemoryTypeUnified || type == hipMemoryTypeManaged)
        base = device;
    size_t offset = 0;
    if (base == nullptr || __builtin_mul_overflow(y, pitch, &offset) ||
        __builtin_add_overflow(offset, x, &offset))
        return nullptr;
    return reinterpret_cast<const char*>(address_of(base) + offset);
}

hipError_t copy_described(const hip_Memcpy2D* description, hipStream_t stream) {
    return guarded([&] {
        if (description == nullptr) return finish(hipErrorInvalidValue);
        const hip_Memcpy2D& d = *description;
        const size_t to_pitch = d.dstPitch != 0 ? d.dstPitch : d.dstXInBytes + d.WidthInBytes;
        const size_t from_pitch = d.srcPitch != 0 ? d.srcPitch : d.srcXInBytes + d.WidthInBytes;
        const char* to = side(d.dstMemoryType, d.dstHost, d.dstDevice, d.dstXInBytes, d.dstY, to_pitch);
        const char* from = side(d.srcMemoryType, d.srcHost, d.srcDevice, d.srcXInBytes, d.srcY, from_pitch);
        if (to == nullptr || from == nullptr) {
            return finish(hipErrorInvalidValue,
                          "one side of the copy is a null pointer, an array or too large");
        }
        return copy_rows({const_cast<char*>(to), to_pitch}, {from, from_pitch}, {d.WidthInBytes, d.Height},
                         hipMemcpyDefault, stream);
    });
}

template <typename T>
hipError_t fill(void* to, size_t pitch, T value, size_t width, size_t height, hipStream_t stream) {
    return guarded([&] {
        if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
        if (width == 0 || height == 0) return hipSuccess;
        size_t bytes = 0;
        if (__builtin_mul_overflow(width, sizeof(T), &bytes) || address_of(to) % sizeof(T) != 0 ||
            (height > 1 && pitch % sizeof(T) != 0))
            return finish(hipErrorInvalidValue);
        const Rows<char> rows{static_cast<char*>(to), pitch};
        if (const hipError_t bad = check_rows(rows, {bytes, height}, true, "the destination")) return bad;
        for (size_t row = 0; row < height; ++row)
            std::fill_n(reinterpret_cast<T*>(rows.first + row * pitch), width, value);
        return hipSuccess;
    });
}

template <typename T>
hipError_t fill(void* to, T value, size_t count, hipStream_t stream) {
    return fill(to, ~size_t{0}, value, count, 1, stream);  // of one row, the pitch does not matter
}

}  // namespace

HIP_API hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
    return copy(to, from, bytes, kind, nullptr);
}

HIP_API hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                  hipStream_t stream) {
    return copy(to, from, bytes, kind, stream);
}

HIP_API hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                       hipStream_t stream) {
    return copy(to, from, bytes, kind, stream);
}

HIP_API hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, size_t bytes) {
    return copy(to, from, bytes, hipMemcpyHostToDevice, nullptr);
}

HIP_API hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
    return copy(to, from, bytes, hipMemcpyDeviceToHost, nullptr);
}

HIP_API hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, nullptr);
}

HIP_API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, size_t bytes, hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyHostToDevice, stream);
}

HIP_API hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyDeviceToHost, stream);
}

HIP_API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                      hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

HIP_API hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                      size_t bytes, hipStream_t stream) {
    if (!valid_device(to_device) || !valid_device(from_device)) {
        return guarded([] { return finish(hipErrorInvalidDevice); });
    }
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

HIP_API hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
    return hipMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
}

HIP_API hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                               size_t height, hipMemcpyKind kind) {
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

HIP_API hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                    size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream) {
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, stream);
}

HIP_API hipError_t hipMemcpyParam2D(const hip_Memcpy2D* description) {
    return copy_described(description, nullptr);
}

HIP_API hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* description, hipStream_t stream) {
    return copy_described(description, stream);
}

HIP_API hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* description) {
    return copy_described(description, nullptr);
}

HIP_API hipError_t hipMemset(void* to, int value, size_t bytes) {
    return fill(to, static_cast<uint8_t>(value), bytes, nullptr);
}

HIP_API hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
    return fill(to, static_cast<uint8_t>(value), bytes, stream);
}

HIP_API hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
    return fill(to, value, count, nullptr);
}

HIP_API hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                                    hipStream_t stream) {
    return fill(to, value, count, stream);
}

HIP_API hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
    return fill(to, value, count, nullptr);
}

HIP_API hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                     hipStream_t stream) {
    return fill(to, value, count, stream);
}

HIP_API hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
    return fill(to, value, count, nullptr);
}

HIP_API hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
    return fill(to, value, count, stream);
}

HIP_API hipError_t hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return fill(to, pitch, static_cast<uint8_t>(value), width, height, nullptr);
}

HIP_API hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                    hipStream_t stream) {
    return fill(to, pitch, static_cast<uint8_t>(value), width, height, stream);
}

HIP_API hipError_t hipMemsetD2D8(hipDeviceptr_t to, size_t pitch, unsigned char value, size_t width,
                                 size_t height) {
    return fill(to, pitch, value, width, height, nullptr);
}

HIP_API hipError_t hipMemsetD2D16(hipDeviceptr_t to, size_t pitch, unsigned short value, size_t width,
                                  size_t height) {
    return fill(to, pitch, value, width, height, nullptr);
}

HIP_API hipError_t hipMemsetD2D32(hipDeviceptr_t to, size_t pitch, unsigned value, size_t width,
                                  size_t height) {
    return fill(to, pitch, value, width, height, nullptr);
}
