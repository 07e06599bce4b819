#define HKC_VARIANT base
#include "vector/sparse.inl.h"
