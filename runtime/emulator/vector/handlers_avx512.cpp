#define HKC_VARIANT avx512
#define HKC_VARIANT_NAME "avx512"
#include "vector/handlers.inl.h"
