#define HKC_VARIANT avx2
#include "vector/matrix.inl.h"
