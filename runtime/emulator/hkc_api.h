// What the emulated device offers beyond HIP, as a C ABI. Functions with a `device` take its ordinal and give
// hipErrorInvalidDevice for any other number.
//
// Functions that write text return its length without the final zero (like snprintf), -1 for a bad device. The text
// is written only if it fits in `size` bytes with its zero; `clear` takes effect only then.
#pragma once

#include "hip_types.h"

/// "0.1.0": the version of this library.
HIP_API const char* hkcVersion();

/// "base" (SSE2), "avx2" or "avx512": the vector instructions in use, the best that the processor has. The environment
/// variable HKC_EMULATOR_VECTOR keeps the library to fewer; results are the same.
HIP_API const char* hkcVectorVariant();

/// 0: fast; 1: checked. Of this device's later launches.
HIP_API hipError_t hkcSetMode(int device, int mode);
HIP_API int hkcGetMode(int device);

/// How many host threads run workgroups; 0: all cores. With 1, every run of a launch is the same: workgroups run in
/// order of their number (x first), a workgroup's waves in turn, and the clocks that a kernel reads count instructions.
HIP_API hipError_t hkcSetThreads(int device, unsigned threads);

/// How many instructions a wave may take before it is stopped and reported as "runaway" (to within a few million);
/// 0: no limit.
HIP_API hipError_t hkcSetInstructionBudget(int device, unsigned long long instructions);

/// A JSON list of the reports since the last clear (at most 1000): kind, message, instruction, pc, workgroup [x, y, z],
/// wave, lane, address, file, line, column, and other: null, or the other side of a race or of a missing wait, as
/// instruction, pc, workgroup, wave, file, line, column.
HIP_API long hkcReports(int device, char* text, size_t size, int clear);

/// A JSON list of the s_waitcnt and s_barrier that the last launch passed in checked mode: offset from the kernel's
/// first instruction in bytes, how often it was passed, and the number of operations (vector_loads, vector_stores, lds,
/// scalar) that it completed and nothing before had completed.
HIP_API long hkcWaits(int device, char* text, size_t size);

/// The text of the last launch's trap; empty if it ran to its end.
HIP_API long hkcLastTrap(int device, char* text, size_t size);

/// A JSON object of wave-instruction counts over the launches since the last clear.
HIP_API long hkcCounters(int device, char* text, size_t size, int clear);

/// More about the calling thread's last error than its code tells; empty if there is nothing more to say.
HIP_API long hkcErrorDetail(char* text, size_t size);

/// A JSON object from target to a list of the rows of its opcode tables: family, opcode (of the family; VOP3 forms of
/// VOP1, VOP2 and VOPC are not listed again), mnemonic, and whether the emulated device executes it. What it does not
/// execute, it decodes, prints, and traps on.
HIP_API long hkcCoverage(char* text, size_t size);
