#include "../case.h"

u64 overridden(void) { return 0x10; }
__attribute__((weak)) u64 of_c(void) { return 0x30; }
const u64 table = 0x40;
