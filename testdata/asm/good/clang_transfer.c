// A small program in C, to be compiled with
// clang -target bpf -mcpu=v2 -O2 -ffreestanding -fno-builtin -S transfer.c
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

extern u64 sol_log_(const char *text, u64 length);
extern u64 sol_log_64_(u64 a, u64 b, u64 c, u64 d, u64 e);

static const char GREETING[] = "sum of the instruction data";
static const u64 WEIGHTS[4] = {1, 10, 100, 1000};

__attribute__((noinline)) static u64 weigh(const u8 *data, u64 length) {
    u64 sum = 0;
    for (u64 i = 0; i < length; i++)
        sum += WEIGHTS[i & 3] * data[i];
    return sum;
}

__attribute__((noinline)) static u32 mix(u32 a, signed char b) {
    return (a << 3) ^ (u32)(b >> 1);
}

u64 entrypoint(const u8 *input) {
    u64 accounts = *(const u64 *)input;
    if (accounts != 0)
        return 3;
    u64 length = *(const u64 *)(input + 8);
    if ((long long)length <= 0)
        return 2;
    sol_log_(GREETING, sizeof(GREETING) - 1);
    u64 sum = weigh(input + 16, length);
    sol_log_64_(sum, mix((u32)sum, (signed char)input[16]), __builtin_bswap32((u32)sum), -sum, length);
    return sum == 42 ? 0 : sum % 7;
}
