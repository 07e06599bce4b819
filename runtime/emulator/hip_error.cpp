// hipGetLastError and the names of error codes.
#include "hip_state.h"

using namespace hkc::emu;

namespace {

struct ErrorText {
    hipError_t code;
    const char* name;
    const char* text;
};

#define ERROR_TEXT(code, text) {code, #code, text}
constexpr ErrorText error_texts[] = {
    ERROR_TEXT(hipSuccess, "no error"),
    ERROR_TEXT(hipErrorInvalidValue, "invalid argument"),
    ERROR_TEXT(hipErrorOutOfMemory, "out of memory"),
    ERROR_TEXT(hipErrorNotInitialized, "initialization error"),
    ERROR_TEXT(hipErrorDeinitialized, "driver shutting down"),
    ERROR_TEXT(hipErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR_TEXT(hipErrorInvalidSymbol, "invalid device symbol"),
    ERROR_TEXT(hipErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR_TEXT(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR_TEXT(hipErrorInvalidDeviceFunction, "invalid device function"),
    ERROR_TEXT(hipErrorNoDevice, "no ROCm-capable device is detected"),
    ERROR_TEXT(hipErrorInvalidDevice, "invalid device ordinal"),
    ERROR_TEXT(hipErrorInvalidImage, "device kernel image is invalid"),
    ERROR_TEXT(hipErrorInvalidContext, "invalid device context"),
    ERROR_TEXT(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    ERROR_TEXT(hipErrorInvalidKernelFile, "invalid kernel file"),
    ERROR_TEXT(hipErrorFileNotFound, "file not found"),
    ERROR_TEXT(hipErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    ERROR_TEXT(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    ERROR_TEXT(hipErrorInvalidHandle, "invalid resource handle"),
    ERROR_TEXT(hipErrorNotFound, "named symbol not found"),
    ERROR_TEXT(hipErrorNotReady, "device not ready"),
    ERROR_TEXT(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR_TEXT(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR_TEXT(hipErrorLaunchFailure, "unspecified launch failure"),
    ERROR_TEXT(hipErrorNotSupported, "operation not supported"),
    ERROR_TEXT(hipErrorUnknown, "unknown error"),
};
#undef ERROR_TEXT

const ErrorText* find(hipError_t error) {
    for (const ErrorText& known : error_texts) {
        if (known.code == error) return &known;
    }
    return nullptr;
}

}  // namespace

HIP_API const char* hipGetErrorName(hipError_t error) {
    const ErrorText* known = find(error);
    return known != nullptr ? known->name : "hipErrorUnknown";
}

HIP_API const char* hipGetErrorString(hipError_t error) {
    const ErrorText* known = find(error);
    return known != nullptr ? known->text : "unknown error";
}

HIP_API hipError_t hipDrvGetErrorName(hipError_t error, const char** name) {
    const ErrorText* known = find(error);
    if (name == nullptr || known == nullptr) return finish(hipErrorInvalidValue);
    *name = known->name;
    return hipSuccess;
}

HIP_API hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
    const ErrorText* known = find(error);
    if (text == nullptr || known == nullptr) return finish(hipErrorInvalidValue);
    *text = known->text;
    return hipSuccess;
}

HIP_API hipError_t hipGetLastError() {
    const hipError_t error = last_error().code;
    last_error().code = hipSuccess;
    return error;
}

HIP_API hipError_t hipPeekAtLastError() {
    return last_error().code;
}
