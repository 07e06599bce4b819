#define HKC_VARIANT avx512
#include "vector/conversion.inl.h"
