/* What amounts come to at rates: C that calls a routine in assembly, which is beside it.
 *
 *     selkie build examples/exchange
 *     selkie run examples/exchange/target/deploy/exchange.so --data u64:1000,u64:9223372036854775808
 *
 * Instruction data: any number of pairs of an amount and a rate, 8 bytes each, unsigned and
 * little-endian. A rate is a fraction of 2^64. Logs each result, and the sum.
 */
#include "selkie.h"

/* amount * rate / 2^64, in scale.s: clang has no product of 128 bits for BPF. */
uint64_t scale(uint64_t amount, uint64_t rate);

typedef struct {
    uint64_t amount, rate;
} pair;

uint64_t entrypoint(const uint8_t *bytes) {
    sol_input input = { .account_count = 0 };
    if (!sol_read_input(bytes, &input)) return SOL_INVALID_ARGUMENT;
    if (input.data_length % sizeof(pair) != 0) return SOL_INVALID_INSTRUCTION_DATA;

    const pair *pairs = (const pair *)input.data;
    uint64_t count = input.data_length / sizeof(pair), sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t scaled = scale(pairs[i].amount, pairs[i].rate);
        if (sum + scaled < sum) return SOL_ARITHMETIC_OVERFLOW;
        sum += scaled;
        sol_log_64_(pairs[i].amount, pairs[i].rate, scaled, i, sum);
    }
    return SOL_SUCCESS;
}
