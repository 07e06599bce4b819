#define HKC_VARIANT avx2
#include "vector/media.inl.h"
