//! The interface to another cluster whose accounts a node uses.

use core::fmt;

use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

/// Another cluster.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Returns the accounts at at most 100 addresses, in their order; `None` for those that do not
    /// exist.
    ///
    /// # Errors
    /// If the cluster cannot be asked: the reason.
    fn fetch(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, String>;
}
