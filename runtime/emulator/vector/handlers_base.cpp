#define HKC_VARIANT base
#define HKC_VARIANT_NAME "base"
#include "vector/handlers.inl.h"
