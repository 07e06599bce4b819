#define HKC_VARIANT avx512
#include "vector/packed.inl.h"
