#define HKC_VARIANT base
#include "vector/compare.inl.h"
