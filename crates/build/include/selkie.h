/* Declarations for Solana programs in C: input parsing, syscalls, cross-program invocation.
 *
 *     clang -target bpf -mcpu=v2 -O2 -ffreestanding -I include -c hello.c -o hello.o
 *     selkie link hello.o -o hello.so
 *
 * The entry is `uint64_t entrypoint(const uint8_t *input)`. It returns 0, or an error: one of those
 * below, or an error code of the program below 2^32. There is no C library. Writable variables must
 * be initialized to zero; the linker places them in the heap.
 *
 * This file depends on nothing but the compiler, as C11 or C++.
 */
#ifndef SELKIE_H
#define SELKIE_H

#ifdef __cplusplus
extern "C" {
#else
#define bool _Bool
#define true 1
#define false 0
#endif

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __SIZE_TYPE__ size_t;

#ifndef NULL
#define NULL 0
#endif

/* ---- Errors ------------------------------------------------------------------------------- */

/* The return values of `entrypoint` for the variants of `ProgramError`. */
#define SOL_ERROR(number) ((uint64_t)(number) << 32)

#define SOL_SUCCESS ((uint64_t)0)
#define SOL_CUSTOM_ZERO SOL_ERROR(1)
#define SOL_INVALID_ARGUMENT SOL_ERROR(2)
#define SOL_INVALID_INSTRUCTION_DATA SOL_ERROR(3)
#define SOL_INVALID_ACCOUNT_DATA SOL_ERROR(4)
#define SOL_ACCOUNT_DATA_TOO_SMALL SOL_ERROR(5)
#define SOL_INSUFFICIENT_FUNDS SOL_ERROR(6)
#define SOL_INCORRECT_PROGRAM_ID SOL_ERROR(7)
#define SOL_MISSING_REQUIRED_SIGNATURE SOL_ERROR(8)
#define SOL_ACCOUNT_ALREADY_INITIALIZED SOL_ERROR(9)
#define SOL_UNINITIALIZED_ACCOUNT SOL_ERROR(10)
#define SOL_NOT_ENOUGH_ACCOUNT_KEYS SOL_ERROR(11)
#define SOL_ACCOUNT_BORROW_FAILED SOL_ERROR(12)
#define SOL_MAX_SEED_LENGTH_EXCEEDED SOL_ERROR(13)
#define SOL_INVALID_SEEDS SOL_ERROR(14)
#define SOL_BORSH_IO_ERROR SOL_ERROR(15)
#define SOL_ACCOUNT_NOT_RENT_EXEMPT SOL_ERROR(16)
#define SOL_UNSUPPORTED_SYSVAR SOL_ERROR(17)
#define SOL_ILLEGAL_OWNER SOL_ERROR(18)
#define SOL_MAX_ACCOUNTS_DATA_ALLOCATIONS_EXCEEDED SOL_ERROR(19)
#define SOL_INVALID_REALLOC SOL_ERROR(20)
#define SOL_MAX_INSTRUCTION_TRACE_LENGTH_EXCEEDED SOL_ERROR(21)
#define SOL_BUILTIN_PROGRAMS_MUST_CONSUME_COMPUTE_UNITS SOL_ERROR(22)
#define SOL_INVALID_ACCOUNT_OWNER SOL_ERROR(23)
#define SOL_ARITHMETIC_OVERFLOW SOL_ERROR(24)
#define SOL_IMMUTABLE SOL_ERROR(25)
#define SOL_INCORRECT_AUTHORITY SOL_ERROR(26)

/* ---- Memory ------------------------------------------------------------------------------- */

/* Defined by the linker, which implements them with syscalls. */
void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *a, const void *b, size_t count);

#define SOL_HEAP ((uint64_t)0x300000000)
#define SOL_HEAP_BYTES ((uint64_t)32 * 1024)

/* The first byte of the heap behind writable variables. Defined by the linker. */
extern uint8_t __heap_start[];

/* Allocates memory, which is never freed; NULL if the heap is exhausted. Allocates from the top of
 * the heap downwards. The first eight bytes of the heap hold the position. */
