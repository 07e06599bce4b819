// Checked mode's first form: loads take effect at once, accesses are not yet recorded.
#include "checker.h"

#include <bit>
#include <cstring>

#include "workgroup.h"

namespace hkc::emu::checker {

struct Pending {
    uint32_t rows[1];
};

void before(Wave&, const Instruction&) {}
void after(Wave&, const Instruction&) {}
Pending* begin_load(Wave& w, const Instruction& in, Counter, uint64_t, Part) {
    return reinterpret_cast<Pending*>(w.vgpr[in.dst.index]);
}
Pending* last_load(Wave& w) {
    return reinterpret_cast<Pending*>(w.vgpr[w.pc[-1].dst.index]);
}
uint32_t* rows(Pending* pending) {
    return pending->rows;
}
uint32_t* begin_scalar_load(Wave& w, const Instruction& in, unsigned) {
    return &w.sgpr[in.dst.index];
}
void count_only(Wave&, const Instruction&, Counter) {}
uint64_t global_access(Wave&, const Instruction&, const uint64_t*, uint64_t mask, unsigned, bool) {
    return mask;
}
bool scalar_access(Wave&, const Instruction&, uint64_t, unsigned) {
    return true;
}
void lds_read(Wave&, const Instruction&, const uint32_t*, uint64_t, unsigned, Pending*, unsigned) {}
void lds_write(Wave&, const Instruction&, const uint32_t*, uint64_t, unsigned, const Operand*, unsigned) {}
void lds_issued(Wave&, const Instruction&, Pending*) {}
void lds_direct(Wave& w, const Instruction&, const uint32_t* address, uint64_t mask, unsigned bytes,
                const uint8_t* data) {
    for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(std::countr_zero(mask));
        std::memcpy(w.lds + address[lane], data + lane * bytes, bytes);
    }
}
void lds_out_of_bounds(Wave&, const Instruction&, int, uint32_t, unsigned) {}
void scratch_store(Wave&, const Instruction&, int, uint64_t, unsigned, unsigned) {}
void scratch_load(Wave&, const Instruction&, int, uint64_t, unsigned, Pending*, unsigned) {}
void attach(Workgroup&) {}
void detach(Workgroup&) {}
void begin_workgroup(Workgroup&) {}
void define_sgprs(Wave&, unsigned) {}
void wait(Wave&, unsigned, unsigned) {}
void arrive_at_barrier(Wave&, const Instruction&) {}
void end_wave(Wave&, const Instruction&) {}
void open_barrier(Workgroup&) {}

}  // namespace hkc::emu::checker
