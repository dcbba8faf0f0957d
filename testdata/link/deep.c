/* Frames that are too large: one that is reached, and one that is not. */
typedef unsigned char u8;
typedef unsigned long long u64;

__attribute__((noinline)) u64 left_out(const u8 *input) {
    volatile u8 bytes[9000];
    bytes[input[0]] = 1;
    return bytes[input[1]];
}

__attribute__((noinline)) static u64 deep(const u8 *input) {
    volatile u8 bytes[30728];
    bytes[input[0]] = 1;
    return bytes[input[1]];
}

u64 entrypoint(const u8 *input) { return deep(input); }
