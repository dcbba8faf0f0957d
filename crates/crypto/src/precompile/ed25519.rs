//! The ed25519 precompile.

use super::{Error, InstructionData, Offsets};
use crate::ed25519::{Signed, Verifier};

/// Verifies all signatures.
///
/// # Errors
/// The first failed check. The checks of each signature in turn are: location and topmost bits of
/// the signature, location and validity of the key, location of the message, the signature itself.
pub fn verify(data: &[u8], all: &[&[u8]]) -> Result<(), Error> {
    let &[count, _, ref rest @ ..] = data else { return Err(Error::InvalidInstructionDataSize) };
    if count == 0 && !rest.is_empty() {
        return Err(Error::InvalidInstructionDataSize);
    }
    let instructions = InstructionData { this: data, all };
    let verifier = Verifier::of_process();
    let mut signatures = Vec::with_capacity(count.into());
    let mut end = Ok(());
    for offsets in Offsets::read(data, count)? {
        match locate(verifier, instructions, &offsets) {
            Ok(signature) => signatures.push(Some(signature)),
            Err(error) => {
                end = Err(error);
                break;
            }
        }
    }
    // The signatures before the error come first.
    if verifier.verify_each_by(&signatures).contains(&false) {
        return Err(Error::InvalidSignature);
    }
    end
}

/// Returns a signature with its key and message.
fn locate<'a>(
    verifier: &Verifier,
    instructions: InstructionData<'a>,
    offsets: &Offsets,
) -> Result<Signed<'a>, Error> {
    let signature = instructions.array::<64>(offsets.signature)?;
    // A reduced s has none of these bits. An unreduced s without them is not valid either.
    if signature[63] & 0xe0 != 0 {
        return Err(Error::InvalidSignature);
    }
    let key =
        verifier.key(instructions.array(offsets.public_key)?).ok_or(Error::InvalidPublicKey)?;
    let message = instructions.slice(offsets.message, offsets.message_len.into())?;
    Ok(Signed { key, signature, message })
}
