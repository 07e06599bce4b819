#define HKC_VARIANT avx2
#include "vector/conversion.inl.h"
