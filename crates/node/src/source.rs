//! The interface to another cluster whose accounts a node uses.

use core::fmt;

use solana_account::{AccountSharedData, ReadableAccount, WritableAccount};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{address_lookup_table, bpf_loader_upgradeable};

/// The discriminant of loader v3's programdata accounts.
const PROGRAM_DATA: [u8; 4] = [3, 0, 0, 0];
/// Where a programdata account has the slot of its deployment, and a lookup table that of its last
/// extension.
const DEPLOYMENT_SLOT: usize = 4;
const EXTENSION_SLOT: usize = 12;

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
    let is_program_data =
        *account.owner() == bpf_loader_upgradeable::ID && account.data().starts_with(&PROGRAM_DATA);
    let offset = match *account.owner() {
        _ if is_program_data => DEPLOYMENT_SLOT,
        address_lookup_table::ID => EXTENSION_SLOT,
        _ => return,
    };
    let data = account.data_as_mut_slice().get_mut(offset..);
    if let Some(slot) = data.and_then(|data| data.first_chunk_mut::<8>())
        && u64::from_le_bytes(*slot) > now
    {
        *slot = [0; 8];
    }
}
