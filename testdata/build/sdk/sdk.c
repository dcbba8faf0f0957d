/* Names of Solana's C SDK, as programs use them. */
#include <sol/types.h>
#include <solana_sdk.h>
static SolPubkey WANTED = {.x = {1, 2, 3}};
extern uint64_t entrypoint(const uint8_t *input) {
  SolAccountInfo accounts[2];
  SolParameters params = (SolParameters){.ka = accounts};
  sol_log(__FILE__);
  if (!sol_deserialize(input, &params, SOL_ARRAY_SIZE(accounts))) return ERROR_INVALID_ARGUMENT;
  sol_log_params(&params);
  uint8_t result[SHA256_RESULT_LENGTH];
  const char text[] = "abc";
  const SolBytes bytes[] = {{(const uint8_t *)text, SOL_ARRAY_SIZE(text) - 1}};
  sol_sha256(bytes, SOL_ARRAY_SIZE(bytes), result);
  sol_log_array(result, 2);
  sol_assert(!SolPubkey_same(&WANTED, params.program_id));
  uint8_t *heap = sol_calloc(4, 2);
  sol_assert(heap != NULL);
  sol_memset(heap, 7, 8);
  sol_assert(0 == sol_memcmp(heap, heap + 4, 4));
  sol_set_return_data(heap, 8);
  sol_log_compute_units();
  sol_free(heap);
  return SUCCESS;
}
