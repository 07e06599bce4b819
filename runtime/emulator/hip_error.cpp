// hipGetLastError and the names of error codes.
#include "hip_state.h"

using namespace hkc::emu;

namespace {

struct ErrorText {
    hipError_t code;
    const char* name;
    const char* text;
};

constexpr ErrorText error_texts[] = {
#define HKC_ROW(name, number, text) {name, #name, text},
    HKC_HIP_ERRORS(HKC_ROW)
#undef HKC_ROW
};

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

/// What the calling thread's last call returned, success included.
HIP_API hipError_t hipExtGetLastError() {
    const hipError_t error = last_error().last_call;
    last_error().last_call = hipSuccess;
    return error;
}

HIP_API hipError_t hipPeekAtLastError() {
    return last_error().code;
}
