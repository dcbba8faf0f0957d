//! The airdrops with the newest blockhash, which tell equal ones apart.

use std::collections::HashMap;

use solana_hash::Hash;
use solana_pubkey::Pubkey;

/// The airdrops with a blockhash: how many there were to each address of each amount.
#[derive(Default, Debug)]
pub(crate) struct RecentAirdrops {
    blockhash: Hash,
    counts: HashMap<(Pubkey, u64), u32>,
}

impl RecentAirdrops {
    /// Returns how many equal airdrops there were before this one.
    pub(crate) fn count(&mut self, blockhash: Hash, to: Pubkey, lamports: u64) -> u32 {
        if self.blockhash != blockhash {
            *self = Self { blockhash, counts: HashMap::new() };
        }
        let count = self.counts.entry((to, lamports)).or_default();
        let before = *count;
        *count = count.saturating_add(1);
        before
    }
}
