#define HKC_VARIANT avx2
#define HKC_VARIANT_NAME "avx2"
#include "vector/handlers.inl.h"