static inline void *sol_alloc(uint64_t bytes) {
    uint64_t *position = (uint64_t *)SOL_HEAP;
    uint64_t top = *position ? *position : SOL_HEAP + SOL_HEAP_BYTES;
    uint64_t bottom = (uint64_t)__heap_start;
    if (bytes > top - bottom) return NULL;
    top = (top - bytes) & ~(uint64_t)7;
    if (top < bottom) return NULL;
    *position = top;
    return (void *)top;
}

/* ---- Integers of 128 bits ------------------------------------------------------------------ */

/* Clang has these operations as calls that it cannot compile for BPF. Sums, differences, comparisons
 * and shifts by constants are C's own. */

typedef unsigned __int128 sol_wide;

void abort(void) __attribute__((noreturn));

/* Returns the low 128 bits of a product. */
static inline sol_wide sol_wide_multiply(sol_wide a, sol_wide b) {
    uint64_t a_low = (uint32_t)a, a_high = (uint64_t)a >> 32;
    uint64_t b_low = (uint32_t)b, b_high = (uint64_t)b >> 32;
    uint64_t low = a_low * b_low, left = a_high * b_low, right = a_low * b_high;
    uint64_t middle = (low >> 32) + (uint32_t)left + (uint32_t)right;
    uint64_t high = a_high * b_high + (left >> 32) + (right >> 32) + (middle >> 32);
    high += (uint64_t)(a >> 64) * (uint64_t)b + (uint64_t)a * (uint64_t)(b >> 64);
    return (sol_wide)high << 64 | (middle << 32 | (uint32_t)low);
}

/* Shifts by 0 to 127 bits. Bits that are shifted in are zero. */
static inline sol_wide sol_wide_shift_left(sol_wide value, uint32_t bits) {
    uint64_t low = (uint64_t)value, high = (uint64_t)(value >> 64);
    if (bits >= 64) return (sol_wide)(low << (bits - 64)) << 64;
    if (bits == 0) return value;
    return (sol_wide)(high << bits | low >> (64 - bits)) << 64 | low << bits;
}

static inline sol_wide sol_wide_shift_right(sol_wide value, uint32_t bits) {
    uint64_t low = (uint64_t)value, high = (uint64_t)(value >> 64);
    if (bits >= 64) return high >> (bits - 64);
    if (bits == 0) return value;
    return (sol_wide)(high >> bits) << 64 | (low >> bits | high << (64 - bits));
}

/* Returns the quotient, and stores the remainder behind `rest` unless that is NULL. Takes about 2,500
 * compute units if a number has more than 64 bits. Division by zero aborts the program. */
static inline sol_wide sol_wide_divide(sol_wide a, sol_wide b, sol_wide *rest) {
    sol_wide quotient = 0, left = 0;
    if (b == 0) abort();
    if (a >> 64 == 0 && b >> 64 == 0) {
        quotient = (uint64_t)a / (uint64_t)b;
        left = (uint64_t)a % (uint64_t)b;
    } else {
        for (int bit = 0; bit < 128; bit++) {
            uint64_t carry = (uint64_t)(left >> 127);
            left = left << 1 | (uint64_t)(a >> 127);
            a <<= 1;
            quotient <<= 1;
            if (carry != 0 || left >= b) {
                left -= b;
                quotient |= 1;
            }
        }
    }
    if (rest != NULL) *rest = left;
    return quotient;
}

/* ---- Addresses and slices ------------------------------------------------------------------ */

typedef struct {
    uint8_t bytes[32];
} sol_pubkey;

