// C++ with names of Solana's C SDK: the heap to its end, and the input of the first loader.
#include <solana_sdk.h>
#include <sol/alt_bn128_compression.h>
#include <sol/deserialize_deprecated.h>
#include <sol/poseidon.h>

template <typename T>
static T *allocated(uint64_t count) {
    T *items = static_cast<T *>(sol_calloc(count, sizeof(T)));
    sol_assert(items != NULL && (uint64_t)items % sizeof(T) == 0);
    return items;
}

struct Input {
    uint8_t bytes[256];
    uint64_t length = 0;

    void put(uint64_t value, int size) {
        for (int i = 0; i < size; i++) bytes[length++] = (uint8_t)(value >> 8 * i);
    }

    void put_key(uint8_t byte) {
        for (int i = 0; i < SIZE_PUBKEY; i++) put(byte, 1);
    }
};

// Three accounts, of which the last one is the first one again, and the second one has three bytes.
static void is_deserialized() {
    Input input;
    SolAccountInfo accounts[3];
    SolParameters params = {};
    params.ka = accounts;
    input.put(3, 8);
    for (uint8_t index = 0; index < 2; index++) {
        input.put(255, 1);
        input.put(index, 1);
        input.put(1, 1);
        input.put_key(10 + index);
        input.put(1000 + index, 8);
        input.put(3 * index, 8);
        input.put(0x030201, 3 * index);
        input.put_key(20);
        input.put(0, 1);
        input.put(77, 8);
    }
    input.put(0, 1);
    input.put(2, 8);
    input.put(0x0605, 2);
    input.put_key(30);
    sol_assert(sol_deserialize_deprecated(input.bytes, &params, SOL_ARRAY_SIZE(accounts)));
    sol_assert(params.ka_num == 3 && params.data_len == 2 && params.data[1] == 6);
    sol_assert(params.program_id->x[31] == 30);
    sol_assert(accounts[1].is_signer && accounts[1].is_writable && !accounts[0].is_signer);
    sol_assert(*accounts[1].lamports == 1001 && accounts[1].data_len == 3);
    sol_assert(accounts[1].data[2] == 3 && accounts[1].owner->x[0] == 20);
    sol_assert(accounts[2].key == accounts[0].key && accounts[2].rent_epoch == 77);
    // Those beyond are passed over.
    sol_assert(sol_deserialize_deprecated(input.bytes, &params, 1) && params.program_id->x[0] == 30);
}

extern uint64_t entrypoint(const uint8_t *input) {
    is_deserialized();
    sol_assert(sol_calloc(1, UINT64_MAX) == NULL && sol_calloc(UINT64_MAX, 1) == NULL);
    allocated<uint8_t>(1);
    allocated<uint64_t>(1);
    // After 16 bytes of the top, 31 KiB of bytes and the position, this many are left.
    allocated<uint8_t>(31 * 1024);
    for (int i = 0; i < 1024 - 16 - 8; i++) allocated<uint8_t>(1);
    sol_assert(sol_calloc(1, 1) == NULL);
    uint8_t number[POSEIDON_RESULT_LENGTH] = {1}, hash[POSEIDON_RESULT_LENGTH];
    SolBytes numbers[] = {{number, sizeof number}};
    return sol_poseidon(POSEIDON_PARAMETERS_BN254_X5, POSEIDON_ENDIANNESS_LITTLE_ENDIAN, numbers,
                        SOL_ARRAY_SIZE(numbers), hash);
}
