/* Every operation on integers, at every width. */
#include "check.h"

/* A function of its own, so that arguments and results cross a call at their width. */
#define BINARY(T, name, expression)                                                       \
    static NOINLINE T name##_##T(T a, T b) { return (T)(expression); }                    \
    static NOINLINE u64 all_##name##_##T(void) {                                          \
        u64 sum = 1;                                                                      \
        for (u64 i = 0; i < COUNT; i++)                                                   \
            for (u64 j = 0; j < COUNT; j++) {                                             \
                T a = (T)NUMBERS[i], b = (T)NUMBERS[j];                                   \
                sum = mix(sum, (u64)name##_##T(a, b));                                    \
                sum = mix(sum, (u64)(T)(expression));                                     \
            }                                                                             \
        return sum;                                                                       \
    }

#define BITS(T) (8 * sizeof(T))
#define UNSIGNED_u8 u8
#define UNSIGNED_u16 u16
#define UNSIGNED_u32 u32
#define UNSIGNED_u64 u64
#define UNSIGNED_i8 u8
#define UNSIGNED_i16 u16
#define UNSIGNED_i32 u32
#define UNSIGNED_i64 u64

#define SHARED(T, U)                                                                      \
    BINARY(T, add, (U)a + (U)b)                                                           \
    BINARY(T, sub, (U)a - (U)b)                                                           \
    BINARY(T, mul, (u64)(U)a * (u64)(U)b)                                                 \
    BINARY(T, logic, ((a & b) ^ (a | 0x55)) + (U)~b)                                      \
    BINARY(T, shl, (U)a << ((U)b % BITS(T)))                                              \
    BINARY(T, shr, a >> ((U)b % BITS(T)))                                                 \
    BINARY(T, neg, (U)0 - (U)a + (b == 0))                                                \
    BINARY(T, compare, (a < b) | (a <= b) << 1 | (a == b) << 2 | (a > b) << 3)            \
    BINARY(T, choose, a < b ? (U)a + 3u : a > (T)100 ? (U)b - 7u : (U)a ^ 0x3c)           \
    BINARY(T, constants, ((U)a + 0x7fffff) * 5u - ((U)b - 0x80) * 3u)                     \
    BINARY(T, against, (a > (T)-5) | (a < (T)77) << 1 | (b != (T)0x8001) << 2             \
                           | (b >= (T)0x7fffffff) << 3 | ((a & 0x80) ? 16 : 0))
#define DIVIDING(T)                                                                       \
    /* Without a sign: narrow operands would be promoted to `int`. */                     \
    BINARY(T, div, b == 0 ? 7 : (a + 0u) / (b + 0u))                                      \
    BINARY(T, mod, b == 0 ? 9 : (a + 0u) % (b + 0u))                                      \
    BINARY(T, by_number, (a + 0u) / 10 + (b + 0u) % 7)

SHARED(u8, u8) SHARED(u16, u16) SHARED(u32, u32) SHARED(u64, u64)
SHARED(i8, u8) SHARED(i16, u16) SHARED(i32, u32) SHARED(i64, u64)
DIVIDING(u8) DIVIDING(u16) DIVIDING(u32) DIVIDING(u64)

/* Sums of 32 bits whose upper halves matter: as an index, in a wider sum, in a comparison. */
static const u8 TABLE[] = "0123456789abcdefghijklmnopqrstuvwxyz";
static NOINLINE u64 index_by_difference(u32 a, u32 b) {
    u32 difference = a - b;
    return difference < sizeof TABLE ? TABLE[difference] : (u64)difference + 1;
}
static NOINLINE u64 widened(u32 a, u32 b) { return (u64)(a + b) + ((u64)(a * b) >> 1); }
static NOINLINE i64 widened_signed(i32 a, i32 b) {
    return (i64)(i32)((u32)a - (u32)b) + (i64)(i32)((u32)a * (u32)b);
}
static NOINLINE u64 carried(u64 a, u64 b) {
    u32 low = (u32)a + (u32)b, carry = low < (u32)a;
    u32 high = (u32)(a >> 32) + (u32)(b >> 32) + carry;
    return (u64)high << 32 | low;
}
static NOINLINE u64 counted(u32 from, u32 to) {
    u64 sum = 0;
    for (u32 i = from, n = 0; i != to && n < 9; i += 0x10000001u, n++) sum = mix(sum, i);
    return sum;
}
static NOINLINE u64 through_branches(u32 a, u32 b) {
    u32 x = a - b;
    if (a & 1) x = a + b;
    if (b & 1) x = x * a;
    return x;
}
static NOINLINE u64 mixed(void) {
    u64 sum = 1;
    for (u64 i = 0; i < COUNT; i++)
        for (u64 j = 0; j < COUNT; j++) {
            u64 a = NUMBERS[i], b = NUMBERS[j];
            sum = mix(sum, index_by_difference((u32)a, (u32)b));
            sum = mix(sum, widened((u32)a, (u32)b));
            sum = mix(sum, (u64)widened_signed((i32)a, (i32)b));
            sum = mix(sum, carried(a, b));
            sum = mix(sum, counted((u32)a, (u32)b));
            sum = mix(sum, through_branches((u32)a, (u32)b));
        }
    return sum;
}

