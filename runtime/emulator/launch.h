// The state in which the command processor starts waves (LLVM AMDGPUUsage, "Initial Kernel Execution State").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workgroup.h"

namespace hkc::emu {

/// What is the same for all workgroups of a dispatch.
class LaunchState {
 public:
    /// Empty, or why the dispatch is impossible.
    std::string prepare(RunContext& run);

    void start_wave(Wave& wave, const std::array<uint32_t, 3>& workgroup, unsigned first_item) const;
    unsigned waves_per_group() const { return waves_per_group_; }
    uint32_t private_segment() const { return private_segment_; }  ///< Bytes a lane.
    uint64_t scratch_bytes() const { return uint64_t(private_segment_) * lanes; }  ///< Of a wave.

 private:
    std::string check_limits(RunContext& run) const;
    void fill_launch_block(RunContext& run);
    void start_sgprs(Wave& wave, const std::array<uint32_t, 3>& workgroup) const;
    void start_vgprs(Wave& wave, unsigned first_item) const;

    const Dispatch* dispatch_ = nullptr;
    const Instruction* entry_ = nullptr;
    Arch arch_ = Arch::gfx942;
    unsigned waves_per_group_ = 0;
    uint32_t private_segment_ = 0;
    unsigned vgprs_ = 0;  ///< Granted, without accumulation registers.
    std::vector<uint64_t> block_;  ///< Kernarg segment, dispatch packet and queue, as the kernel sees them.
    uint64_t kernarg_ = 0, packet_ = 0, queue_ = 0;
};

/// Waves, LDS and scratch of one workgroup at a time, reused by a thread for one workgroup after the other.
class WorkgroupStorage {
 public:
    WorkgroupStorage(RunContext& run, const LaunchState& launch);
    ~WorkgroupStorage();

    void begin(uint64_t linear_index);
    void end();
    Workgroup& group() { return group_; }

 private:
    struct FreeWaves {
        void operator()(Wave* waves) const { ::operator delete[](waves, std::align_val_t{64}); }
    };

    RunContext& run_;
    const LaunchState& launch_;
    Workgroup group_;
    std::unique_ptr<Wave[], FreeWaves> waves_;
    std::vector<uint64_t> lds_, scratch_;
    Counters counters_{};  ///< Of the workgroups so far.
};

}  // namespace hkc::emu
