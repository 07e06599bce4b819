#include "buffer_addresses.h"

#include "wave.h"

namespace hkc::emu {

void buffer_addresses(const Wave& w, const Instruction& in, BufferAddresses& a, unsigned bytes,
                      bool formatted) {
    BufferResource resource(w, in.src[2].index);
    bool indexed = in.flags & flag_idxen;
    // Lane numbers as indices: a longer stride, and without an index no range (CDNA3 ISA guide, tables 44 and 47).
    if (resource.add_thread_id && !formatted) resource.stride |= resource.data_format << 14;
    bool unchecked = resource.add_thread_id && !indexed;
    uint32_t soffset = uint32_t(read_scalar(w, in.src[3]));
    const uint32_t* index_row = in.flags & flag_idxen ? w.vgpr[in.src[0].index] : nullptr;
    const uint32_t* offset_row =
        in.flags & flag_offen ? w.vgpr[in.src[0].index + (in.flags & flag_idxen ? 1 : 0)] : nullptr;
    a.raw = resource.stride == 0 || !(in.flags & flag_idxen || resource.add_thread_id || resource.swizzle);
    a.records = resource.records;
    a.mask = w.exec();
    a.zero = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        uint32_t offset = uint32_t(in.imm) + (offset_row ? offset_row[lane] : 0);
        uint64_t index = (index_row ? index_row[lane] : 0) + (resource.add_thread_id ? lane : 0);
        uint64_t place = index * resource.stride + offset;
        if (resource.swizzle && resource.stride) {
            unsigned n = resource.index_stride, e = resource.element_size;
            place = (index / n * resource.stride + offset / e * e) * n + index % n * e + offset % e;
        }
        a.offset[lane] = offset;
        a.at[lane] = resource.base + place + soffset;
        bool outside =
            a.raw ? offset >= resource.records || resource.records - offset < bytes
                  : index >= resource.records || (resource.stride && offset + bytes > resource.stride);
        a.zero |= uint64_t(outside && !unchecked) << lane;
    }
    a.zero &= a.mask;
    a.mask &= ~a.zero;
}

}  // namespace hkc::emu
