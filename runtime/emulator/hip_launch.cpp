// Launches: each checks the launch, packs the kernarg segment, runs the kernel.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "hip_event.h"
#include "hip_host.h"
#include "hip_state.h"

using namespace hkc::emu;

namespace {

struct Launch {
    std::array<uint32_t, 3> grid;  ///< In workgroups.
    std::array<uint32_t, 3> block;
    uint32_t dynamic_lds;
};

std::string shape(const std::array<uint32_t, 3>& extent) {
    return std::to_string(extent[0]) + "x" + std::to_string(extent[1]) + "x" + std::to_string(extent[2]);
}

hipError_t check_shape(const Launch& launch, const Kernel& kernel, const DeviceInfo& info) {
    const std::string who = "kernel '" + kernel.name + "': ";
    uint64_t lanes = 1;
    for (int axis = 0; axis < 3; ++axis) {
        if (launch.grid[axis] == 0 || launch.block[axis] == 0) {
            return finish(hipErrorInvalidConfiguration, who + "empty launch, grid " + shape(launch.grid) +
                                                            " of block " + shape(launch.block));
        }
        if (uint64_t{launch.grid[axis]} * launch.block[axis] > UINT32_MAX) {
            return finish(hipErrorInvalidConfiguration, who + "more than 2^32 - 1 work-items along one axis");
        }
        lanes *= std::min<uint64_t>(launch.block[axis], max_workgroup + 1);
    }
    if (lanes > kernel.max_flat_workgroup_size) {
        return finish(hipErrorInvalidConfiguration, who + "a workgroup of " + shape(launch.block) +
                                                        " work-items, compiled for at most " +
                                                        std::to_string(kernel.max_flat_workgroup_size));
    }
    const uint64_t lds = uint64_t{kernel.group_segment} + launch.dynamic_lds;
    if (lds > info.lds_bytes) {
        return finish(hipErrorLaunchOutOfResources, who + std::to_string(lds) + " bytes of LDS, " +
                                                        arch_name(info.arch) + " has " +
                                                        std::to_string(info.lds_bytes));
    }
    if (kernel.private_segment > max_private_bytes) {
        return finish(hipErrorLaunchOutOfResources, who + std::to_string(kernel.private_segment) +
                                                        " bytes of scratch memory a work-item, there are " +
                                                        std::to_string(max_private_bytes));
    }
    return hipSuccess;
}

uint64_t end_of_explicit_arguments(const Kernel& kernel) {
    uint64_t end = 0;
    for (const KernelArgument& argument : kernel.arguments) {
        if (!argument.hidden()) end = std::max<uint64_t>(end, uint64_t{argument.offset} + argument.size);
    }
    return end;
}

/// Explicit arguments as an array with a pointer to each value.
hipError_t pack_parameters(const Kernel& kernel, void** parameters, uint8_t* kernarg) {
    size_t index = 0;
    for (const KernelArgument& argument : kernel.arguments) {
        if (argument.hidden()) continue;
        void* value = nullptr;
        const bool there = parameters != nullptr && read_client(&value, parameters + index, sizeof value) &&
                           value != nullptr && read_client(kernarg + argument.offset, value, argument.size);
        if (!there) {
            return finish(hipErrorInvalidValue,
                          "kernel '" + kernel.name + "': argument " + std::to_string(index) + " is missing");
        }
        ++index;
    }
    return hipSuccess;
}

/// Explicit arguments as one buffer, named by `extra`'s key-value list.
hipError_t pack_buffer(const Kernel& kernel, void** extra, uint8_t* kernarg) {
    constexpr int longest_list = 3;
    const void* buffer = nullptr;
    size_t size = 0;
    for (int entry = 0;; ++entry, extra += 2) {
        void *key_value = nullptr, *value = nullptr;
        if (entry == longest_list || !read_client(&key_value, extra, sizeof key_value))
            return finish(hipErrorInvalidValue, "the launch's `extra` list has no end");
        const auto key = reinterpret_cast<uintptr_t>(key_value);
        if (key == hip_launch_param_end) break;
        const bool read = read_client(&value, extra + 1, sizeof value);
        if (key == hip_launch_param_buffer_pointer && read) {
            buffer = value;
        } else if (key == hip_launch_param_buffer_size && read && value != nullptr) {
            if (!read_client(&size, value, sizeof size)) return finish(hipErrorInvalidValue);
        } else {
            return finish(hipErrorInvalidValue, "an unknown key in the launch's `extra` list");
        }
    }
    const uint64_t needed = end_of_explicit_arguments(kernel);
    if (size < needed || (buffer == nullptr && size != 0)) {
        return finish(hipErrorInvalidValue, "kernel '" + kernel.name + "': " + std::to_string(size) +
                                                " bytes of arguments, it takes " + std::to_string(needed));
    }
    if (!read_client(kernarg, buffer, std::min<size_t>(size, kernel.kernarg_size)))
        return finish(hipErrorInvalidValue, "the launch's argument buffer is not readable memory");
    return hipSuccess;
}

/// The value of a hidden argument (LLVM AMDGPUUsage, "Code Object V5 Metadata"). Host services, queues and heaps,
/// which the emulated device does not have, are null pointers, and so is everything unknown.
uint64_t hidden_value(std::string_view kind, const Launch& launch) {
    constexpr std::string_view axes = "xyz";
    const size_t axis = axes.find(kind.empty() ? ' ' : kind.back());
    if (axis != std::string_view::npos) {
        const std::string_view stem = kind.substr(0, kind.size() - 1);
        if (stem == "hidden_block_count_") return launch.grid[axis];
        if (stem == "hidden_group_size_") return launch.block[axis];
        return 0;  // hidden_remainder_*: a grid of whole workgroups leaves none; hidden_global_offset_*
    }
    if (kind == "hidden_grid_dims") return 3;  // HIP launches every kernel with three dimensions
    if (kind == "hidden_dynamic_lds_size") return launch.dynamic_lds;
    return 0;
}

void fill_hidden(const Kernel& kernel, const Launch& launch, uint8_t* kernarg) {
    for (const KernelArgument& argument : kernel.arguments) {
        if (!argument.hidden()) continue;
        const uint64_t value = hidden_value(argument.value_kind, launch);
        std::memset(kernarg + argument.offset, 0, argument.size);
        std::memcpy(kernarg + argument.offset, &value, std::min<size_t>(argument.size, sizeof value));
    }
}

/// Device memory of one launch's kernarg segment.
class Kernarg {
 public:
    explicit Kernarg(const Kernel& kernel) : data_(nullptr) {
        const size_t bytes = std::max<size_t>(kernel.kernarg_size, 1);
        data_ = static_cast<uint8_t*>(Runtime::get().memory.allocate(bytes, MemoryMap::host_owner));
        if (data_ == nullptr) throw std::bad_alloc();
        std::memset(data_, 0, bytes);
    }
    ~Kernarg() { Runtime::get().memory.release(data_); }
    Kernarg(const Kernarg&) = delete;
    Kernarg& operator=(const Kernarg&) = delete;
    uint8_t* data() { return data_; }

