#define HKC_VARIANT base
#include "vector/media.inl.h"
