/* A counter: adds the amount in the instruction data to the number in an account.
 *
 *     selkie build examples/c/counter.c -o counter.so
 *     selkie run counter.so --input examples/counter/input.json
 *
 * Accounts: one, owned by this program, writable, with 8 bytes of data: the count.
 * Instruction data: 8 bytes, the amount to add. Both are unsigned and little-endian.
 */
#include "selkie.h"

uint64_t entrypoint(const uint8_t *bytes) {
    sol_account counter;
    sol_input input = { .accounts = &counter, .account_count = 1 };
    if (!sol_read_input(bytes, &input)) return SOL_INVALID_ARGUMENT;
    if (input.account_count != 1) return SOL_NOT_ENOUGH_ACCOUNT_KEYS;
    if (!sol_pubkey_equal(counter.owner, input.program_id)) return SOL_ILLEGAL_OWNER;
    if (!counter.is_writable) return SOL_IMMUTABLE;
    if (counter.data_length != sizeof(uint64_t)) return SOL_INVALID_ACCOUNT_DATA;
    if (input.data_length != sizeof(uint64_t)) return SOL_INVALID_INSTRUCTION_DATA;

    uint64_t *count = (uint64_t *)counter.data;
    uint64_t amount = *(const uint64_t *)input.data;
    if (*count + amount < *count) return SOL_ARITHMETIC_OVERFLOW;
    *count += amount;
    sol_log_64_(0, 0, 0, amount, *count);
    return SOL_SUCCESS;
}
