#define HKC_VARIANT avx512
#include "vector/sparse.inl.h"
