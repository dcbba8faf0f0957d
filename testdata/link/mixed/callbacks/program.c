#include "../case.h"

typedef u64 function(u64);
u64 apply(function *, u64);
u64 add_three(u64);
function *pick(u64);

u64 double_it(u64 x) { return 2 * x; }

u64 entrypoint(const u8 *input) {
    sol_log_64_(apply(add_three, 1), apply(double_it, 3), apply(pick(0), 10), pick(1)(21), 0);
    return 0;
}
