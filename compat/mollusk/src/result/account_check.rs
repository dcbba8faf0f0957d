//! Checks of accounts.

use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;

use crate::result::{
    Config,
    config::{equal, fail, given},
};

/// Builds the check of an account.
#[derive(Clone, Debug)]
pub struct AccountCheckBuilder<'a> {
    pub(super) key: Pubkey,
    pub(super) expected: AccountExpected<'a>,
}

#[derive(Clone, Debug)]
pub(super) struct AccountExpected<'a> {
    is_closed: bool,
    is_rent_exempt: bool,
    data: Option<&'a [u8]>,
    data_slice: Option<(usize, &'a [u8])>,
    executable: Option<bool>,
    lamports: Option<u64>,
    owner: Option<&'a Pubkey>,
    space: Option<usize>,
}

impl AccountExpected<'_> {
    pub(super) const fn nothing() -> Self {
        Self {
            is_closed: false,
            is_rent_exempt: false,
            data: None,
            data_slice: None,
            executable: None,
            lamports: None,
            owner: None,
            space: None,
        }
    }
}

impl<'a> AccountCheckBuilder<'a> {
    /// Expects that it is closed: no lamports, no data, owned by the system program.
    #[must_use]
    pub const fn closed(mut self) -> Self {
        self.expected.is_closed = true;
        self.expected.is_rent_exempt = false;
        self
    }

    /// Expects that it is not below its minimum balance. Up to Mollusk 0.15, of this and [`Self::closed`] the
    /// last one counts.
    #[cfg(feature = "until-0-15")]
    #[must_use]
    pub const fn rent_exempt(mut self) -> Self {
        self.expected.is_closed = false;
        self.expected.is_rent_exempt = true;
        self
    }

    /// Expects these data.
    #[must_use]
    pub const fn data(mut self, data: &'a [u8]) -> Self {
        self.expected.data = Some(data);
        self
    }

    /// Expects this executable flag.
    #[must_use]
    pub const fn executable(mut self, executable: bool) -> Self {
        self.expected.executable = Some(executable);
        self
    }

    /// Expects this balance.
    #[must_use]
    pub const fn lamports(mut self, lamports: u64) -> Self {
        self.expected.lamports = Some(lamports);
        self
    }

    /// Expects this owner.
    #[must_use]
    pub const fn owner(mut self, owner: &'a Pubkey) -> Self {
        self.expected.owner = Some(owner);
        self
    }

    /// Expects data of this length.
    #[must_use]
    pub const fn space(mut self, space: usize) -> Self {
        self.expected.space = Some(space);
        self
    }

    /// Expects these bytes at an offset of the data.
    #[must_use]
    pub const fn data_slice(mut self, offset: usize, data: &'a [u8]) -> Self {
        self.expected.data_slice = Some((offset, data));
        self
    }
}

impl AccountExpected<'_> {
    #[track_caller]
    pub(super) fn holds(
        &self,
        account: &Account,
        config: &Config,
        is_rent_exempt: &dyn Fn(&Account) -> bool,
    ) -> bool {
        let same_data = given(config, "account_data", self.data, &account.data[..]);
        let same_flag = given(config, "account_executable", self.executable, account.executable);
        let same_lamports = given(config, "account_lamports", self.lamports, account.lamports);
        let same_owner = given(config, "account_owner", self.owner, &account.owner);
        let same_space = given(config, "account_space", self.space, account.data.len());
        let is_closed =
            !self.is_closed || equal(config, "account_closed", true, is_closed(account));
        let is_exempt = !self.is_rent_exempt
            || equal(config, "account_rent_exempt", true, is_rent_exempt(account));
        let same_slice = match self.data_slice {
            Some((offset, expected)) => has_slice(config, &account.data, offset, expected),
            None => true,
        };
        same_data
            && same_flag
            && same_lamports
            && same_owner
            && same_space
            && is_closed
            && is_exempt
            && same_slice
    }
}

/// Returns whether data holds these bytes at an offset, and reports if it does not.
#[track_caller]
fn has_slice(config: &Config, data: &[u8], offset: usize, expected: &[u8]) -> bool {
    let end = offset.saturating_add(expected.len());
    match data.get(offset..end) {
        Some(slice) => equal(config, "account_data_slice", expected, slice),
        None => {
            let len = data.len();
            fail(config, &format!("data slice {offset}..{end} exceeds the data, of {len} bytes"))
        }
    }
}

fn is_closed(account: &Account) -> bool {
    let Account { lamports, data, owner, executable, .. } = account;
    *lamports == 0 && data.is_empty() && *owner == system_program::ID && !executable
}
