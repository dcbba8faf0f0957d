#include "../case.h"
u64 helper(void) { return 1; }
