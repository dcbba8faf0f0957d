/* Logs a line.
 *
 *     selkie build examples/c/hello.c -o hello.so
 *     selkie run hello.so
 */
#include "selkie.h"

uint64_t entrypoint(const uint8_t *input) {
    (void)input;
    sol_log("Hello, Solana!");
    return SOL_SUCCESS;
}
