#include "ledger.h"

bool amount_part(const Amount *amount, uint64_t points, Amount *part) {
    /* In two halves, so that the product fits into 64 bits. */
    uint64_t high = amount->units / 10000 * points, rest = amount->units % 10000 * points;
    *part = (Amount){ .units = high + rest / 10000, .scale = amount->scale };
    return rest % 10000 != 0;
}
