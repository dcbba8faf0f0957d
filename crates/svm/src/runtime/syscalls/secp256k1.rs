//! Recovery of secp256k1 public keys from signatures.

use selkie_crypto::secp256k1::recover;
use selkie_vm::SyscallError as Error;

use super::Call;

const KEY_BYTES: u64 = 64;

/// `sol_secp256k1_recover`. The output is checked before the inputs. If an input is invalid, r0 is the
/// number of the error.
pub(super) fn recover_key(
    call: &mut Call<'_, '_, '_>,
    [hash, recovery_id, signature, out, ..]: [u64; 5],
) -> Result<u64, Error> {
    call.memory.check_output(call.context, out, KEY_BYTES)?;
    let (hash, signature) = (call.memory.array(hash)?, call.memory.array(signature)?);
    match recover(&hash, recovery_id, &signature) {
        Ok(key) => call.write_result(out, Some(&key)),
        Err(error) => Ok(error as u64),
    }
}