static inline bool sol_pubkey_equal(const sol_pubkey *a, const sol_pubkey *b) {
    const uint64_t *x = (const uint64_t *)(const void *)a, *y = (const uint64_t *)(const void *)b;
    return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

/* A slice of bytes: an argument of hashes, seeds and logged data. */
typedef struct {
    const void *data;
    uint64_t length;
} sol_slice;

/* The seeds of a program-derived address. */
typedef struct {
    const sol_slice *seeds;
    uint64_t count;
} sol_seeds;

/* ---- The input ----------------------------------------------------------------------------- */

/* An account of the input, also the form in which invocations take it. The pointers refer to the
 * account itself: writes change it, if the program may write it. */
typedef struct {
    sol_pubkey *key;
    uint64_t *lamports;
    uint64_t data_length;
    uint8_t *data;
    sol_pubkey *owner;
    uint64_t rent_epoch;
    bool is_signer;
    bool is_writable;
    bool is_executable;
} sol_account;

/* The parsed input. The caller provides the array of accounts and its capacity. */
typedef struct {
    sol_account *accounts;
    /* The capacity before parsing, the number of accounts after it. */
    uint64_t account_count;
    const uint8_t *data;
    uint64_t data_length;
    const sol_pubkey *program_id;
} sol_input;

#define SOL_ACCOUNT_GROWTH_MAX 10240

/* Parses the input with the first `capacity` accounts; others are passed over. Returns `false` if the
 * input is malformed. */
static inline bool sol_read_accounts(const uint8_t *input, sol_input *out, uint64_t capacity) {
    uint64_t count = *(const uint64_t *)input;
    uint8_t *at = (uint8_t *)input + 8;
    for (uint64_t i = 0; i < count; i++) {
        sol_account other, *account = i < capacity ? &out->accounts[i] : &other;
        uint8_t first = at[0];
        if (first != 0xff) {
            /* A duplicate account: the index of the first occurrence. */
            if (first >= i) return false;
            if (i < capacity) *account = out->accounts[first];
            at += 8;
            continue;
        }
        account->is_signer = at[1] != 0;
        account->is_writable = at[2] != 0;
        account->is_executable = at[3] != 0;
        account->key = (sol_pubkey *)(at + 8);
        account->owner = (sol_pubkey *)(at + 40);
        account->lamports = (uint64_t *)(at + 72);
        account->data_length = *(uint64_t *)(at + 80);
        account->data = at + 88;
        at += 88 + account->data_length + SOL_ACCOUNT_GROWTH_MAX;
        at = (uint8_t *)(((uint64_t)at + 7) & ~(uint64_t)7);
        account->rent_epoch = *(uint64_t *)at;
        at += 8;
    }
    out->account_count = count;
    out->data_length = *(uint64_t *)at;
    out->data = at + 8;
    out->program_id = (const sol_pubkey *)(at + 8 + out->data_length);
    return true;
}

/* Parses the input. Returns `false` if there are more accounts than the capacity. */
static inline bool sol_read_input(const uint8_t *input, sol_input *out) {
    if (*(const uint64_t *)input > out->account_count) return false;
    return sol_read_accounts(input, out, out->account_count);
}

/* Resizes the data of an account, by at most `SOL_ACCOUNT_GROWTH_MAX` above its length in the input.
 * New bytes are zero, unless the data was longer before. */
static inline void sol_set_data_length(sol_account *account, uint64_t length) {
    *(uint64_t *)(account->data - 8) = length;
    account->data_length = length;
}

/* ---- Syscalls ------------------------------------------------------------------------------ */

/* They return 0 unless stated otherwise. */

void sol_panic_(const char *file, uint64_t length, uint64_t line, uint64_t column)
    __attribute__((noreturn));

void sol_log_(const char *text, uint64_t length);
void sol_log_64_(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);
void sol_log_pubkey(const sol_pubkey *key);
void sol_log_compute_units_(void);
void sol_log_data(const sol_slice *slices, uint64_t count);

/* Logs a string literal. */
#define sol_log(text) sol_log_(text, sizeof(text) - 1)
/* Aborts the program if a condition is false. */
#define sol_assert(condition) \
    ((condition) ? (void)0 : sol_panic_(__FILE__, sizeof(__FILE__) - 1, __LINE__, 0))

uint64_t sol_memcpy_(void *to, const void *from, uint64_t count);
uint64_t sol_memmove_(void *to, const void *from, uint64_t count);
uint64_t sol_memset_(void *to, uint8_t byte, uint64_t count);
uint64_t sol_memcmp_(const void *a, const void *b, uint64_t count, int32_t *result);

uint64_t sol_sha256(const sol_slice *slices, uint64_t count, uint8_t hash[32]);
uint64_t sol_keccak256(const sol_slice *slices, uint64_t count, uint8_t hash[32]);
uint64_t sol_blake3(const sol_slice *slices, uint64_t count, uint8_t hash[32]);
uint64_t sol_sha512(const sol_slice *slices, uint64_t count, uint8_t hash[64]);
uint64_t sol_poseidon(uint64_t parameters, uint64_t endianness, const sol_slice *slices,
                      uint64_t count, uint8_t hash[32]);
uint64_t sol_secp256k1_recover(const uint8_t hash[32], uint64_t recovery_id,
                               const uint8_t signature[64], uint8_t key[64]);
uint64_t sol_curve_validate_point(uint64_t curve, const void *point, void *unused);
uint64_t sol_curve_group_op(uint64_t curve, uint64_t operation, const void *left,
                            const void *right, void *out);
uint64_t sol_curve_multiscalar_mul(uint64_t curve, const void *scalars, const void *points,
                                   uint64_t count, void *out);
uint64_t sol_curve_decompress(uint64_t curve, const void *point, void *out);
uint64_t sol_curve_pairing_map(uint64_t curve, uint64_t count, const void *g1, const void *g2,
                               void *out);
uint64_t sol_alt_bn128_group_op(uint64_t operation, const void *input, uint64_t length, void *out);
uint64_t sol_alt_bn128_compression(uint64_t operation, const void *input, uint64_t length,
                                   void *out);
uint64_t sol_big_mod_exp(const void *parameters, void *out);

/* Program-derived addresses. They return 0, or 1 if the seeds yield no valid address. */
uint64_t sol_create_program_address(const sol_slice *seeds, uint64_t count,
                                    const sol_pubkey *program, sol_pubkey *address);
uint64_t sol_try_find_program_address(const sol_slice *seeds, uint64_t count,
                                      const sol_pubkey *program, sol_pubkey *address,
                                      uint8_t *bump);

uint64_t sol_get_clock_sysvar(void *out);
uint64_t sol_get_epoch_schedule_sysvar(void *out);
uint64_t sol_get_rent_sysvar(void *out);
uint64_t sol_get_epoch_rewards_sysvar(void *out);
uint64_t sol_get_last_restart_slot(void *out);
uint64_t sol_get_sysvar(const sol_pubkey *id, void *out, uint64_t offset, uint64_t length);
uint64_t sol_get_epoch_stake(const sol_pubkey *vote_account);

void sol_set_return_data(const void *data, uint64_t length);
/* Returns the length of the data, and writes at most `length` bytes of it. */
uint64_t sol_get_return_data(void *data, uint64_t length, sol_pubkey *program);
uint64_t sol_get_stack_height(void);
uint64_t sol_remaining_compute_units(void);

/* ---- Cross-program invocation -------------------------------------------------------------- */

typedef struct {
    const sol_pubkey *key;
    bool is_writable;
    bool is_signer;
} sol_account_meta;

/* Reads an already processed sibling instruction; index 0 is the latest. Returns 1 if it exists. If
 * `lengths` differ from its data length and account count, only they are written. An account takes
 * 34 bytes: its key, then a byte each for signer and writable. */
uint64_t sol_get_processed_sibling_instruction(uint64_t index, uint64_t lengths[2],
                                               sol_pubkey *program, void *data, void *accounts);

typedef struct {
    const sol_pubkey *program_id;
    const sol_account_meta *accounts;
    uint64_t account_count;
    const uint8_t *data;
    uint64_t data_length;
} sol_instruction;

/* Returns 0. If the invoked program fails, this program is aborted. */
uint64_t sol_invoke_signed_c(const sol_instruction *instruction, const sol_account *accounts,
                             uint64_t account_count, const sol_seeds *signers,
                             uint64_t signer_count);

static inline uint64_t sol_invoke(const sol_instruction *instruction, const sol_account *accounts,
                                  uint64_t account_count) {
    return sol_invoke_signed_c(instruction, accounts, account_count, NULL, 0);
}

/* The runtime reads these structures by offset. */
#ifdef __cplusplus
#define SOL_STATIC_ASSERT static_assert
#else
#define SOL_STATIC_ASSERT _Static_assert
#endif
SOL_STATIC_ASSERT(sizeof(sol_account) == 56, "as the runtime reads it");
SOL_STATIC_ASSERT(sizeof(sol_account_meta) == 16, "as the runtime reads it");
SOL_STATIC_ASSERT(sizeof(sol_instruction) == 40, "as the runtime reads it");

#ifdef __cplusplus
}
#endif
#endif
