#define HKC_VARIANT avx512
#include "vector/matrix.inl.h"
