#define HKC_VARIANT base
#include "vector/matrix.inl.h"