 private:
    uint8_t* data_;
};

hipError_t execute(const ihipModuleSymbol_t& function, const Launch& launch, Kernarg& kernarg) {
    Runtime& runtime = Runtime::get();
    Device& device = runtime.devices[function.device];
    const std::lock_guard lock(device.mutex);
    const MemoryMap::Pin pin(runtime.memory);
    const Dispatch dispatch{.kernel = function.kernel,
                            .grid = launch.grid,
                            .block = launch.block,
                            .kernarg = kernarg.data(),
                            .kernarg_size = function.kernel->kernarg_size,
                            .dynamic_lds = launch.dynamic_lds};
    RunOptions options;
    options.mode = device.mode;
    options.threads = device.threads;
    options.instruction_budget = device.instruction_budget;
    RunResult result = run(dispatch, options, runtime.memory);
    ++device.launches;
    device.counters = device.counters + result.counters;
    device.trap = result.trapped ? result.trap : std::string();
    device.waits = std::move(result.waits);
    for (WaitUse& use : device.waits) use.pc -= function.kernel->entry;
    bool memory_fault = false;
    for (Report& report : result.reports) {
        memory_fault |= report.kind == "memory-fault";
        if (device.reports.size() < Device::max_reports) device.reports.push_back(std::move(report));
    }
    if (!result.trapped) return hipSuccess;
    return finish(memory_fault ? hipErrorIllegalAddress : hipErrorLaunchFailure, device.trap);
}

hipError_t launch_kernel(hipFunction_t handle, const Launch& launch, hipStream_t stream, void** parameters,
                         void** extra) {
    const auto function = Runtime::get().functions.get(handle);
    if (!function) return finish(hipErrorInvalidHandle, "no such function");
    if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
    if (parameters != nullptr && extra != nullptr) {
        return finish(hipErrorInvalidValue, "arguments are given both as an array and as a buffer");
    }
    const Kernel& kernel = *function->kernel;
    if (const hipError_t bad = check_shape(launch, kernel, device_table[function->device])) return bad;
    Kernarg kernarg(kernel);
    const hipError_t bad = extra != nullptr ? pack_buffer(kernel, extra, kernarg.data())
                                            : pack_parameters(kernel, parameters, kernarg.data());
    if (bad != hipSuccess) return bad;
    fill_hidden(kernel, launch, kernarg.data());
    return execute(*function, launch, kernarg);
}

/// Records an event of hipExtModuleLaunchKernel, if there is one.
hipError_t record(hipEvent_t event) {
    if (event == nullptr) return hipSuccess;
    const auto live = Runtime::get().events.get(event);
    if (!live) return finish(hipErrorInvalidHandle, "no such event");
    record_now(*live);
    return hipSuccess;
}

hipError_t no_cooperation() {
    return finish(
        hipErrorNotSupported,
        "workgroups of the emulated device run one after the other, they cannot wait for each other");
}

}  // namespace

