/* Signed division, which eBPF has from -mcpu=v4 on. */
#include "check.h"

#define DIVIDING(T, WIDE)                                                                 \
    static NOINLINE T div_##T(T a, T b) { return b == 0 ? 7 : (T)(a / b); }               \
    static NOINLINE T mod_##T(T a, T b) { return b == 0 ? 9 : (T)(a % b); }               \
    static NOINLINE u64 all_##T(void) {                                                   \
        u64 sum = 1;                                                                      \
        for (u64 i = 0; i < COUNT; i++)                                                   \
            for (u64 j = 0; j < COUNT; j++) {                                             \
                T a = (T)NUMBERS[i], b = (T)NUMBERS[j];                                   \
                /* The one quotient that C leaves undefined. */                           \
                if (b == -1 && a == (T)((u64)1 << (8 * sizeof(T) - 1))) continue;         \
                sum = mix(sum, (u64)(WIDE)div_##T(a, b));                                 \
                sum = mix(sum, (u64)(WIDE)mod_##T(a, b));                                 \
                sum = mix(sum, (u64)(WIDE)(a / 10) + (u64)(WIDE)(b % -7));                \
                if (b) sum = mix(sum, (u64)(WIDE)(a / b) * 3 + (u64)(WIDE)(a % b));       \
            }                                                                             \
        return sum;                                                                       \
    }
DIVIDING(i8, i64) DIVIDING(i16, i64) DIVIDING(i32, i64) DIVIDING(i64, i64)

/* Ten values at once, so that no register is left over. */
static NOINLINE i64 crowded(i64 a, i64 b, i64 c, i64 d, i64 e) {
    i64 p = a ^ b, q = b + c, r = c - d, s = d ^ e, t = e + a;
    i64 u = p / (q | 1), v = q % (r | 1), w = r / (s | 1), x = s % (t | 1), y = t / (p | 1);
    i32 m = (i32)p / ((i32)q | 1), n = (i32)r % ((i32)s | 1);
    return p + q * 3 + r * 5 + s * 7 + t * 11 + u * 13 + v * 17 + w * 19 + x * 23 + y * 29 + m + n;
}

static void run(struct checks *checks) {
    note(checks, all_i8());
    note(checks, all_i16());
    note(checks, all_i32());
    note(checks, all_i64());
    for (u64 i = 0; i + 5 < COUNT; i++)
        note(checks, (u64)crowded((i64)NUMBERS[i] >> 2, (i64)NUMBERS[i + 1] >> 3,
                                  (i64)NUMBERS[i + 2] >> 4, (i64)NUMBERS[i + 3] >> 5,
                                  (i64)NUMBERS[i + 4] >> 6));
}
