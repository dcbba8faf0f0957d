/* Variables on the stack: `work` has registers that are spilled above them. */
#include <selkie.h>

__attribute__((noinline)) static uint64_t work(const uint64_t *values, uint64_t count) {
    volatile uint64_t pair[2] = {7, 9};
    volatile uint8_t small = 3;
    volatile uint64_t all[4];
    for (uint64_t i = 0; i < 4; i++) all[i] = count + i;
    return pair[0] + values[0] + small + all[count & 3];
}

uint64_t entrypoint(const uint8_t *input) {
    volatile uint64_t one = 1;
    uint64_t values[3] = {1, 2, 3};
    return work(values, input[0]) - one - 10;
}
