//! [`AccountBytes`]: a part of an account, and where a program sees it.

use core::ops::Range;

use selkie::{
    AccountSharedData, Pubkey, ReadableAccount as _,
    runtime::input::{AccountLayout, vaddr},
};

/// A part of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The lamports.
    Lamports,
    /// The owner.
    Owner,
    /// The length of the data.
    DataLen,
    /// The data.
    Data,
}

impl Part {
    pub(crate) const ALL: [Self; 4] = [Self::Lamports, Self::Owner, Self::DataLen, Self::Data];

    /// Returns what it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lamports => "lamports",
            Self::Owner => "owner",
            Self::DataLen => "data length",
            Self::Data => "data",
        }
    }

    /// Returns where a program sees it.
    pub(crate) fn addresses(self, at: &AccountLayout) -> Range<u64> {
        let (offset, len) = match self {
            Self::Lamports => (at.lamports, 8),
            Self::Owner => (at.owner, 32),
            Self::DataLen => (at.data_len, 8),
            Self::Data => (at.data, at.data_capacity),
        };
        let start = vaddr(offset);
        start..start.saturating_add(len as u64)
    }

    /// Returns its bytes, as a program sees them.
    pub(crate) fn bytes(self, account: &AccountSharedData) -> Vec<u8> {
        match self {
            Self::Lamports => account.lamports().to_le_bytes().to_vec(),
            Self::Owner => account.owner().to_bytes().to_vec(),
            Self::DataLen => (account.data().len() as u64).to_le_bytes().to_vec(),
            Self::Data => account.data().to_vec(),
        }
    }
}

/// Some bytes of an account of the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccountBytes {
    /// The account's address.
    pub account: Pubkey,
    /// The part of it.
    pub part: Part,
    /// The offset of the first byte in the part.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}
