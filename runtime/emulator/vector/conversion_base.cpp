#define HKC_VARIANT base
#include "vector/conversion.inl.h"
