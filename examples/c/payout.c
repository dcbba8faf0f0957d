/* A payout: splits a pool between two parties. It has a bug, which docs/debugging.md finds.
 *
 *     selkie build examples/c/payout.c -o payout.so
 *     selkie run payout.so --input examples/rust/payout/input.json
 *
 * Accounts: one, owned by this program, writable, with 24 bytes of data: the pool's total, the share of
 * the first party, and that of the second. Instruction data: 2 bytes, the first party's share in basis
 * points. All numbers are unsigned and little-endian.
 */
#include "selkie.h"

/* The error of shares that do not add up to the total. */
#define NOT_ALL_PAID 1

typedef struct {
    uint64_t total, first, second;
} pool;

/* Returns the part of a total that so many basis points are. */
__attribute__((noinline)) static uint64_t share(uint64_t total, uint32_t points) {
    /* The bug: the product does not fit into 32 bits. */
    uint32_t product = total * points;
    return product / 10000;
}

/* Checks that everything is paid. */
__attribute__((noinline)) static uint64_t check(const pool *held) {
    return held->first + held->second == held->total ? SOL_SUCCESS : NOT_ALL_PAID;
}

uint64_t entrypoint(const uint8_t *bytes) {
    sol_account account;
    sol_input input = { .accounts = &account, .account_count = 1 };
    if (!sol_read_input(bytes, &input)) return SOL_INVALID_ARGUMENT;
    if (input.account_count != 1) return SOL_NOT_ENOUGH_ACCOUNT_KEYS;
    if (account.data_length != sizeof(pool)) return SOL_INVALID_ACCOUNT_DATA;
    if (input.data_length != sizeof(uint16_t)) return SOL_INVALID_INSTRUCTION_DATA;

    pool *held = (pool *)account.data;
    uint32_t points = *(const uint16_t *)input.data;
    held->first = share(held->total, points);
    held->second = share(held->total, 10000 - points);
    return check(held);
}
