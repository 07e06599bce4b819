// Checked mode: what the executors tell the checker, and what it decides.
//
// Loads commit late: the result of a load reaches its register (or LDS) only when a wait of the wave guarantees it.
// Until then the register is poisoned. See checker_*.cpp for each rule.
#pragma once

#include <cstdint>

#include "wave.h"

namespace hkc::emu::checker {

enum class Counter : uint8_t { vector_memory, lds, scalar_memory, flat };

/// Which part of each destination dword a load writes.
enum class Part : uint8_t { dword, low_half, high_half };

/// A load in flight that an executor is filling in.
struct Pending;

void before(Wave& wave, const Instruction& in);
void after(Wave& wave, const Instruction& in);
/// The operands of a scalar relative move, once M0 has said which they are.
void relocated(Wave& wave, const Instruction& copy);

/// Starts a load into the VGPRs of in.dst for the lanes of `mask`.
Pending* begin_load(Wave& wave, const Instruction& in, Counter counter, uint64_t mask, Part part);
Pending* last_load(Wave& wave);  ///< The load begun last.
uint32_t* rows(Pending* pending);  ///< in.dst.dwords rows of 64 lanes, zero until filled.
/// Starts a load into SGPRs; `dwords` values follow at the returned address.
uint32_t* begin_scalar_load(Wave& wave, const Instruction& in, unsigned dwords);
/// An operation that only counts: a store, or an atomic without a result.
void count_only(Wave& wave, const Instruction& in, Counter counter);

/// Checks a global access of `bytes` for each lane of `mask`; returns the lanes that may go ahead.
uint64_t global_access(Wave& wave, const Instruction& in, const uint64_t* address, uint64_t mask,
                       unsigned bytes, bool store);
/// The same for a scalar load.
bool scalar_access(Wave& wave, const Instruction& in, uint64_t address, unsigned bytes);

/// Checks the order of a load's (store's) bytes against the dispatch's other workgroups. `rows` are a store's data.
void global_read(Wave& wave, const Instruction& in, const uint64_t* address, uint64_t mask, unsigned bytes);
void global_write(Wave& wave, const Instruction& in, const uint64_t* address, uint64_t mask, unsigned bytes,
                  const uint32_t* rows);
void global_atomic(Wave& wave);

/// Reports an address (of `space`: "" for global memory, or "LDS ") that is not a multiple of `unit`.
void misaligned(Wave& wave, const Instruction& in, int lane, const char* space, uint64_t address,
                unsigned unit);

/// Checks an LDS read; undefined bytes are noted in `pending` from its dword `first_dword` on.
void lds_read(Wave& wave, const Instruction& in, const uint32_t* address, uint64_t mask, unsigned bytes,
              Pending* pending, unsigned first_dword);
/// Checks an LDS write of the dwords in `data` (an operand), from its dword `first_dword` on.
void lds_write(Wave& wave, const Instruction& in, const uint32_t* address, uint64_t mask, unsigned bytes,
               const Operand* data, unsigned first_dword);
/// Each lane's result is lane from[lane] of `data`, or 0 if that is negative.
void lanes_moved(Wave& wave, Pending* pending, const Operand& data, const int* from);
/// A load to LDS: `data` holds `bytes` for each lane, to be written to `address` when a wait guarantees it.
void lds_direct(Wave& wave, const Instruction& in, const uint32_t* address, uint64_t mask, unsigned bytes,
                const uint8_t* data);
void lds_out_of_bounds(Wave& wave, const Instruction& in, int lane, uint32_t address, unsigned bytes);

/// Scratch bytes know whether they were written.
void scratch_store(Wave& wave, const Instruction& in, int lane, uint64_t offset, unsigned bytes,
                   unsigned dword);
void scratch_load(Wave& wave, const Instruction& in, int lane, uint64_t offset, unsigned bytes,
                  Pending* pending, unsigned dword);

/// The shadow state of a workgroup and its waves; begin_workgroup makes all registers and LDS undefined.
void attach(Workgroup& group);
void detach(Workgroup& group);
void begin_workgroup(Workgroup& group);
void define_sgprs(Wave& wave, unsigned count);  ///< The launch state gave s0 ... s(count - 1) values.

void wait(Wave& wave, const Instruction& in, unsigned vmcnt, unsigned lgkmcnt);
void arrive_at_barrier(Wave& wave, const Instruction& in);
void end_wave(Wave& wave, const Instruction& in);
void open_barrier(Workgroup& group);

}  // namespace hkc::emu::checker
