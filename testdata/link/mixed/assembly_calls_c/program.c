#include "../case.h"

u64 decrement(u64);

u64 triangle(u64 n) {
    return n == 0 ? 0 : n + triangle(decrement(n));
}

// Signed division, and sums of 32 bits: what has to be made legal stays beside what is so already.
u64 quotient(u64 sum, i64 six, u32 one) {
    i64 negative = -(i64)sum;
    return (u64)(negative / six) + (u32)(one + 0xffffffff);
}
