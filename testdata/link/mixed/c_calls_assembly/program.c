#include "../case.h"

u64 sum(const u64 *numbers, u64 count);
u64 clobber(u64 value);

u64 entrypoint(const u8 *input) {
    u64 numbers[5];
    for (u64 i = 0; i < 5; i++) {
        numbers[i] = clobber(i) * clobber(i + 1);
    }
    sol_log_64_(sum(numbers, 5), sum(numbers, 0), clobber(7), 0, 0);
    return 0;
}
