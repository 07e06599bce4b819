#define HKC_VARIANT avx512
#include "vector/integer.inl.h"
