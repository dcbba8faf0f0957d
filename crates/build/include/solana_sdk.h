/* The names of Solana's C SDK, for programs that were written for it: its types, constants and functions on
 * those of `selkie.h`. Types of both have the same layout, so a cast converts a pointer.
 *
 * New programs need only `selkie.h`.
 */
#ifndef SELKIE_SOLANA_SDK_H
#define SELKIE_SOLANA_SDK_H

#include <selkie.h>

/* ---- Numbers ------------------------------------------------------------------------------- */

typedef int64_t ssize_t;

#define INT8_MAX __INT8_MAX__
#define INT16_MAX __INT16_MAX__
#define INT32_MAX __INT32_MAX__
#define INT64_MAX __INT64_MAX__
#define INT8_MIN (-INT8_MAX - 1)
#define INT16_MIN (-INT16_MAX - 1)
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX __UINT8_MAX__
#define UINT16_MAX __UINT16_MAX__
#define UINT32_MAX __UINT32_MAX__
#define UINT64_MAX __UINT64_MAX__

#ifdef __cplusplus
extern "C" {
#else
#undef static_assert
#define static_assert _Static_assert
#endif

#define SOL_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Errors -------------------------------------------------------------------------------- */

#define SUCCESS 0
#define TO_BUILTIN(error) SOL_ERROR(error)
#define ERROR_CUSTOM_ZERO SOL_CUSTOM_ZERO
#define ERROR_INVALID_ARGUMENT SOL_INVALID_ARGUMENT
#define ERROR_INVALID_INSTRUCTION_DATA SOL_INVALID_INSTRUCTION_DATA
#define ERROR_INVALID_ACCOUNT_DATA SOL_INVALID_ACCOUNT_DATA
#define ERROR_ACCOUNT_DATA_TOO_SMALL SOL_ACCOUNT_DATA_TOO_SMALL
#define ERROR_INSUFFICIENT_FUNDS SOL_INSUFFICIENT_FUNDS
#define ERROR_INCORRECT_PROGRAM_ID SOL_INCORRECT_PROGRAM_ID
#define ERROR_MISSING_REQUIRED_SIGNATURES SOL_MISSING_REQUIRED_SIGNATURE
#define ERROR_ACCOUNT_ALREADY_INITIALIZED SOL_ACCOUNT_ALREADY_INITIALIZED
#define ERROR_UNINITIALIZED_ACCOUNT SOL_UNINITIALIZED_ACCOUNT
#define ERROR_NOT_ENOUGH_ACCOUNT_KEYS SOL_NOT_ENOUGH_ACCOUNT_KEYS
#define ERROR_ACCOUNT_BORROW_FAILED SOL_ACCOUNT_BORROW_FAILED
#define MAX_SEED_LENGTH_EXCEEDED SOL_MAX_SEED_LENGTH_EXCEEDED
#define INVALID_SEEDS SOL_INVALID_SEEDS

/* ---- Types --------------------------------------------------------------------------------- */

#define SIZE_PUBKEY 32
#define MAX_PERMITTED_DATA_INCREASE SOL_ACCOUNT_GROWTH_MAX
#define MAX_RETURN_DATA 1024
#define MAX_CPI_INSTRUCTION_DATA_LEN ((uint64_t)10240)
#define MAX_CPI_INSTRUCTION_ACCOUNTS 255
#define MAX_CPI_ACCOUNT_INFOS 128

typedef struct {
    uint8_t x[SIZE_PUBKEY];
} SolPubkey;

typedef struct {
    const uint8_t *addr;
    uint64_t len;
} SolBytes;

typedef struct {
    const uint8_t *addr;
    uint64_t len;
} SolSignerSeed;

typedef struct {
    const SolSignerSeed *addr;
    uint64_t len;
} SolSignerSeeds;

typedef struct {
    SolPubkey *key;
    uint64_t *lamports;
    uint64_t data_len;
    uint8_t *data;
    SolPubkey *owner;
    uint64_t rent_epoch;
    bool is_signer;
    bool is_writable;
    bool executable;
} SolAccountInfo;

typedef struct {
    SolAccountInfo *ka;
    uint64_t ka_num;
    const uint8_t *data;
    uint64_t data_len;
    const SolPubkey *program_id;
} SolParameters;

typedef struct {
    SolPubkey *pubkey;
    bool is_writable;
    bool is_signer;
} SolAccountMeta;

typedef struct {
    SolPubkey *program_id;
    SolAccountMeta *accounts;
    uint64_t account_len;
    uint8_t *data;
    uint64_t data_len;
} SolInstruction;

SOL_STATIC_ASSERT(sizeof(SolBytes) == sizeof(sol_slice), "a cast converts it");
SOL_STATIC_ASSERT(sizeof(SolSignerSeeds) == sizeof(sol_seeds), "a cast converts it");
SOL_STATIC_ASSERT(sizeof(SolAccountInfo) == sizeof(sol_account), "a cast converts it");
SOL_STATIC_ASSERT(sizeof(SolParameters) == sizeof(sol_input), "a cast converts it");
SOL_STATIC_ASSERT(sizeof(SolAccountMeta) == sizeof(sol_account_meta), "a cast converts it");
SOL_STATIC_ASSERT(sizeof(SolInstruction) == sizeof(sol_instruction), "a cast converts it");

/* ---- Functions ----------------------------------------------------------------------------- */

uint64_t entrypoint(const uint8_t *input);

static inline bool SolPubkey_same(const SolPubkey *one, const SolPubkey *two) {
    return sol_pubkey_equal((const sol_pubkey *)one, (const sol_pubkey *)two);
}

/* Parses the input into at most `ka_num` accounts. `params->ka_num` becomes the number of accounts that
 * there are, which may be larger: those beyond are passed over. */
static inline bool sol_deserialize(const uint8_t *input, SolParameters *params, uint64_t ka_num) {
    if (!input || !params) return false;
    return sol_read_accounts(input, (sol_input *)params, ka_num);
}

/* Copies an integer from an input whose fields are not aligned, and passes it over. */
static inline uint64_t sol_take_64(uint8_t **input) {
    uint64_t value;
    __builtin_memcpy(&value, *input, sizeof value);
    *input += sizeof value;
    return value;
}

/* As `sol_deserialize`, for programs of the first loader, BPFLoader1111111111111111111111111111111111: in
 * their input, fields are not aligned, and accounts have no space to grow. */
static inline bool sol_deserialize_deprecated(const uint8_t *input, SolParameters *params,
                                              uint64_t ka_num) {
    uint8_t *at = (uint8_t *)input;
    if (!input || !params) return false;
    params->ka_num = sol_take_64(&at);
    for (uint64_t i = 0; i < params->ka_num; i++) {
        SolAccountInfo passed_over, *account = i < ka_num ? &params->ka[i] : &passed_over;
        uint8_t same_as = *at++;
        if (same_as != UINT8_MAX) {
            if (same_as < ka_num) *account = params->ka[same_as];
            continue;
        }
        account->is_signer = *at++ != 0;
        account->is_writable = *at++ != 0;
        account->key = (SolPubkey *)at;
        account->lamports = (uint64_t *)(at += SIZE_PUBKEY);
        at += sizeof(uint64_t);
        account->data_len = sol_take_64(&at);
        account->data = at;
        account->owner = (SolPubkey *)(at += account->data_len);
        at += SIZE_PUBKEY;
        account->executable = *at++ != 0;
        account->rent_epoch = sol_take_64(&at);
    }
    params->data_len = sol_take_64(&at);
    params->data = at;
    params->program_id = (SolPubkey *)(at + params->data_len);
    return true;
}

static inline size_t sol_strlen(const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

#define HEAP_START_ADDRESS SOL_HEAP
#define HEAP_LENGTH SOL_HEAP_BYTES

/* The heap is zero at the start, and nothing of it is used twice. Allocates from the top downwards, as
 * `sol_alloc` does, at a multiple of the power of two that is the size of an item or the next one above. */
static inline void *sol_calloc(size_t count, size_t size) {
    uint64_t *position = (uint64_t *)SOL_HEAP;
    uint64_t top = *position ? *position : SOL_HEAP + SOL_HEAP_BYTES;
    uint64_t align = 1;
    if (size == 0 || count > SOL_HEAP_BYTES / size) return NULL;
    while (align < size) align *= 2;
    top = (top - count * size) & ~(align - 1);
    if (top < (uint64_t)__heap_start) return NULL;
    *position = top;
    return (void *)top;
}

static inline void sol_free(void *memory) { (void)memory; }

#define sol_memcpy(to, from, count) memcpy(to, from, (size_t)(count))
#define sol_memset(to, byte, count) memset(to, byte, (size_t)(count))
#define sol_memcmp(a, b, count) memcmp(a, b, (size_t)(count))

#undef sol_log
#define sol_log(text) \
    sol_log_(text, __builtin_constant_p(text) ? __builtin_strlen(text) : sol_strlen(text))
#define sol_log_64 sol_log_64_
#define sol_log_compute_units() sol_log_compute_units_()
#define sol_log_pubkey(key) sol_log_pubkey((const sol_pubkey *)(key))
#define sol_log_data(slices, count) sol_log_data((const sol_slice *)(slices), (uint64_t)(count))

static inline void sol_log_array(const uint8_t *bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) sol_log_64_(0, 0, 0, i, bytes[i]);
}

static inline void sol_log_params(const SolParameters *params) {
    sol_log("- Program identifier:");
    sol_log_pubkey(params->program_id);
    sol_log("- Number of KeyedAccounts");
    sol_log_64_(0, 0, 0, 0, params->ka_num);
    for (uint64_t i = 0; i < params->ka_num; i++) {
        const SolAccountInfo *account = &params->ka[i];
        sol_log("  - Is signer");
        sol_log_64_(0, 0, 0, 0, account->is_signer);
        sol_log("  - Is writable");
        sol_log_64_(0, 0, 0, 0, account->is_writable);
        sol_log("  - Key");
        sol_log_pubkey(account->key);
        sol_log("  - Lamports");
        sol_log_64_(0, 0, 0, 0, *account->lamports);
        sol_log("  - data");
        sol_log_array(account->data, account->data_len);
        sol_log("  - Owner");
        sol_log_pubkey(account->owner);
        sol_log("  - Executable");
        sol_log_64_(0, 0, 0, 0, account->executable);
        sol_log("  - Rent Epoch");
        sol_log_64_(0, 0, 0, 0, account->rent_epoch);
    }
    sol_log("- Instruction data");
    sol_log_array(params->data, params->data_len);
}

#define sol_panic() sol_panic_(__FILE__, sizeof(__FILE__), __LINE__, 0)
#undef sol_assert
#define sol_assert(condition) \
    if (!(condition)) {       \
        sol_panic();          \
    }

#define sol_create_program_address(seeds, count, program, address)                     \
    sol_create_program_address((const sol_slice *)(seeds), (uint64_t)(count),          \
                               (const sol_pubkey *)(program), (sol_pubkey *)(address))
#define sol_try_find_program_address(seeds, count, program, address, bump)               \
    sol_try_find_program_address((const sol_slice *)(seeds), (uint64_t)(count),          \
                                 (const sol_pubkey *)(program), (sol_pubkey *)(address), bump)

#define sol_invoke_signed(instruction, accounts, count, seeds, signers)                        \
    sol_invoke_signed_c((const sol_instruction *)(instruction), (const sol_account *)(accounts), \
                        (uint64_t)(count), (const sol_seeds *)(seeds), (uint64_t)(signers))
#define sol_invoke(instruction, accounts, count) sol_invoke_signed(instruction, accounts, count, NULL, 0)

#define sol_get_return_data(data, length, program) \
    sol_get_return_data(data, length, (sol_pubkey *)(program))

#define SHA256_RESULT_LENGTH 32
#define KECCAK_RESULT_LENGTH 32
#define BLAKE3_RESULT_LENGTH 32
#define sol_sha256(slices, count, hash) \
    sol_sha256((const sol_slice *)(slices), (uint64_t)(count), hash)
#define sol_keccak256(slices, count, hash) \
    sol_keccak256((const sol_slice *)(slices), (uint64_t)(count), hash)
#define sol_blake3(slices, count, hash) \
    sol_blake3((const sol_slice *)(slices), (uint64_t)(count), hash)
#define sol_poseidon(parameters, endianness, slices, count, hash) \
    sol_poseidon(parameters, endianness, (const sol_slice *)(slices), (uint64_t)(count), hash)

#define POSEIDON_RESULT_LENGTH 32
#define POSEIDON_PARAMETERS_BN254_X5 0
#define POSEIDON_ENDIANNESS_BIG_ENDIAN 0
#define POSEIDON_ENDIANNESS_LITTLE_ENDIAN 1

#define SECP256K1_RECOVER_HASH_LENGTH 32
#define SECP256K1_RECOVER_SIGNATURE_LENGTH 64
#define SECP256K1_RECOVER_RESULT_LENGTH 64
#define SECP256K1_RECOVER_ERROR_INVALID_HASH 1
#define SECP256K1_RECOVER_ERROR_INVALID_RECOVERY_ID 2
#define SECP256K1_RECOVER_ERROR_INVALID_SIGNATURE 3

#define ALT_BN128_ADD 0
#define ALT_BN128_SUB 1
#define ALT_BN128_MUL 2
#define ALT_BN128_PAIRING 3
#define ALT_BN128_ADDITION_OUTPUT_LEN 64
#define ALT_BN128_MULTIPLICATION_OUTPUT_LEN 64
#define ALT_BN128_PAIRING_OUTPUT_LEN 32

#define ALT_BN128_G1_COMPRESS 0
#define ALT_BN128_G1_DECOMPRESS 1
#define ALT_BN128_G2_COMPRESS 2
#define ALT_BN128_G2_DECOMPRESS 3
#define ALT_BN128_COMPRESSION_G1_COMPRESS_OUTPUT_LEN 32
#define ALT_BN128_COMPRESSION_G1_DECOMPRESS_OUTPUT_LEN 64
#define ALT_BN128_COMPRESSION_G2_COMPRESS_OUTPUT_LEN 64
#define ALT_BN128_COMPRESSION_G2_DECOMPRESS_OUTPUT_LEN 128

#ifdef __cplusplus
}
#endif

#endif
