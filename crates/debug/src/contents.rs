//! Where the bytes of a value are.

/// Where the bytes of a value are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contents {
    /// At a guest address.
    Memory(u64),
    /// In registers or constants. Bytes that were optimised out are `None`.
    Bytes(Vec<Option<u8>>),
    /// Nowhere at this instruction: the value was optimised out.
    Absent,
    /// On the stack, at a place that debug information states wrongly and the code does not tell.
    Misplaced,
}

impl Contents {
    /// Returns a number's bytes.
    #[must_use]
    pub fn number(value: u128, size: usize) -> Self {
        Self::Bytes(value.to_le_bytes().into_iter().take(size).map(Some).collect())
    }

    /// Returns a part of the bytes.
    pub(crate) fn part(&self, offset: u64, len: u64) -> Self {
        match self {
            Self::Memory(address) => Self::Memory(address.wrapping_add(offset)),
            Self::Bytes(bytes) => {
                let index = |it: u64| usize::try_from(it).unwrap_or(usize::MAX).min(bytes.len());
                let range = index(offset)..index(offset.saturating_add(len));
                Self::Bytes(bytes[range].to_vec())
            }
            Self::Absent => Self::Absent,
            Self::Misplaced => Self::Misplaced,
        }
    }
}
