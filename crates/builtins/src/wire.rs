//! Instructions and states as bytes: bincode's fixed-width little-endian form, read field by field.
//!
//! Nothing is allocated that is not there: lengths are compared with what is left first.

use selkie_svm::{BorrowedAccount, InstructionError, Pubkey};

/// How much of an instruction's data is looked at: the size of a packet.
const INSTRUCTION_BYTES_MAX: usize = 1232;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

type Result<T> = core::result::Result<T, Malformed>;

/// Reads fields, front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads all of the bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads an instruction's data as far as builtin programs do. What follows the last field is
    /// not looked at.
    pub(crate) fn instruction(data: &'a [u8]) -> Self {
        Self(data.get(..INSTRUCTION_BYTES_MAX).unwrap_or(data))
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn pubkey(&mut self) -> Result<Pubkey> {
        self.array().map(Pubkey::new_from_array)
    }

    pub(crate) fn option<T>(
        &mut self,
        some: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.array()? {
            [0] => Ok(None),
            [1] => some(self).map(Some),
            _ => Err(Malformed),
        }
    }

    /// A length, and as many bytes.
    pub(crate) fn counted(&mut self) -> Result<&'a [u8]> {
        let len = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        self.bytes(len)
    }

    pub(crate) fn string(&mut self) -> Result<&'a str> {
        str::from_utf8(self.counted()?).map_err(|_| Malformed)
    }
}

/// Writes a state to the front of an account's data; what lies behind stays.
///
/// # Errors
/// If the data may not be changed, or are too short.
pub(crate) fn store(
    account: &mut BorrowedAccount<'_>,
    state: &[u8],
) -> core::result::Result<(), InstructionError> {
    let place = account.data_mut()?.get_mut(..state.len());
    place.ok_or(InstructionError::AccountDataTooSmall)?.copy_from_slice(state);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_where_the_bytes_do() {
        let bytes = [2, 0, 0, 0, 0, 0, 0, 0, b'h', b'i', 1];
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.string(), Ok("hi"));
        assert_eq!(reader.option(Reader::u32), Err(Malformed));
        assert_eq!(Reader::new(&bytes[..9]).counted(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff; 16]).counted(), Err(Malformed));
        assert_eq!(Reader::new(&[2]).option(Reader::u64), Err(Malformed));
        assert_eq!(Reader::new(&[0]).option(Reader::u64), Ok(None));
    }

    #[test]
    fn instructions_are_read_as_far_as_a_packet_reaches() {
        let bytes = [0; 2000];
        assert!(Reader::instruction(&bytes).bytes(1232).is_ok());
        assert!(Reader::instruction(&bytes).bytes(1233).is_err());
    }
}
