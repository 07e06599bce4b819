#define HKC_VARIANT avx2
#include "vector/compare.inl.h"
