//! Accounts, the loaders that own program accounts, and the trait of account stores.

use selkie_layout::loader::{PROGRAM_DATA_HEADER_BYTES, PROGRAM_V4};
use solana_account::ReadableAccount;
pub use solana_account::{Account, AccountSharedData};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, loader_v4};

use crate::chain::key_map::KeyMap;

/// The layout of the input region of a loader's programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Abi {
    /// Loaders v2 to v4: numbers are 8-byte aligned, and account data may grow by 10 KiB.
    Aligned,
    /// Loader v1: packed, and account data cannot grow.
    Unaligned,
}

/// A loader: the owner of program accounts. It decides the layout of its programs' input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Loader {
    /// `BPFLoader1111111111111111111111111111111111`, deprecated: neither input nor pointers need to
    /// be aligned.
    V1,
    /// `BPFLoader2111111111111111111111111111111111`: programs cannot be upgraded.
    V2,
    /// `BPFLoaderUpgradeab1e11111111111111111111111`: the loader of programs that are deployed today.
    #[default]
    V3,
    /// `LoaderV411111111111111111111111111111111111`.
    V4,
}

impl Loader {
    /// Every loader.
    pub const ALL: [Self; 4] = [Self::V1, Self::V2, Self::V3, Self::V4];

    /// Returns the loader's address: the owner of its program accounts.
    #[must_use]
    pub fn address(self) -> Pubkey {
        match self {
            Self::V1 => bpf_loader_deprecated::ID,
            Self::V2 => bpf_loader::ID,
            Self::V3 => bpf_loader_upgradeable::ID,
            Self::V4 => loader_v4::ID,
        }
    }

    /// Returns how many bytes precede the file in the account that holds it.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::V1 | Self::V2 => 0,
            Self::V3 => PROGRAM_DATA_HEADER_BYTES,
            Self::V4 => PROGRAM_V4.bytes,
        }
    }

    /// Returns the loader with this address, if there is one.
    #[inline]
    #[must_use]
    pub fn of(owner: &Pubkey) -> Option<Self> {
        /// The first bytes of each address, compared first: most owners are not loaders.
        const FIRST: [[u8; 8]; 4] = [
            first_bytes(&bpf_loader_deprecated::ID),
            first_bytes(&bpf_loader::ID),
            first_bytes(&bpf_loader_upgradeable::ID),
            first_bytes(&loader_v4::ID),
        ];
        let first = first_bytes(owner);
        let index = FIRST.iter().position(|known| *known == first)?;
        Self::ALL.get(index).copied().filter(|loader| loader.address() == *owner)
    }

    /// Returns the layout of its programs' input.
    #[must_use]
    pub fn abi(self) -> Abi {
        if self == Self::V1 { Abi::Unaligned } else { Abi::Aligned }
    }

    /// Returns whether syscalls require aligned pointers from its programs.
    #[must_use]
    pub fn checks_alignment(self) -> bool {
        self != Self::V1
    }
}

const fn first_bytes(key: &Pubkey) -> [u8; 8] {
    match key.as_array().first_chunk() {
        Some(bytes) => *bytes,
        None => [0; 8],
    }
}

/// Returns whether two addresses are equal. Most addresses that are compared differ in their first
/// bytes, whose comparison needs no call of `memcmp`.
#[inline]
pub(crate) fn is_same(left: &Pubkey, right: &Pubkey) -> bool {
    let (left, right) = (left.as_array(), right.as_array());
    left.first_chunk::<8>() == right.first_chunk::<8>() && left == right
}

/// A source of accounts by address.
pub trait AccountStore {
    /// Returns the account at an address; `None` if there is none or it has no lamports.
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData>;

    /// Runs `then` with the account at an address; `None` as for [`AccountStore::account`]. Stores that
    /// hold accounts in memory override this to pass the account without cloning it.
    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        then(self.account(key).as_ref())
    }
}

impl<S: AccountStore + ?Sized> AccountStore for &S {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        (**self).account(key)
    }

    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        (**self).with_account(key, then)
    }
}

impl AccountStore for KeyMap<AccountSharedData> {
    #[inline]
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.with_account(key, |account| account.cloned())
    }

    #[inline]
    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        then(self.get(key).filter(|account| account.lamports() > 0))
    }
}

impl AccountStore for std::collections::BTreeMap<Pubkey, AccountSharedData> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.get(key).filter(|account| account.lamports() > 0).cloned()
    }
}
