/* Fails in the way that the first byte of the data names, in the line with that comment. */
#include <selkie.h>

#define REFUSED 7

static uint64_t check(uint64_t amount) {
    if (amount != 0) return REFUSED;
    return 0;
}

uint64_t entrypoint(const uint8_t *bytes) { /* ok */
    sol_account accounts[3];
    sol_input input = {.accounts = accounts, .account_count = 3};
    if (!sol_read_input(bytes, &input)) return SOL_INVALID_ARGUMENT;
    switch (input.data[0]) {
    case 1:
        return *(volatile uint64_t *)7; /* trap */
    case 2: {
        sol_account_meta metas[2] = {{accounts[1].key, true, true}, {accounts[0].key, true, false}};
        uint8_t data[12] = {2, 0, 0, 0, 1};
        sol_instruction transfer = {accounts[2].key, metas, 2, data, sizeof(data)};
        return sol_invoke(&transfer, accounts, 3); /* cpi */
    }
    case 3:
        /* Optimised code keeps no line of what is inlined, but that of the call. */
        return check(accounts[0].data_length); /* error */
    case 4:
        sol_assert(accounts[0].data_length == 1); /* panic */
    }
    return 0;
}
