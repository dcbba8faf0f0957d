//! Edits of accounts that wait for a slot.

use core::fmt;

use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

/// Makes an account of what it is before; `None` leaves it.
type Edit = Box<dyn FnOnce(AccountSharedData) -> Option<AccountSharedData> + Send>;

/// An edit that waits for a slot.
pub struct ScheduledEdit {
    pub(crate) slot: u64,
    pub(crate) key: Pubkey,
    /// How many bytes `edit` holds.
    pub(crate) bytes: usize,
    pub(crate) edit: Edit,
}

impl fmt::Debug for ScheduledEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledEdit")
            .field("slot", &self.slot)
            .field("key", &self.key)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl ScheduledEdit {
    /// Changes an account as soon as the next block is in a slot or after it. `edit` is given the account as it is then,
    /// an empty one if there is none; `None` leaves it. `bytes` is the memory that `edit` holds, which [`Node::schedule`]
    /// bounds.
    ///
    /// [`Node::schedule`]: crate::Node::schedule
    pub fn new(
        slot: u64,
        key: Pubkey,
        bytes: usize,
        edit: impl FnOnce(AccountSharedData) -> Option<AccountSharedData> + Send + 'static,
    ) -> Self {
        Self { slot, key, bytes, edit: Box::new(edit) }
    }
}
