/* What the test programs share: numbers in, checksums out.
 *
 * For the machine a program returns its checksums as return data; for the host it prints the same
 * bytes. A difference between the two is a bug of the linker.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

#define NOINLINE __attribute__((noinline))

/* Volatile, so that nothing is computed by the compiler. */
static const volatile u64 NUMBERS[] = {
    0, 1, 2, 0x7f, 0x80, 0xff, 0x8001, 0x7fffffff, 0x80000000, 0xfffffffb,
    0x7fffffffffffffff, 0x8000000000000000, 0xdeadbeefcafebabe, 0xfffffffffffffff9,
};
#define COUNT (sizeof NUMBERS / sizeof *NUMBERS)

#define CHECKS_MAX 128
struct checks {
    u64 count;
    u64 sums[CHECKS_MAX];
};

static inline u64 mix(u64 sum, u64 value) { return (sum ^ value) * 0x100000001b3ULL + (sum >> 29); }

static inline void note(struct checks *checks, u64 sum) {
    if (checks->count < CHECKS_MAX) checks->sums[checks->count++] = sum;
}

static void run(struct checks *checks);

#ifdef HOST
#include <stdio.h>
int main(void) {
    static struct checks checks;
    run(&checks);
    for (u64 i = 0; i < checks.count; i++) printf("%016llx\n", checks.sums[i]);
    return 0;
}
#else
void sol_set_return_data(const u8 *bytes, u64 length);
u64 entrypoint(const u8 *input) {
    static struct checks checks;
    run(&checks);
    sol_set_return_data((const u8 *)checks.sums, checks.count * 8);
    return 0;
}
#endif