HIP_API hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned dynamic_lds, hipStream_t stream,
                                         void** parameters, void** extra) {
    return guarded([&] {
        const Launch launch{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds};
        return launch_kernel(handle, launch, stream, parameters, extra);
    });
}

/// The grid is given in work-items. Both events may be null.
HIP_API hipError_t hipExtModuleLaunchKernel(hipFunction_t handle, unsigned items_x, unsigned items_y,
                                            unsigned items_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, size_t dynamic_lds, hipStream_t stream,
                                            void** parameters, void** extra, hipEvent_t start,
                                            hipEvent_t stop, unsigned /*flags*/) {
    return guarded([&] {
        const std::array<uint32_t, 3> items{items_x, items_y, items_z}, block{block_x, block_y, block_z};
        Launch launch{{}, block, static_cast<uint32_t>(std::min<size_t>(dynamic_lds, UINT32_MAX))};
        for (size_t axis = 0; axis < 3; ++axis) {
            if (block[axis] == 0 || items[axis] % block[axis] != 0) {
                return finish(hipErrorInvalidConfiguration, "a grid of " + shape(items) +
                                                                " work-items is not of whole workgroups of " +
                                                                shape(block));
            }
            launch.grid[axis] = items[axis] / block[axis];
        }
        if (const hipError_t bad = record(start)) return bad;
        if (const hipError_t bad = launch_kernel(handle, launch, stream, parameters, extra)) return bad;
        return record(stop);
    });
}

HIP_API hipError_t hipHccModuleLaunchKernel(hipFunction_t handle, unsigned items_x, unsigned items_y,
                                            unsigned items_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, size_t dynamic_lds, hipStream_t stream,
                                            void** parameters, void** extra, hipEvent_t start,
                                            hipEvent_t stop) {
    return hipExtModuleLaunchKernel(handle, items_x, items_y, items_z, block_x, block_y, block_z, dynamic_lds,
                                    stream, parameters, extra, start, stop, 0);
}

HIP_API hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t handle, unsigned /*grid_x*/,
                                                    unsigned /*grid_y*/, unsigned /*grid_z*/,
                                                    unsigned /*block_x*/, unsigned /*block_y*/,
                                                    unsigned /*block_z*/, unsigned /*dynamic_lds*/,
                                                    hipStream_t /*stream*/, void** /*parameters*/) {
    return guarded([&] {
        if (!Runtime::get().functions.get(handle)) return finish(hipErrorInvalidHandle, "no such function");
        return no_cooperation();
    });
}

HIP_API hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config, hipFunction_t handle,
                                        void** parameters, void** extra) {
    return guarded([&] {
        HIP_LAUNCH_CONFIG c;
        if (config == nullptr || !read_client(&c, config, sizeof c)) return finish(hipErrorInvalidValue);
        for (unsigned i = 0; i < c.numAttrs; ++i) {
            hipLaunchAttribute attribute;
            if (c.attrs == nullptr || !read_client(&attribute, c.attrs + i, sizeof attribute))
                return finish(hipErrorInvalidValue);
            if (attribute.id == hipLaunchAttributeCooperative && attribute.cooperative != 0)
                return no_cooperation();
            const auto& cluster = attribute.cluster;
            if (attribute.id == hipLaunchAttributeClusterDimension &&
                uint64_t{cluster.x} * cluster.y * cluster.z != 1)
                return finish(hipErrorNotSupported, "these devices have no workgroup clusters");
        }
        const Launch launch{
            {c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, c.sharedMemBytes};
        return launch_kernel(handle, launch, c.hStream, parameters, extra);
    });
}
