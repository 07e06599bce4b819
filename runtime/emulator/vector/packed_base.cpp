#define HKC_VARIANT base
#include "vector/packed.inl.h"
