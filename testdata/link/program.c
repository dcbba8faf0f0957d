/* What programs are made of besides arithmetic: calls, pointers, tables, statics, memory. */
#include "check.h"

void *memcpy(void *to, const void *from, unsigned long count);
void *memmove(void *to, const void *from, unsigned long count);
void *memset(void *to, int value, unsigned long count);
int memcmp(const void *a, const void *b, unsigned long count);

static NOINLINE u64 twice(u64 a) { return a * 2; }
static NOINLINE u64 thrice(u64 a) { return a * 3; }
static NOINLINE u64 negated(u64 a) { return -a; }
typedef u64 (*function)(u64);
static const function FUNCTIONS[] = { twice, thrice, negated, twice };

static const char *const WORDS[] = { "alpha", "beta", "gamma", "", "delta" };

static NOINLINE u64 length(const char *text) {
    u64 count = 0;
    while (text[count]) count++;
    return count;
}

static NOINLINE u64 by_switch(u64 a) {
    switch (a % 9) {
    case 0: return 11;
    case 1: return 7;
    case 2: return a ^ 5;
    case 3: return a + 100;
    case 4: return 3;
    case 5: return a << 3;
    case 6: return 77;
    case 7: return ~a;
    default: return 1;
    }
}

static NOINLINE u64 fibonacci(u64 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

/* In the heap, and zero at first. */
static u64 counter;
static u64 history[8];
static NOINLINE u64 counted(u64 a) {
    history[counter % 8] = a;
    return ++counter;
}

struct point {
    u64 x, y;
    u8 name[40];
};
static struct point kept;
static NOINLINE void keep(const struct point *point) { kept = *point; }

static const struct point *volatile nowhere = 0;
static const struct point ORIGIN = { 1, 2, "origin" };
static NOINLINE const struct point *find(u64 which) { return which ? &ORIGIN : nowhere; }

static NOINLINE u64 five(u64 a, u64 b, u64 c, u64 d, u64 e) {
    return a + b * 3 + c * 5 + d * 7 + e * 11;
}

static void run(struct checks *checks) {
    u64 sum = 1;
    for (u64 i = 0; i < COUNT; i++) {
        u64 a = NUMBERS[i];
        sum = mix(sum, FUNCTIONS[a % 4](a));
        sum = mix(sum, by_switch(a));
        sum = mix(sum, five(a, sum, i, a >> 3, ~a));
    }
    note(checks, sum);
    for (u64 i = 0; i < 5; i++) note(checks, length(WORDS[i]) + (u64)WORDS[i][0]);
    note(checks, fibonacci(12));
    for (u64 i = 0; i < 20; i++) counted(i * i);
    for (u64 i = 0; i < 8; i++) note(checks, history[i]);
    note(checks, counter);

    volatile u64 count = 33;
    u8 from[64], to[64];
    memset(from, (int)count, count);
    memset(from + count, 0, sizeof from - count);
    for (u64 i = 0; i < count; i++) from[i] += (u8)i;
    memcpy(to, from, count + 5);
    memmove(to + 3, to, count);
    note(checks, (u64)(memcmp(from, to, count) < 0) * 2 + (u64)(memcmp(to, to, count) == 0));
    sum = 1;
    for (u64 i = 0; i < count + 5; i++) sum = mix(sum, to[i]);
    note(checks, sum);

    struct point point = { NUMBERS[4], NUMBERS[5], "here" };
    keep(&point);
    note(checks, kept.x + kept.y * 3 + kept.name[1]);
    const struct point *found = find(count & 1), *missed = find(count & 2);
    note(checks, found ? found->y : 99);
    note(checks, missed ? missed->y : 99);
}
