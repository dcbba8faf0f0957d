//! Accounts, and which loader runs the programs among them.

use solana_account::ReadableAccount;
pub use solana_account::{Account, AccountSharedData};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, loader_v4};

use crate::chain::key_map::KeyMap;

/// How a loader lays out the input region of its programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Abi {
    /// Loaders v2 to v4: numbers are 8-byte aligned, and account data may grow by 10 KiB.
    Aligned,
    /// Loader v1: packed, and account data cannot grow.
    Unaligned,
}

/// The owners of program accounts. Which one it is decides how a program gets its input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Loader {
    /// `BPFLoader1111111111111111111111111111111111`, deprecated: input is not aligned, and
    /// pointers need not be.
    V1,
    /// `BPFLoader2111111111111111111111111111111111`: programs cannot be upgraded.
    V2,
    /// `BPFLoaderUpgradeab1e11111111111111111111111`: what is deployed today.
    #[default]
    V3,
    /// `LoaderV411111111111111111111111111111111111`.
    V4,
}

impl Loader {
    /// Every loader.
    pub const ALL: [Self; 4] = [Self::V1, Self::V2, Self::V3, Self::V4];

    /// The loader's address: the owner of its program accounts.
    #[must_use]
    pub fn address(self) -> Pubkey {
        match self {
            Self::V1 => bpf_loader_deprecated::ID,
            Self::V2 => bpf_loader::ID,
            Self::V3 => bpf_loader_upgradeable::ID,
            Self::V4 => loader_v4::ID,
        }
    }

    /// The loader of a program account with this owner.
    #[inline]
    #[must_use]
    pub fn of(owner: &Pubkey) -> Option<Self> {
        /// Addresses that are worth a closer look: most owners are no loaders.
        const FIRST: [[u8; 8]; 4] = [
            first_bytes(&bpf_loader_deprecated::ID),
            first_bytes(&bpf_loader::ID),
            first_bytes(&bpf_loader_upgradeable::ID),
            first_bytes(&loader_v4::ID),
        ];
        let first = first_bytes(owner);
        let place = FIRST.iter().position(|known| *known == first)?;
        Self::ALL.get(place).copied().filter(|loader| loader.address() == *owner)
    }

    /// How the input of its programs is laid out.
    #[must_use]
    pub fn abi(self) -> Abi {
        if self == Self::V1 { Abi::Unaligned } else { Abi::Aligned }
    }

    /// Whether syscalls insist on aligned pointers from its programs.
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

/// Whether two addresses are the same. Most that are compared are not, and differ in their first
/// bytes, which are compared without a call.
#[inline]
pub(crate) fn is_same(left: &Pubkey, right: &Pubkey) -> bool {
    let (left, right) = (left.as_array(), right.as_array());
    left.first_chunk::<8>() == right.first_chunk::<8>() && left == right
}

/// Where accounts are kept.
pub trait AccountStore {
    /// The account at an address; `None` if there is none, or none with lamports.
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData>;

    /// Shows the account at an address, so that it need not be moved; `None` as for
    /// [`AccountStore::account`]. Stores that have it in their memory show it there.
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
        self.with_account(key, |found| found.cloned())
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
