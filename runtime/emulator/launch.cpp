#include "launch.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "checker.h"
#include "device_info.h"

namespace hkc::emu {
namespace {

/// LDS limits and allocation granules in bytes (CDNA3 ISA guide, 2.2.1: 64 KB; CDNA4 ISA guide: 160 KB in units of 1280).
struct LdsLimits {
    uint32_t limit, granule;
};
constexpr LdsLimits lds_limits[] = {{64 * 1024, 512}, {160 * 1024, 1280}};

uint32_t round_up(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// Bits of kernel_code_properties (LLVM AMDGPUUsage, "Kernel descriptor").
enum Properties : uint16_t {
    enable_private_segment_buffer = 1 << 0,
    enable_dispatch_ptr = 1 << 1,
    enable_queue_ptr = 1 << 2,
    enable_kernarg_ptr = 1 << 3,
    enable_dispatch_id = 1 << 4,
    enable_flat_scratch_init = 1 << 5,
    enable_private_segment_size = 1 << 6,
};

/// hsa_kernel_dispatch_packet_t (HSA runtime specification, "Kernel dispatch packet").
struct DispatchPacket {
    uint16_t header, setup, workgroup_size[3], reserved0;
    uint32_t grid_size[3], private_segment_size, group_segment_size;
    uint64_t kernel_object, kernarg_address, reserved2, completion_signal;
};
static_assert(sizeof(DispatchPacket) == 64);

}  // namespace

std::string LaunchState::check_limits(RunContext& run) const {
    const Dispatch& d = run.dispatch;
    const Kernel& kernel = *d.kernel;
    uint64_t items = uint64_t(d.block[0]) * d.block[1] * d.block[2];
    uint64_t limit = kernel.max_flat_workgroup_size ? kernel.max_flat_workgroup_size : 1024;
    if (items == 0 || items > std::min<uint64_t>(limit, 1024))
        return "a workgroup of " + std::to_string(items) + " work-items is not possible, " + kernel.name +
               " allows 1 to " + std::to_string(std::min<uint64_t>(limit, 1024));
    const LdsLimits& lds = lds_limits[size_t(arch_)];
    uint64_t bytes = uint64_t(kernel.descriptor.group_segment) + d.dynamic_lds;
    if (bytes > lds.limit)
        return kernel.name + " needs " + std::to_string(bytes) + " bytes of LDS, " + arch_name(arch_) +
               " has " + std::to_string(lds.limit);
    if (kernel.descriptor.private_segment > max_private_bytes)
        return kernel.name + " needs " + std::to_string(kernel.descriptor.private_segment) +
               " bytes of scratch memory a work-item, there are " + std::to_string(max_private_bytes);
    if (!entry_) return kernel.name + " has no entry in the code";
    return {};
}

std::string LaunchState::prepare(RunContext& run) {
    dispatch_ = &run.dispatch;
    const Kernel& kernel = *run.dispatch.kernel;
    arch_ = kernel.object->arch();
    run.program = program_of(*kernel.object);
    entry_ = run.program->at(kernel.entry);
    std::string error = check_limits(run);
    if (!error.empty()) return error;
    const auto& block = run.dispatch.block;
    waves_per_group_ = (block[0] * block[1] * block[2] + lanes - 1) / lanes;
    private_segment_ = round_up(kernel.descriptor.private_segment, 4);
    vgprs_ = std::min(256u, ((kernel.descriptor.rsrc3 & 63) + 1) * 4);
    run.lds_bytes = round_up(kernel.descriptor.group_segment + run.dispatch.dynamic_lds,
                             lds_limits[size_t(arch_)].granule);
    run.window.begin = run.memory.arena_begin();
    run.window.end = run.memory.arena_end();
    fill_launch_block(run);
    return {};
}

void LaunchState::fill_launch_block(RunContext& run) {
    const Dispatch& d = run.dispatch;
    // Compilers may load a few dwords past the last argument; the HSA queue is only ever read.
    size_t kernarg_bytes =
        round_up(uint32_t(std::max<size_t>(d.kernarg_size, d.kernel->kernarg_size)), 64) + 64;
    constexpr size_t queue_bytes = 256;
    block_.assign((kernarg_bytes + sizeof(DispatchPacket) + queue_bytes + 64) / 8, 0);
    kernarg_ = (reinterpret_cast<uint64_t>(block_.data()) + 63) & ~63ull;
    packet_ = kernarg_ + kernarg_bytes;
    queue_ = packet_ + sizeof(DispatchPacket);
    if (d.kernarg_size) std::memcpy(reinterpret_cast<void*>(kernarg_), d.kernarg, d.kernarg_size);
    DispatchPacket packet{};
    packet.setup = 3;
    for (unsigned i = 0; i < 3; ++i) {
        packet.workgroup_size[i] = uint16_t(d.block[i]);
        packet.grid_size[i] = d.block[i] * d.grid[i];
    }
    packet.private_segment_size = private_segment_;
    packet.group_segment_size = run.lds_bytes;
    packet.kernarg_address = kernarg_;
    std::memcpy(reinterpret_cast<void*>(packet_), &packet, sizeof packet);
    run.window.launch_begin = reinterpret_cast<uint64_t>(block_.data());
    run.window.launch_end = run.window.launch_begin + block_.size() * 8;
}

void LaunchState::start_sgprs(Wave& w, const std::array<uint32_t, 3>& workgroup) const {
    const KernelDescriptor& kd = dispatch_->kernel->descriptor;
    unsigned n = 0;
    auto pair = [&](uint16_t bit, uint64_t value) {
        if (!(kd.properties & bit)) return;
        w.set_sgpr64(n, value);
        n += 2;
    };
    if (kd.properties & enable_private_segment_buffer) n += 4;
    pair(enable_dispatch_ptr, packet_);
    pair(enable_queue_ptr, queue_);
    pair(enable_kernarg_ptr, kernarg_);
    pair(enable_dispatch_id, 0);
    pair(enable_flat_scratch_init, 0);
    if (kd.properties & enable_private_segment_size) w.sgpr[n++] = private_segment_;
    // Preloaded kernel arguments: the code's prologue loads them too, for firmware that does not preload.
    unsigned length = kd.kernarg_preload & 0x7f, offset = kd.kernarg_preload >> 7;
    for (unsigned i = 0; i < length && n < 16; ++i, ++n) {
        uint64_t dword =
            kernarg_ + 4 * (offset + i);  // a damaged descriptor may name dwords behind the segment
        if (dword < packet_) std::memcpy(&w.sgpr[n], reinterpret_cast<const void*>(dword), 4);
    }
    unsigned user = kd.rsrc2 >> 1 & 31;
    n = std::max(n, user);
    for (unsigned i = 0; i < 3; ++i)  // ENABLE_SGPR_WORKGROUP_ID_X, Y, Z
        if (kd.rsrc2 >> (7 + i) & 1) w.sgpr[n++] = workgroup[i];
    if (kd.rsrc2 >> 10 & 1) w.sgpr[n++] = 0;  // ENABLE_SGPR_WORKGROUP_INFO
    if (w.shadow) checker::define_sgprs(w, n);
}

void LaunchState::start_vgprs(Wave& w, unsigned first_item) const {
    const auto& block = dispatch_->block;
    std::memset(w.vgpr, 0, sizeof w.vgpr[0] * vgprs_);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        unsigned item = first_item + lane;
        unsigned x = item % block[0], y = item / block[0] % block[1], z = item / block[0] / block[1];
        w.vgpr[0][lane] = x | y << 10 | z << 20;
    }
}

void LaunchState::start_wave(Wave& w, const std::array<uint32_t, 3>& workgroup, unsigned first_item) const {
    const auto& block = dispatch_->block;
    unsigned items = block[0] * block[1] * block[2] - first_item;
    uint64_t exec = items >= lanes ? ~0ull : (1ull << items) - 1;
    w.counters = {};
    w.scc = 0;
    // MODE from rsrc1: FLOAT_MODE [19:12], DX10_CLAMP 21, IEEE 23, FP16_OVFL 26.
    uint32_t rsrc1 = dispatch_->kernel->descriptor.rsrc1;
    w.mode = (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 | (rsrc1 >> 26 & 1) << 23;
    w.pc = entry_;
    w.state = WaveState::running;
    w.arch = arch_;
    std::memset(w.sgpr, 0, sizeof w.sgpr);
    start_sgprs(w, workgroup);
    start_vgprs(w, first_item);
    w.set_sgpr64(sgpr::exec, exec);
    w.exec_row_value = ~exec;
}

WorkgroupStorage::WorkgroupStorage(RunContext& run, const LaunchState& launch) : run_(run), launch_(launch) {
    unsigned count = launch.waves_per_group();
    waves_.reset(static_cast<Wave*>(::operator new[](sizeof(Wave) * count, std::align_val_t{64})));
    lds_.resize(run.lds_bytes / 8 + 2);
    scratch_.resize(launch.scratch_bytes() * count / 8 + 1);
    group_.run = &run;
    group_.waves = waves_.get();
    group_.wave_count = count;
    for (unsigned i = 0; i < count; ++i) {
        Wave& w = waves_[i];
        std::memset(static_cast<void*>(&w), 0, sizeof w);
        w.index = int(i);
        w.private_segment = launch.private_segment();
        w.scratch = reinterpret_cast<uint8_t*>(scratch_.data()) + launch.scratch_bytes() * i;
        w.lds = reinterpret_cast<uint8_t*>(lds_.data());
        w.lds_size = run.lds_bytes;
        w.window = &run.window;
        w.group = &group_;
    }
    if (run.options.mode == Mode::checked) checker::attach(group_);
}

WorkgroupStorage::~WorkgroupStorage() {
    run_.add(counters_);
    if (group_.shadow) checker::detach(group_);
}

void WorkgroupStorage::begin(uint64_t index) {
    const auto& grid = run_.dispatch.grid;
    group_.id = {uint32_t(index % grid[0]), uint32_t(index / grid[0] % grid[1]),
                 uint32_t(index / grid[0] / grid[1])};
    std::fill(lds_.begin(), lds_.end(), 0);
    if (group_.shadow) checker::begin_workgroup(group_);
    for (unsigned i = 0; i < group_.wave_count; ++i) launch_.start_wave(waves_[i], group_.id, i * lanes);
}

void WorkgroupStorage::end() {
    for (unsigned i = 0; i < group_.wave_count; ++i) counters_ = counters_ + waves_[i].counters;
}

}  // namespace hkc::emu
