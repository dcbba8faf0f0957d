/* A ledger with names and types of Solana's C SDK, in two sources.
 *
 * Accounts: the ledger, writable, and its owner, who signs. Instruction data: a byte that says what to do
 * (0 deposits, 1 adds interest), and a number of 8 bytes: lamports, or basis points. */
#include "ledger.h"

static const char NOT_OWNER[] = "the signer does not own the ledger";

/* What instructions do, by their first byte. */
typedef uint64_t (*Operation)(Ledger *ledger, uint64_t number);

static uint64_t deposit(Ledger *ledger, uint64_t lamports) {
    return __builtin_add_overflow(ledger->balance, lamports, &ledger->balance)
               ? ERROR_INVALID_ARGUMENT
               : SUCCESS;
}

static uint64_t accrue(Ledger *ledger, uint64_t points) {
    Amount balance = { .units = ledger->balance, .scale = 9 }, interest;
    bool is_rounded = amount_part(&balance, points, &interest);
    sol_log_64(interest.units, interest.scale, is_rounded, ledger->entries, points);
    ledger->interest += interest.units;
    return SUCCESS;
}

static const Operation OPERATIONS[] = { deposit, accrue };

static uint64_t process(SolParameters *parameters) {
    if (parameters->ka_num != 2) return ERROR_NOT_ENOUGH_ACCOUNT_KEYS;
    SolAccountInfo *account = &parameters->ka[0], *signer = &parameters->ka[1];
    if (!SolPubkey_same(account->owner, parameters->program_id)) return ERROR_INCORRECT_PROGRAM_ID;
    if (account->data_len != sizeof(Ledger)) return ERROR_INVALID_ACCOUNT_DATA;
    if (!signer->is_signer) return ERROR_MISSING_REQUIRED_SIGNATURES;

    Ledger *ledger = (Ledger *)account->data;
    if (sol_memcmp(ledger->owner, signer->key, SIZE_PUBKEY)) {
        sol_log(NOT_OWNER);
        return ERROR_CUSTOM_ZERO;
    }
    if (parameters->data_len != 1 + sizeof(uint64_t)) return ERROR_INVALID_INSTRUCTION_DATA;
    uint8_t number = parameters->data[0];
    if (number >= SOL_ARRAY_SIZE(OPERATIONS)) return ERROR_INVALID_INSTRUCTION_DATA;
    uint64_t operand;
    sol_memcpy(&operand, parameters->data + 1, sizeof(operand));
    ledger->entries++;
    return OPERATIONS[number](ledger, operand);
}

extern uint64_t entrypoint(const uint8_t *input) {
    SolAccountInfo accounts[2];
    SolParameters parameters = (SolParameters){ .ka = accounts };
    if (!sol_deserialize(input, &parameters, SOL_ARRAY_SIZE(accounts))) return ERROR_INVALID_ARGUMENT;
    return process(&parameters);
}
