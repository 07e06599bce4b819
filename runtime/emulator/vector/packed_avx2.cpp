#define HKC_VARIANT avx2
#include "vector/packed.inl.h"
