#define HKC_VARIANT avx2
#include "vector/integer.inl.h"
