#define HKC_VARIANT avx512
#include "vector/floating.inl.h"
