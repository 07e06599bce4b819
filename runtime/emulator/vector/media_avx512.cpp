#define HKC_VARIANT avx512
#include "vector/media.inl.h"
