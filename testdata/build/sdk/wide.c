/* Integers of 128 bits. The expected values are those of Python. */
#include <selkie.h>
extern uint64_t entrypoint(const uint8_t *input) {
  uint64_t x = *(uint64_t *)input;
  sol_wide a = ((sol_wide)(x + 12345678901234567ull) << 40) + 9, b = (sol_wide)(x + 98765432109876543ull) << 3;
  sol_wide p = sol_wide_multiply(a, b), q = sol_wide_shift_left(p, x + 77), r = sol_wide_shift_right(p, x + 13);
  sol_log_64_(p >> 64, p, q >> 64, r >> 64, r);
  sol_wide rest, most, quotient = sol_wide_divide(p, a + 1, &rest), one = sol_wide_divide(~(sol_wide)0, ((sol_wide)1 << 127) + 3, &most);
  sol_log_64_(quotient, rest >> 64, rest, one, most >> 64);
  sol_log_64_(most, sol_wide_divide(x + 1000, 7, &rest), rest, 0, 0);
  return 0;
}
