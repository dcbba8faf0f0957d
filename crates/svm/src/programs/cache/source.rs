//! The accounts that hold program files, and the slots of deployments.

use std::borrow::Cow;

pub use selkie_layout::loader::PROGRAM_DATA_HEADER_BYTES;
use selkie_layout::loader::State;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::chain::account::{AccountStore, Loader};

/// The number of slots from a deployment until the program can be invoked (agave:
/// `DELAY_VISIBILITY_SLOT_OFFSET`).
pub const VISIBILITY_DELAY: u64 = 1;

/// The account that holds a deployed program's file, and the slot of the deployment.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    pub(super) loader: Loader,
    /// The account that holds the file. Its data are shared, not copied.
    pub(super) account: Cow<'a, AccountSharedData>,
    /// The slot of the deployment; 0 for loaders whose accounts do not record it.
    pub(super) deployed: u64,
}

/// The account that holds a program's file, if a program is deployed.
#[derive(Debug)]
pub(crate) struct Holder<'a> {
    pub(super) loader: Loader,
    pub(super) account: Cow<'a, AccountSharedData>,
}

impl<'a> Holder<'a> {
    /// Returns the holder for a program account: itself, or the programdata account of loader v3. `None`
    /// if no loader owns the account, or the programdata account does not exist.
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

    /// Returns the same with an owned account.
    pub(crate) fn into_owned(self) -> Holder<'static> {
        Holder { loader: self.loader, account: Cow::Owned(self.account.into_owned()) }
    }

    /// Returns whether [`Holder::find`] would find the same for a program account.
    pub(crate) fn is_still_of(
        &self,
        account: &AccountSharedData,
        accounts: &impl AccountStore,
    ) -> bool {
        let is_it = |account: &AccountSharedData| {
            core::ptr::eq(account.data(), self.account.data())
                && account.owner() == self.account.owner()
        };
        Loader::of(account.owner()) == Some(self.loader)
            && match self.loader {
                Loader::V1 | Loader::V2 | Loader::V4 => is_it(account),
                Loader::V3 => program_data_address(account.data()).is_some_and(|address| {
                    accounts.with_account(&address, |account| account.is_some_and(is_it))
                }),
            }
    }

    /// Reads the account's header; `None` if no program was deployed, or it was closed.
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
    /// Returns the source of a program account; `None` if no program was deployed, or it was closed.
    pub(super) fn find(
        account: &'a AccountSharedData,
        accounts: &impl AccountStore,
    ) -> Option<Self> {
        Holder::find(account, accounts)?.read()
    }

    /// Returns whether [`Holder::read`] would return the same: the data have the same host address and
    /// belong to the same loader. Does not read the data.
    pub(super) fn is_of(&self, holder: &Holder<'_>) -> bool {
        self.loader == holder.loader
            && self.is_shared_with(&holder.account)
            && self.account.owner() == holder.account.owner()
    }

    /// Returns the same with an owned account.
    pub(super) fn into_owned(self) -> Source<'static> {
        let Self { loader, account, deployed } = self;
        Source { loader, account: Cow::Owned(account.into_owned()), deployed }
    }

    /// Returns the bytes of the file.
    pub(super) fn file(&self) -> &[u8] {
        file(&self.account, self.loader)
    }

    /// Returns whether an account holds the same file. Shared data are compared by their host address,
    /// others by content.
    pub(super) fn is_same_file(&self, other: &AccountSharedData) -> bool {
        self.is_shared_with(other) || self.file() == file(other, self.loader)
    }

    pub(super) fn is_shared_with(&self, other: &AccountSharedData) -> bool {
        core::ptr::eq(self.account.data(), other.data())
    }

    /// Returns whether the program cannot be invoked yet in a slot.
    pub(super) fn is_delayed(&self, slot: u64) -> bool {
        self.effective() > slot
    }

    /// Returns the first slot in which the program can be invoked. A program of slot 0 is part of the
    /// genesis, which processes no deployments: it can be invoked at every clock.
    pub(super) fn effective(&self) -> u64 {
        match self.loader {
            // Their accounts do not record the slot of the deployment.
            Loader::V1 | Loader::V2 => self.deployed,
            Loader::V3 | Loader::V4 if self.deployed == 0 => 0,
            Loader::V3 | Loader::V4 => self.deployed.saturating_add(VISIBILITY_DELAY),
        }
    }
}

/// An account that holds the file of a program. Its data are shared, not copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramFile {
    loader: Loader,
    account: AccountSharedData,
}

impl ProgramFile {
    /// Returns the file of a program account; `None` if no program was deployed, or it was closed.
    #[must_use]
    pub fn find(account: &AccountSharedData, accounts: &impl AccountStore) -> Option<Self> {
        let Source { loader, account, .. } = Source::find(account, accounts)?;
        Some(Self { loader, account: account.into_owned() })
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        file(&self.account, self.loader)
    }
}

/// Returns the file in a program or programdata account.
pub(super) fn file(account: &AccountSharedData, loader: Loader) -> &[u8] {
    account.data().get(loader.header_bytes()..).unwrap_or_default()
}

/// Returns the address of the programdata account that the data of a program account of loader v3 refer
/// to.
#[must_use]
pub fn program_data_address(program: &[u8]) -> Option<Pubkey> {
    let State::Program { program_data } = State::of_data(program)? else { return None };
    Some(program_data)
}

/// Returns the slot of the deployment that a programdata account of loader v3 records.
#[must_use]
pub fn program_data_slot(account: &AccountSharedData) -> Option<u64> {
    let State::ProgramData { slot, .. } = State::of_data(account.data())? else { return None };
    (Loader::of(account.owner()) == Some(Loader::V3)).then_some(slot)
}
