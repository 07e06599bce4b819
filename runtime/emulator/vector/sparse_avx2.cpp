#define HKC_VARIANT avx2
#include "vector/sparse.inl.h"
