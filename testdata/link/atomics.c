/* Atomics, which become plain loads and stores. With results from -mcpu=v3 on. */
#include "check.h"

#define ATOMICS(T)                                                                        \
    static NOINLINE u64 all_##T(void) {                                                   \
        u64 sum = 1;                                                                      \
        for (u64 i = 0; i < COUNT; i++)                                                   \
            for (u64 j = 0; j < COUNT; j++) {                                             \
                T cell = (T)NUMBERS[i], value = (T)NUMBERS[j];                            \
                sum = mix(sum, __sync_fetch_and_add(&cell, value));                       \
                sum = mix(sum, __sync_fetch_and_and(&cell, value | 0xf0));                \
                sum = mix(sum, __sync_fetch_and_or(&cell, value & 0xf));                  \
                sum = mix(sum, __sync_fetch_and_xor(&cell, value));                       \
                sum = mix(sum, cell);                                                     \
                sum = mix(sum, __sync_lock_test_and_set(&cell, value));                   \
                sum = mix(sum, __sync_val_compare_and_swap(&cell, value, (T)i));          \
                sum = mix(sum, __sync_val_compare_and_swap(&cell, value, (T)j));          \
                sum = mix(sum, cell);                                                     \
                __sync_fetch_and_add(&cell, 5);                                           \
                sum = mix(sum, cell);                                                     \
            }                                                                             \
        return sum;                                                                       \
    }
ATOMICS(u32) ATOMICS(u64)

static void run(struct checks *checks) {
    note(checks, all_u32());
    note(checks, all_u64());
}
