// The part of HIP's C ABI that the emulated device implements. Names and numbers are those of ROCm 6 and later
// (hip/hip_runtime_api.h, hip/driver_types.h), so that any HIP client can load this library in its place.
#pragma once

#include <cstddef>
#include <cstdint>

#define HIP_API extern "C" __attribute__((visibility("default")))

/// Every error of HIP: its name, its number, and what hipGetErrorString says.
#define HKC_HIP_ERRORS(X)                                                                                    \
    X(hipSuccess, 0, "no error")                                                                             \
    X(hipErrorInvalidValue, 1, "invalid argument")                                                           \
    X(hipErrorOutOfMemory, 2, "out of memory")                                                               \
    X(hipErrorNotInitialized, 3, "initialization error")                                                     \
    X(hipErrorDeinitialized, 4, "driver shutting down")                                                      \
    X(hipErrorProfilerDisabled, 5, "profiler disabled while using external profiling tool")                  \
    X(hipErrorProfilerNotInitialized, 6, "profiler is not initialized")                                      \
    X(hipErrorProfilerAlreadyStarted, 7, "profiler already started")                                         \
    X(hipErrorProfilerAlreadyStopped, 8, "profiler already stopped")                                         \
    X(hipErrorInvalidConfiguration, 9, "invalid configuration argument")                                     \
    X(hipErrorInvalidPitchValue, 12, "invalid pitch argument")                                               \
    X(hipErrorInvalidSymbol, 13, "invalid device symbol")                                                    \
    X(hipErrorInvalidDevicePointer, 17, "invalid device pointer")                                            \
    X(hipErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                               \
    X(hipErrorInsufficientDriver, 35, "driver version is insufficient for runtime version")                  \
    X(hipErrorMissingConfiguration, 52, "__global__ function call is not configured")                        \
    X(hipErrorPriorLaunchFailure, 53, "unspecified launch failure in prior launch")                          \
    X(hipErrorInvalidDeviceFunction, 98, "invalid device function")                                          \
    X(hipErrorNoDevice, 100, "no ROCm-capable device is detected")                                           \
    X(hipErrorInvalidDevice, 101, "invalid device ordinal")                                                  \
    X(hipErrorInvalidImage, 200, "device kernel image is invalid")                                           \
    X(hipErrorInvalidContext, 201, "invalid device context")                                                 \
    X(hipErrorContextAlreadyCurrent, 202, "context is already current context")                              \
    X(hipErrorMapFailed, 205, "mapping of buffer object failed")                                             \
    X(hipErrorUnmapFailed, 206, "unmapping of buffer object failed")                                         \
    X(hipErrorArrayIsMapped, 207, "array is mapped")                                                         \
    X(hipErrorAlreadyMapped, 208, "resource already mapped")                                                 \
    X(hipErrorNoBinaryForGpu, 209, "no kernel image is available for execution on the device")               \
    X(hipErrorAlreadyAcquired, 210, "resource already acquired")                                             \
    X(hipErrorNotMapped, 211, "resource not mapped")                                                         \
    X(hipErrorNotMappedAsArray, 212, "resource not mapped as array")                                         \
    X(hipErrorNotMappedAsPointer, 213, "resource not mapped as pointer")                                     \
    X(hipErrorECCNotCorrectable, 214, "uncorrectable ECC error encountered")                                 \
    X(hipErrorUnsupportedLimit, 215, "limit is not supported on this architecture")                          \
    X(hipErrorContextAlreadyInUse, 216, "exclusive-thread device already in use by a different thread")      \
    X(hipErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices")          \
    X(hipErrorInvalidKernelFile, 218, "invalid kernel file")                                                 \
    X(hipErrorInvalidGraphicsContext, 219, "invalid OpenGL or DirectX context")                              \
    X(hipErrorInvalidSource, 300, "device kernel image is invalid")                                          \
    X(hipErrorFileNotFound, 301, "file not found")                                                           \
    X(hipErrorSharedObjectSymbolNotFound, 302, "shared object symbol not found")                             \
    X(hipErrorSharedObjectInitFailed, 303, "shared object initialization failed")                            \
    X(hipErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS")                  \
    X(hipErrorInvalidHandle, 400, "invalid resource handle")                                                 \
    X(hipErrorIllegalState, 401, "the operation cannot be performed in the present state")                   \
    X(hipErrorNotFound, 500, "named symbol not found")                                                       \
    X(hipErrorNotReady, 600, "device not ready")                                                             \
    X(hipErrorIllegalAddress, 700, "an illegal memory access was encountered")                               \
    X(hipErrorLaunchOutOfResources, 701, "too many resources requested for launch")                          \
    X(hipErrorLaunchTimeOut, 702, "the launch timed out and was terminated")                                 \
    X(hipErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                               \
    X(hipErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                                 \
    X(hipErrorSetOnActiveProcess, 708, "cannot set while device is active in this process")                  \
    X(hipErrorContextIsDestroyed, 709, "context is destroyed")                                               \
    X(hipErrorAssert, 710, "device-side assert triggered")                                                   \
    X(hipErrorHostMemoryAlreadyRegistered, 712,                                                              \
      "part or all of the requested memory range is already mapped")                                         \
    X(hipErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region")     \
    X(hipErrorLaunchFailure, 719, "unspecified launch failure")                                              \
    X(hipErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                       \
    X(hipErrorNotSupported, 801, "operation not supported")                                                  \
    X(hipErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")             \
    X(hipErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")      \
    X(hipErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences")    \
    X(hipErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")           \
    X(hipErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                              \
    X(hipErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream")        \
    X(hipErrorStreamCaptureImplicit, 906,                                                                    \
      "operation would make the legacy stream depend on a capturing blocking stream")                        \
    X(hipErrorCapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream") \
    X(hipErrorStreamCaptureWrongThread, 908,                                                                 \
      "attempt to terminate a thread-local capture sequence from another thread")                            \
    X(hipErrorGraphExecUpdateFailure, 910,                                                                   \
      "the graph update was not performed because it included changes which violated constraints specific "  \
      "to instantiated graph update")                                                                        \
    X(hipErrorInvalidChannelDescriptor, 911, "invalid channel descriptor")                                   \
    X(hipErrorInvalidTexture, 912, "invalid texture")                                                        \
    X(hipErrorUnknown, 999, "unknown error")                                                                 \
    X(hipErrorRuntimeMemory, 1052, "runtime memory call returned error")                                     \
    X(hipErrorRuntimeOther, 1053, "runtime call other than memory returned error")

enum hipError_t : int {
#define HKC_ENUMERATOR(name, number, text) name = number,
    HKC_HIP_ERRORS(HKC_ENUMERATOR)
#undef HKC_ENUMERATOR
};

enum hipMemcpyKind : int {
    hipMemcpyHostToHost = 0,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipMemcpyDefault = 4,
    hipMemcpyDeviceToDeviceNoCU = 1024,
};

enum hipMemoryType : int {
    hipMemoryTypeUnregistered = 0,
    hipMemoryTypeHost = 1,
    hipMemoryTypeDevice = 2,
    hipMemoryTypeManaged = 3,
    hipMemoryTypeArray = 10,
    hipMemoryTypeUnified = 11,
};

enum hipFunction_attribute : int {
    HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
    HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
    HIP_FUNC_ATTRIBUTE_PTX_VERSION = 5,
    HIP_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
    HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
    HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum hipPointer_attribute : int {
    HIP_POINTER_ATTRIBUTE_CONTEXT = 1,
    HIP_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    HIP_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    HIP_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    HIP_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    HIP_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE = 10,
    HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    HIP_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    HIP_POINTER_ATTRIBUTE_MAPPED = 13,
    HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
};

enum hipLimit_t : int {
    hipLimitStackSize = 0,
    hipLimitPrintfFifoSize = 1,
    hipLimitMallocHeapSize = 2,
};

enum hipDeviceP2PAttr : int {
    hipDevP2PAttrPerformanceRank = 0,
    hipDevP2PAttrAccessSupported = 1,
    hipDevP2PAttrNativeAtomicSupported = 2,
    hipDevP2PAttrHipArrayAccessSupported = 3,
};

enum hipStreamCaptureStatus : int {
    hipStreamCaptureStatusNone = 0,
};

enum hipStreamCaptureMode : int {
    hipStreamCaptureModeGlobal = 0,
    hipStreamCaptureModeThreadLocal = 1,
    hipStreamCaptureModeRelaxed = 2,
};

/// Whether hipGetProcAddress and hipGetDriverEntryPoint found a function.
enum hipSymbolQuery : int {
    hipSymbolFound = 0,
    hipSymbolNotFound = 1,
};

enum hipLaunchAttributeID : int {
    hipLaunchAttributeIgnore = 0,
    hipLaunchAttributeCooperative = 2,
    hipLaunchAttributeClusterDimension = 4,
};

enum hipDeviceAttribute_t : int {
    hipDeviceAttributeEccEnabled = 0,
    hipDeviceAttributeAccessPolicyMaxWindowSize = 1,
    hipDeviceAttributeAsyncEngineCount = 2,
    hipDeviceAttributeCanMapHostMemory = 3,
    hipDeviceAttributeCanUseHostPointerForRegisteredMem = 4,
    hipDeviceAttributeClockRate = 5,
    hipDeviceAttributeComputeMode = 6,
    hipDeviceAttributeComputePreemptionSupported = 7,
    hipDeviceAttributeConcurrentKernels = 8,
    hipDeviceAttributeConcurrentManagedAccess = 9,
    hipDeviceAttributeCooperativeLaunch = 10,
    hipDeviceAttributeCooperativeMultiDeviceLaunch = 11,
    hipDeviceAttributeDeviceOverlap = 12,
    hipDeviceAttributeDirectManagedMemAccessFromHost = 13,
    hipDeviceAttributeGlobalL1CacheSupported = 14,
    hipDeviceAttributeHostNativeAtomicSupported = 15,
    hipDeviceAttributeIntegrated = 16,
    hipDeviceAttributeIsMultiGpuBoard = 17,
    hipDeviceAttributeKernelExecTimeout = 18,
    hipDeviceAttributeL2CacheSize = 19,
    hipDeviceAttributeLocalL1CacheSupported = 20,
    hipDeviceAttributeComputeCapabilityMajor = 23,
    hipDeviceAttributeManagedMemory = 24,
    hipDeviceAttributeMaxBlocksPerMultiProcessor = 25,
    hipDeviceAttributeMaxBlockDimX = 26,
    hipDeviceAttributeMaxBlockDimY = 27,
    hipDeviceAttributeMaxBlockDimZ = 28,
    hipDeviceAttributeMaxGridDimX = 29,
    hipDeviceAttributeMaxGridDimY = 30,
    hipDeviceAttributeMaxGridDimZ = 31,
    hipDeviceAttributeMaxThreadsDim = 55,
    hipDeviceAttributeMaxThreadsPerBlock = 56,
    hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
    hipDeviceAttributeMaxPitch = 58,
    hipDeviceAttributeMemoryBusWidth = 59,
    hipDeviceAttributeMemoryClockRate = 60,
    hipDeviceAttributeComputeCapabilityMinor = 61,
    hipDeviceAttributeMultiGpuBoardGroupID = 62,
    hipDeviceAttributeMultiprocessorCount = 63,
    hipDeviceAttributePageableMemoryAccess = 65,
    hipDeviceAttributePageableMemoryAccessUsesHostPageTables = 66,
    hipDeviceAttributePciBusId = 67,
    hipDeviceAttributePciDeviceId = 68,
    hipDeviceAttributePciDomainID = 69,
    hipDeviceAttributePersistingL2CacheMaxSize = 70,
    hipDeviceAttributeMaxRegistersPerBlock = 71,
    hipDeviceAttributeMaxRegistersPerMultiprocessor = 72,
    hipDeviceAttributeReservedSharedMemPerBlock = 73,
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
    hipDeviceAttributeSharedMemPerBlockOptin = 75,
    hipDeviceAttributeSharedMemPerMultiprocessor = 76,
    hipDeviceAttributeSingleToDoublePrecisionPerfRatio = 77,
    hipDeviceAttributeStreamPrioritiesSupported = 78,
    hipDeviceAttributeSurfaceAlignment = 79,
    hipDeviceAttributeTccDriver = 80,
    hipDeviceAttributeTextureAlignment = 81,
    hipDeviceAttributeTexturePitchAlignment = 82,
    hipDeviceAttributeTotalConstantMemory = 83,
    hipDeviceAttributeTotalGlobalMem = 84,
    hipDeviceAttributeUnifiedAddressing = 85,
    hipDeviceAttributeWarpSize = 87,
    hipDeviceAttributeMemoryPoolsSupported = 88,
    hipDeviceAttributeVirtualMemoryManagementSupported = 89,
    hipDeviceAttributeHostRegisterSupported = 90,
    hipDeviceAttributeMemoryPoolSupportedHandleTypes = 91,
    hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002,
    hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc = 10007,
    hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim = 10008,
    hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim = 10009,
    hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem = 10010,
    hipDeviceAttributeIsLargeBar = 10011,
    hipDeviceAttributeAsicRevision = 10012,
    hipDeviceAttributeCanUseStreamWaitValue = 10013,
    hipDeviceAttributeImageSupport = 10014,
    hipDeviceAttributePhysicalMultiProcessorCount = 10015,
    hipDeviceAttributeFineGrainSupport = 10016,
    hipDeviceAttributeWallClockRate = 10017,
};

using hipDevice_t = int;
using hipDeviceptr_t = void*;
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
using hipCtx_t = struct ihipCtx_t*;

// Streams that exist without being created.
constexpr uintptr_t hip_stream_legacy = 1, hip_stream_per_thread = 2;

constexpr unsigned hipEventDisableTiming = 2;
constexpr unsigned hip_stream_non_blocking = 1;

// Keys of hipModuleLaunchKernel's `extra` list.
constexpr uintptr_t hip_launch_param_end = 3, hip_launch_param_buffer_pointer = 1,
                    hip_launch_param_buffer_size = 2;

struct hipUUID {
    char bytes[16];
};

/// hipDrvLaunchKernelEx's launch attribute: 64 bytes of value behind its id.
struct hipLaunchAttribute {
    hipLaunchAttributeID id;
    char padding[4];
    union {
        int cooperative;
        struct {
            unsigned x, y, z;
        } cluster;
        char bytes[64];
    };
};
static_assert(sizeof(hipLaunchAttribute) == 72);

struct HIP_LAUNCH_CONFIG {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    hipStream_t hStream;
    const hipLaunchAttribute* attrs;
    unsigned numAttrs;
};
static_assert(sizeof(HIP_LAUNCH_CONFIG) == 56);

/// hipMemcpyParam2D's transfer. Pitches of 0 mean rows without gaps.
struct hip_Memcpy2D {
    size_t srcXInBytes, srcY;
    hipMemoryType srcMemoryType;
    const void* srcHost;
    hipDeviceptr_t srcDevice;
    void* srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    hipMemoryType dstMemoryType;
    void* dstHost;
    hipDeviceptr_t dstDevice;
    void* dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
};
static_assert(sizeof(hip_Memcpy2D) == 128);

struct hipFuncAttributes {
    int binaryVersion;
    int cacheModeCA;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxDynamicSharedSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int preferredShmemCarveout;
    int ptxVersion;
    size_t sharedSizeBytes;
};
static_assert(sizeof(hipFuncAttributes) == 56);

struct hipPointerAttribute_t {
    hipMemoryType type;
    int device;
    void* devicePointer;
    void* hostPointer;
    int isManaged;
    unsigned allocationFlags;
};

/// hipGetDevicePropertiesR0600, what hipGetDeviceProperties means to programs built with ROCm 6 and later.
struct hipDeviceProp_tR0600 {
    char name[256];
    hipUUID uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    // maxTexture1D, 1DMipmap, 1DLinear, 2D[2], 2DMipmap[2], 2DLinear[3], 2DGather[2], 3D[3], 3DAlt[3], Cubemap,
    // 1DLayered[2], 2DLayered[3], CubemapLayered[2]: the emulated device has no textures.
    int maxTexture[26];
    // maxSurface1D, 2D[2], 3D[3], 1DLayered[2], 2DLayered[3], Cubemap, CubemapLayered[2]: nor surfaces.
    int maxSurface[14];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseHipArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingHipArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
    int hipReserved[32];
    char gcnArchName[256];
    size_t maxSharedMemoryPerMultiProcessor;
    int clockInstructionRate;
    unsigned arch;  ///< hipDeviceArch_t: 17 one-bit flags.
    unsigned* hdpMemFlushCntl;
    unsigned* hdpRegFlushCntl;
    int cooperativeMultiDeviceUnmatchedFunc;
    int cooperativeMultiDeviceUnmatchedGridDim;
    int cooperativeMultiDeviceUnmatchedBlockDim;
    int cooperativeMultiDeviceUnmatchedSharedMem;
    int isLargeBar;
    int asicRevision;
};
static_assert(sizeof(hipDeviceProp_tR0600) == 1472, "ROCm 6's layout");
static_assert(offsetof(hipDeviceProp_tR0600, multiProcessorCount) == 388);
static_assert(offsetof(hipDeviceProp_tR0600, gcnArchName) == 1160);

/// What the unversioned symbol hipGetDeviceProperties fills: the layout of ROCm 5 and earlier.
struct hipDeviceProp_tR0000 {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    int memoryClockRate;
    int memoryBusWidth;
    size_t totalConstMem;
    int major;
    int minor;
    int multiProcessorCount;
    int l2CacheSize;
    int maxThreadsPerMultiProcessor;
    int computeMode;
    int clockInstructionRate;
    unsigned arch;
    int concurrentKernels;
    int pciDomainID;
    int pciBusID;
    int pciDeviceID;
    size_t maxSharedMemoryPerMultiProcessor;
    int isMultiGpuBoard;
    int canMapHostMemory;
    int gcnArch;
    char gcnArchName[256];
    int integrated;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    // maxTexture1DLinear, 1D, 2D[2], 3D[3]
    int maxTexture[7];
    unsigned* hdpMemFlushCntl;
    unsigned* hdpRegFlushCntl;
    size_t memPitch;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int kernelExecTimeoutEnabled;
    int ECCEnabled;
    int tccDriver;
    int cooperativeMultiDeviceUnmatchedFunc;
    int cooperativeMultiDeviceUnmatchedGridDim;
    int cooperativeMultiDeviceUnmatchedBlockDim;
    int cooperativeMultiDeviceUnmatchedSharedMem;
    int isLargeBar;
    int asicRevision;
    int managedMemory;
    int directManagedMemAccessFromHost;
    int concurrentManagedAccess;
    int pageableMemoryAccess;
    int pageableMemoryAccessUsesHostPageTables;
};
static_assert(sizeof(hipDeviceProp_tR0000) == 792, "ROCm 5's layout");
