#define HKC_VARIANT avx512
#include "vector/compare.inl.h"
