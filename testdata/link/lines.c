/* Lines behind instructions that legalising moved: each call of sol_log_64_ has one of its own. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
void sol_log_64_(u64, u64, u64, u64, u64);

static inline __attribute__((always_inline)) u64 inlined(u32 a, u32 b) {
    u32 sum = a + b * 3;
    sol_log_64_(1, sum, 0, 0, 0);
    return sum - a;
}

__attribute__((noinline)) u64 first(u32 a, u32 b) {
    u64 wide = (u64)(a - b) + (u64)(a * b);
    sol_log_64_(2, wide, 0, 0, 0);
    if (wide > (u64)(a + b)) {
        sol_log_64_(3, wide, 0, 0, 0);
    }
    return wide;
}

__attribute__((noinline)) u64 left_out(u64 a) {
    sol_log_64_(4, a, 0, 0, 0); /* in no program */
    return a + first((u32)a, 7);
}

__attribute__((noinline)) i64 second(i64 a, i64 b) {
#if __BPF_CPU_VERSION__ >= 4
    a = a / b;
    sol_log_64_(5, (u64)a, 0, 0, 0);
    a = a % 7;
#endif
    if ((int)a < (int)b) a += 3;
    sol_log_64_(6, (u64)a, 0, 0, 0);
    return a;
}

u64 entrypoint(const unsigned char *input) {
    u64 sum = first(input[0], input[1]);
    sum += inlined(input[2], input[3]);
    sol_log_64_(7, sum, 0, 0, 0);
    sum += (u64)second((i64)sum, input[0] + 1);
    sol_log_64_(8, sum, 0, 0, 0);
    return 0;
}
