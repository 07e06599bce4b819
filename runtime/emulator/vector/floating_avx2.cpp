#define HKC_VARIANT avx2
#include "vector/floating.inl.h"
