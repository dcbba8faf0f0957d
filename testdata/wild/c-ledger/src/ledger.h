/* A ledger in the bytes of an account. */
#pragma once

#include <solana_sdk.h>

/* An amount with its scale. */
typedef struct {
    uint64_t units;
    uint64_t scale;
} Amount;

typedef struct {
    uint64_t balance;
    uint64_t interest;
    uint64_t entries;
    uint8_t owner[SIZE_PUBKEY];
} Ledger;

/* Stores a part of an amount, in basis points. Returns whether it was rounded down. */
bool amount_part(const Amount *amount, uint64_t points, Amount *part);
