//! The interface to another cluster whose accounts a node uses.

use core::fmt;

use selkie_layout::{
    loader::{self, DEPLOYMENT_SLOT, State},
    lookup_table::{self, LAST_EXTENDED_SLOT},
};
use solana_account::{AccountSharedData, ReadableAccount, WritableAccount};
use solana_pubkey::Pubkey;

/// Another cluster.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Returns the accounts at at most 100 addresses, in their order; `None` for those that do not
    /// exist.
    ///
    /// # Errors
    /// If the cluster cannot be asked.
    fn fetch(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, FetchError>;
}

/// The other cluster cannot be asked, with the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FetchError(pub String);

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for FetchError {}

/// Sets the slot that an account records to 0 if it is in the future.
pub(crate) fn reset_future_slot(account: &mut AccountSharedData, now: u64) {
    let slot = match *account.owner() {
        loader::V3 => match State::of_data(account.data()) {
            Some(State::ProgramData { .. }) => DEPLOYMENT_SLOT,
            _ => return,
        },
        lookup_table::ID => LAST_EXTENDED_SLOT,
        _ => return,
    };
    let data = account.data_as_mut_slice();
    if slot.get(data).is_some_and(|slot| slot > now) {
        let _ = slot.put(data, &0);
    }
}
