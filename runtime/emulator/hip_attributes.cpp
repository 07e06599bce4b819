// hipDeviceGetAttribute.
#include <algorithm>
#include <limits>

#include "hip_state.h"

using namespace hkc::emu;

HIP_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device);

namespace {

/// Attributes are ints: sizes beyond that are given as the largest one.
int clamped(size_t bytes) {
    return static_cast<int>(std::min<size_t>(bytes, std::numeric_limits<int>::max()));
}

/// The attributes that tell limits and sizes; nullopt for all others.
std::optional<int> size_attribute(hipDeviceAttribute_t attribute, const hipDeviceProp_tR0600& p) {
    switch (attribute) {
        case hipDeviceAttributeMaxBlocksPerMultiProcessor:
            return p.maxBlocksPerMultiProcessor;
        case hipDeviceAttributeMaxBlockDimX:
        case hipDeviceAttributeMaxThreadsDim:
            return p.maxThreadsDim[0];
        case hipDeviceAttributeMaxBlockDimY:
            return p.maxThreadsDim[1];
        case hipDeviceAttributeMaxBlockDimZ:
            return p.maxThreadsDim[2];
        case hipDeviceAttributeMaxGridDimX:
            return p.maxGridSize[0];
        case hipDeviceAttributeMaxGridDimY:
            return p.maxGridSize[1];
        case hipDeviceAttributeMaxGridDimZ:
            return p.maxGridSize[2];
        case hipDeviceAttributeMaxThreadsPerBlock:
            return p.maxThreadsPerBlock;
        case hipDeviceAttributeMaxThreadsPerMultiProcessor:
            return p.maxThreadsPerMultiProcessor;
        case hipDeviceAttributeMaxPitch:
            return clamped(p.memPitch);
        case hipDeviceAttributeMaxRegistersPerBlock:
            return p.regsPerBlock;
        case hipDeviceAttributeMaxRegistersPerMultiprocessor:
            return p.regsPerMultiprocessor;
        case hipDeviceAttributeReservedSharedMemPerBlock:
            return 0;
        case hipDeviceAttributeMaxSharedMemoryPerBlock:
        case hipDeviceAttributeSharedMemPerBlockOptin:
        case hipDeviceAttributeSharedMemPerMultiprocessor:
        case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
            return clamped(p.sharedMemPerBlock);
        case hipDeviceAttributeTotalConstantMemory:
            return clamped(p.totalConstMem);
        case hipDeviceAttributeTotalGlobalMem:
            return clamped(p.totalGlobalMem);
        case hipDeviceAttributeL2CacheSize:
            return p.l2CacheSize;
        case hipDeviceAttributeTextureAlignment:
            return clamped(p.textureAlignment);
        case hipDeviceAttributeTexturePitchAlignment:
            return clamped(p.texturePitchAlignment);
        default:
            return std::nullopt;
    }
}

/// The attributes that say what the device is and how fast; nullopt for all others.
std::optional<int> identity_attribute(hipDeviceAttribute_t attribute, const hipDeviceProp_tR0600& p) {
    switch (attribute) {
        case hipDeviceAttributeComputeCapabilityMajor:
            return p.major;
        case hipDeviceAttributeComputeCapabilityMinor:
            return p.minor;
        case hipDeviceAttributeMultiprocessorCount:
        case hipDeviceAttributePhysicalMultiProcessorCount:
            return p.multiProcessorCount;
        case hipDeviceAttributeWarpSize:
            return p.warpSize;
        case hipDeviceAttributeClockRate:
            return p.clockRate;
        case hipDeviceAttributeMemoryClockRate:
            return p.memoryClockRate;
        case hipDeviceAttributeMemoryBusWidth:
            return p.memoryBusWidth;
        case hipDeviceAttributeWallClockRate:
            return wall_clock_khz;
        case hipDeviceAttributePciBusId:
            return p.pciBusID;
        case hipDeviceAttributePciDeviceId:
            return p.pciDeviceID;
        case hipDeviceAttributePciDomainID:
            return p.pciDomainID;
        case hipDeviceAttributeSingleToDoublePrecisionPerfRatio:
            return 1;  // vector f32 and f64 run at the same rate (CDNA3 and CDNA4 whitepapers)
        default:
            return std::nullopt;
    }
}

/// The attributes that answer yes (1) or no (0); nullopt for all others.
std::optional<int> feature_attribute(hipDeviceAttribute_t attribute) {
    switch (attribute) {
        case hipDeviceAttributeEccEnabled:
        case hipDeviceAttributeAsyncEngineCount:
        case hipDeviceAttributeCanMapHostMemory:
        case hipDeviceAttributeConcurrentKernels:
        case hipDeviceAttributeConcurrentManagedAccess:
        case hipDeviceAttributeDeviceOverlap:
        case hipDeviceAttributeDirectManagedMemAccessFromHost:
        case hipDeviceAttributeHostNativeAtomicSupported:
        case hipDeviceAttributeManagedMemory:
        case hipDeviceAttributeUnifiedAddressing:
        case hipDeviceAttributeIsLargeBar:
        case hipDeviceAttributeFineGrainSupport:
            return 1;
        case hipDeviceAttributeAccessPolicyMaxWindowSize:
        case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
        case hipDeviceAttributeComputeMode:
        case hipDeviceAttributeComputePreemptionSupported:
        case hipDeviceAttributeCooperativeLaunch:
        case hipDeviceAttributeCooperativeMultiDeviceLaunch:
        case hipDeviceAttributeGlobalL1CacheSupported:
        case hipDeviceAttributeIntegrated:
        case hipDeviceAttributeIsMultiGpuBoard:
        case hipDeviceAttributeKernelExecTimeout:
        case hipDeviceAttributeLocalL1CacheSupported:
        case hipDeviceAttributeMultiGpuBoardGroupID:
        case hipDeviceAttributePageableMemoryAccess:
        case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
        case hipDeviceAttributePersistingL2CacheMaxSize:
        case hipDeviceAttributeStreamPrioritiesSupported:
        case hipDeviceAttributeSurfaceAlignment:
        case hipDeviceAttributeTccDriver:
        case hipDeviceAttributeMemoryPoolsSupported:
        case hipDeviceAttributeVirtualMemoryManagementSupported:
        case hipDeviceAttributeHostRegisterSupported:
        case hipDeviceAttributeMemoryPoolSupportedHandleTypes:
        case hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc:
        case hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim:
        case hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim:
        case hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem:
        case hipDeviceAttributeAsicRevision:
        case hipDeviceAttributeCanUseStreamWaitValue:
        case hipDeviceAttributeImageSupport:
            return 0;
        default:
            return std::nullopt;
    }
}

}  // namespace

HIP_API hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t wanted, int device) {
    return guarded([&] {
        if (value == nullptr) return finish(hipErrorInvalidValue);
        hipDeviceProp_tR0600 properties;
        if (const hipError_t bad = hipGetDevicePropertiesR0600(&properties, device)) return bad;
        std::optional<int> found = size_attribute(wanted, properties);
        if (!found) found = identity_attribute(wanted, properties);
        if (!found) found = feature_attribute(wanted);
        if (!found) return finish(hipErrorInvalidValue, "the emulated device does not have this attribute");
        *value = *found;
        return hipSuccess;
    });
}