static NOINLINE u64 conversions(void) {
    u64 sum = 1;
    for (u64 i = 0; i < COUNT; i++) {
        u64 a = NUMBERS[i];
        sum = mix(sum, (u64)(i64)(i8)a + (u64)(u16)(i8)a + (u32)(i16)(i8)a);
        sum = mix(sum, (u64)(i64)(i16)a ^ (u64)(u32)(i16)a);
        sum = mix(sum, (u64)(i64)(i32)a ^ (u64)(u32)a);
        sum = mix(sum, (u64)((i32)a >> 3) ^ (u64)((i16)a >> 2) ^ (u64)((i8)a >> 1));
        sum = mix(sum, __builtin_bswap16((u16)a));
        sum = mix(sum, __builtin_bswap32((u32)a));
        sum = mix(sum, __builtin_bswap64(a));
        sum = mix(sum, (u32)a << 7 | (u32)a >> 25);
        sum = mix(sum, a << 13 | a >> 51);
        sum = mix(sum, (u64)__builtin_popcountll(a) + (u64)__builtin_popcount((u32)a));
        if (a) sum = mix(sum, (u64)__builtin_clzll(a) * 64 + (u64)__builtin_ctzll(a));
        if ((u32)a) sum = mix(sum, (u64)__builtin_clz((u32)a) * 64 + (u64)__builtin_ctz((u32)a));
    }
    return sum;
}

struct fields {
    u32 a : 5;
    i32 b : 9;
    u64 c : 37;
    i64 d : 13;
};
static NOINLINE u64 bitfields(void) {
    u64 sum = 1;
    for (u64 i = 0; i < COUNT; i++) {
        volatile struct fields it;
        it.a = NUMBERS[i] & 31;
        it.b = (i32)(NUMBERS[i] << 23) >> 23;
        it.c = NUMBERS[i];
        it.d = (i64)(NUMBERS[i] << 51) >> 51;
        sum = mix(mix(mix(mix(sum, it.a), (u64)(i64)it.b), it.c), (u64)it.d);
    }
    return sum;
}

static NOINLINE u64 memory(void) {
    volatile u8 bytes[32];
    u64 sum = 1;
    for (u64 i = 0; i < sizeof bytes; i++) bytes[i] = (u8)(NUMBERS[i % COUNT] >> 3);
    for (u64 i = 0; i + 8 < sizeof bytes; i++) {
        sum = mix(sum, (u64)*(volatile i8 *)&bytes[i]);
        sum = mix(sum, bytes[i] + ((u32)bytes[i + 1] << 8));
    }
    volatile i16 halves[4];
    volatile i32 words[4];
    for (u64 i = 0; i < 4; i++) {
        halves[i] = (i16)NUMBERS[i + 6];
        words[i] = (i32)NUMBERS[i + 8];
    }
    for (u64 i = 0; i < 4; i++) sum = mix(mix(sum, (u64)(i64)halves[i]), (u64)(i64)words[i]);
    return sum;
}

#define NOTE_SHARED(T)                                                                    \
    note(checks, all_add_##T());                                                          \
    note(checks, all_sub_##T());                                                          \
    note(checks, all_mul_##T());                                                          \
    note(checks, all_logic_##T());                                                        \
    note(checks, all_shl_##T());                                                          \
    note(checks, all_shr_##T());                                                          \
    note(checks, all_neg_##T());                                                          \
    note(checks, all_compare_##T());                                                      \
    note(checks, all_choose_##T());                                                       \
    note(checks, all_constants_##T());                                                    \
    note(checks, all_against_##T());
#define NOTE_DIVIDING(T)                                                                  \
    note(checks, all_div_##T());                                                          \
    note(checks, all_mod_##T());                                                          \
    note(checks, all_by_number_##T());

static void run(struct checks *checks) {
    NOTE_SHARED(u8) NOTE_SHARED(u16) NOTE_SHARED(u32) NOTE_SHARED(u64)
    NOTE_SHARED(i8) NOTE_SHARED(i16) NOTE_SHARED(i32) NOTE_SHARED(i64)
    NOTE_DIVIDING(u8) NOTE_DIVIDING(u16) NOTE_DIVIDING(u32) NOTE_DIVIDING(u64)
    note(checks, mixed());
    note(checks, conversions());
    note(checks, bitfields());
    note(checks, memory());
}
