//! The stake that `sol_get_epoch_stake` returns.

use std::collections::HashMap;

use solana_pubkey::Pubkey;

/// The stake of each vote account, in lamports. The total is their sum.
pub type EpochStake = HashMap<Pubkey, u64>;

/// The stake of a made-up vote account: 100 SOL.
const STAKE: u64 = 100_000_000_000;

/// Makes up vote accounts with 100 SOL each, of which the last one has the rest, too.
#[must_use]
pub fn create_mock_epoch_stake(target_total: u64) -> EpochStake {
    let mut stakes = EpochStake::new();
    let mut rest = target_total;
    while rest > 0 {
        let stake = if rest < 2 * STAKE { rest } else { STAKE };
        stakes.insert(Pubkey::new_unique(), stake);
        rest -= stake;
    }
    stakes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_stakes_have_the_total() {
        for (total, accounts) in
            [(0, 0), (1, 1), (STAKE, 1), (2 * STAKE - 1, 1), (5 * STAKE + 1, 5)]
        {
            let stakes = create_mock_epoch_stake(total);
            assert_eq!((stakes.values().sum::<u64>(), stakes.len()), (total, accounts));
        }
    }
}
