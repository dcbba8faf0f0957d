//! Where a program's file is among the accounts, and since when.

use std::borrow::Cow;

use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::chain::account::{AccountStore, Loader};

/// Bytes in front of the program in a program data account of loader v3.
pub const PROGRAM_DATA_HEADER_BYTES: usize = 45;
/// Bytes in front of the program in a program account of loader v4.
pub const LOADER_V4_HEADER_BYTES: usize = 48;

/// How many slots pass until what was deployed can be called (agave:
/// `DELAY_VISIBILITY_SLOT_OFFSET`).
pub const VISIBILITY_DELAY: u64 = 1;

/// Where a program's file is.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    pub(super) loader: Loader,
    /// The account that holds the file, whose data are shared.
    pub(super) account: Cow<'a, AccountSharedData>,
    /// The slot that the program was deployed in; 0 where accounts do not tell.
    pub(super) deployed: u64,
}

/// The account that holds a program's file, if one was ever deployed there.
#[derive(Debug)]
pub(crate) struct Holder<'a> {
    pub(super) loader: Loader,
    pub(super) account: Cow<'a, AccountSharedData>,
}

impl<'a> Holder<'a> {
    /// The one of a program at an account; `None` if no loader owns it, or if it points nowhere.
    pub(crate) fn find(
        account: &'a AccountSharedData,
        accounts: &impl AccountStore,
    ) -> Option<Self> {
        let loader = Loader::of(account.owner())?;
        let account = match loader {
            Loader::V1 | Loader::V2 | Loader::V4 => Cow::Borrowed(account),
            Loader::V3 => Cow::Owned(accounts.account(&program_data_address(account.data())?)?),
        };
        Some(Self { loader, account })
    }

    /// The same, to be kept.
    pub(crate) fn into_owned(self) -> Holder<'static> {
        Holder { loader: self.loader, account: Cow::Owned(self.account.into_owned()) }
    }

    /// Whether [`Holder::find`] would find the same for a program's account.
    pub(crate) fn is_still_of(
        &self,
        account: &AccountSharedData,
        accounts: &impl AccountStore,
    ) -> bool {
        let is_it = |found: &AccountSharedData| {
            core::ptr::eq(found.data(), self.account.data())
                && found.owner() == self.account.owner()
        };
        Loader::of(account.owner()) == Some(self.loader)
            && match self.loader {
                Loader::V1 | Loader::V2 | Loader::V4 => is_it(account),
                Loader::V3 => program_data_address(account.data()).is_some_and(|address| {
                    accounts.with_account(&address, |found| found.is_some_and(is_it))
                }),
            }
    }

    /// Looks at what the account says; `None` if no program was ever deployed there, or if it was
    /// closed.
    pub(super) fn read(self) -> Option<Source<'a>> {
        let Self { loader, account } = self;
        let data = account.data();
        let deployed = match loader {
            Loader::V1 | Loader::V2 => (!data.is_empty()).then_some(0)?,
            Loader::V3 => program_data_slot(&account)?,
            Loader::V4 => {
                const RETRACTED: u64 = 0;
                let number = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
                let (deployed, status) = (number(0)?, number(40)?);
                (status != RETRACTED).then_some(deployed)?
            }
        };
        Some(Source { loader, account, deployed })
    }
}

impl<'a> Source<'a> {
    /// The file of the program at an account that a loader owns; `None` if none was ever deployed
    /// there, or if it was closed.
    pub(super) fn find(
        account: &'a AccountSharedData,
        accounts: &impl AccountStore,
    ) -> Option<Self> {
        Holder::find(account, accounts)?.read()
    }

    /// Whether this is what [`Holder::read`] would find: the data are in the same place, and belong
    /// to the same loader. They are not looked at.
    pub(super) fn is_of(&self, holder: &Holder<'_>) -> bool {
        self.loader == holder.loader
            && self.is_shared_with(&holder.account)
            && self.account.owner() == holder.account.owner()
    }

    /// The same, to be kept.
    pub(super) fn into_owned(self) -> Source<'static> {
        let Self { loader, account, deployed } = self;
        Source { loader, account: Cow::Owned(account.into_owned()), deployed }
    }

    /// The file.
    pub(super) fn file(&self) -> &[u8] {
        file(&self.account, self.loader)
    }

    /// Whether an account holds the same file. Data that are shared are compared by where they
    /// are, others by what they are.
    pub(super) fn is_same_file(&self, other: &AccountSharedData) -> bool {
        self.is_shared_with(other) || self.file() == file(other, self.loader)
    }

    pub(super) fn is_shared_with(&self, other: &AccountSharedData) -> bool {
        core::ptr::eq(self.account.data(), other.data())
    }

    /// Whether the program cannot be called yet.
    pub(super) fn is_delayed(&self, slot: u64) -> bool {
        // Accounts of the old loaders do not say when.
        let says_when = matches!(self.loader, Loader::V3 | Loader::V4);
        says_when && self.deployed.saturating_add(VISIBILITY_DELAY) > slot
    }
}

/// An account that holds the file of a program. Its data are shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramFile {
    loader: Loader,
    account: AccountSharedData,
}

impl ProgramFile {
    /// The file of the program at an account; `None` if none was ever deployed there, or if it was
    /// closed.
    #[must_use]
    pub fn find(account: &AccountSharedData, accounts: &impl AccountStore) -> Option<Self> {
        let Source { loader, account, .. } = Source::find(account, accounts)?;
        Some(Self { loader, account: account.into_owned() })
    }

    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        file(&self.account, self.loader)
    }
}

/// The file in the account of a program, or in that of its data.
pub(super) fn file(account: &AccountSharedData, loader: Loader) -> &[u8] {
    let header = match loader {
        Loader::V1 | Loader::V2 => 0,
        Loader::V3 => PROGRAM_DATA_HEADER_BYTES,
        Loader::V4 => LOADER_V4_HEADER_BYTES,
    };
    account.data().get(header..).unwrap_or_default()
}

/// The address of the program data account that a program account of loader v3 points to.
#[must_use]
pub fn program_data_address(program: &[u8]) -> Option<Pubkey> {
    const PROGRAM: u32 = 2;
    let tag = u32::from_le_bytes(*program.first_chunk()?);
    let address = program.get(4..)?.first_chunk::<32>()?;
    (tag == PROGRAM).then(|| Pubkey::new_from_array(*address))
}

/// The slot that a program data account of loader v3 says it was deployed in.
#[must_use]
pub fn program_data_slot(account: &AccountSharedData) -> Option<u64> {
    const PROGRAM_DATA: u32 = 3;
    let data = account.data();
    let tag = u32::from_le_bytes(*data.first_chunk()?);
    let slot = u64::from_le_bytes(*data.get(4..)?.first_chunk()?);
    let authority = *data.get(12)?;
    let is_whole = authority == 0 || authority == 1 && data.len() >= PROGRAM_DATA_HEADER_BYTES;
    let is_loaders = Loader::of(account.owner()) == Some(Loader::V3);
    (tag == PROGRAM_DATA && is_whole && is_loaders).then_some(slot)
}
