//! Signatures of Ed25519.

use super::{Datas, Error, Offsets};
use crate::ed25519::Key;

/// Verifies every signature.
///
/// # Errors
/// For each signature in turn: where the signature is, its topmost bits, where the key is, the key,
/// where the message is, and then the signature itself.
pub fn verify(data: &[u8], all: &[&[u8]]) -> Result<(), Error> {
    let &[count, _, ref rest @ ..] = data else { return Err(Error::InvalidInstructionDataSize) };
    if count == 0 && !rest.is_empty() {
        return Err(Error::InvalidInstructionDataSize);
    }
    let datas = Datas { this: data, all };
    for offsets in Offsets::read(data, count)? {
        let signature = datas.array::<64>(offsets.signature)?;
        // No reduced s has them. An s that is too great without them is refused last.
        if signature[63] & 0xe0 != 0 {
            return Err(Error::InvalidSignature);
        }
        let key = Key::unpack(datas.array(offsets.public_key)?).ok_or(Error::InvalidPublicKey)?;
        let message = datas.slice(offsets.message, offsets.message_len.into())?;
        if !key.verify(signature, message) {
            return Err(Error::InvalidSignature);
        }
    }
    Ok(())
}
