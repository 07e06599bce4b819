#define HKC_VARIANT base
#include "vector/floating.inl.h"
