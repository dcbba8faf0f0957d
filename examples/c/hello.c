/* Logs a line.
 *
 *     clang -target bpf -mcpu=v2 -O2 -ffreestanding -I include -c examples/c/hello.c -o hello.o
 *     selkie link hello.o -o hello.so
 *     selkie run hello.so
 */
#include "selkie.h"

uint64_t entrypoint(const uint8_t *input) {
    (void)input;
    sol_log("Hello, Solana!");
    return SOL_SUCCESS;
}
