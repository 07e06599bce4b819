#define HKC_VARIANT base
#include "vector/integer.inl.h"
