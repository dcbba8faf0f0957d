//! The vote account of the node's own validator.
//!
//! It is there from genesis on, since clients list validators and read their accounts. The node makes
//! blocks without voting, so the account never changes.

use selkie_svm::sysvars::{Rent, minimum_balance};
use solana_account::{Account, AccountSharedData};
use solana_pubkey::Pubkey;
use solana_sdk_ids::vote;

/// The data length in bytes of a vote account.
const VOTE_ACCOUNT_BYTES: usize = 3762;
/// The number of the newest layout, which the vote program writes (SIMD-0185).
const LAYOUT: u32 = 3;
/// All that a block earns goes to the collector, in hundredths of a percent.
const BLOCK_REVENUE_COMMISSION: u16 = 10_000;

/// Creates a vote account without votes, of which `identity` is node, voter and withdrawer.
pub(crate) fn vote_account(address: &Pubkey, identity: &Pubkey, rent: &Rent) -> AccountSharedData {
    let fields: [&[u8]; 13] = [
        &LAYOUT.to_le_bytes(),
        identity.as_ref(),
        identity.as_ref(),
        // Who collects what rewards and blocks earn, and their commissions.
        address.as_ref(),
        identity.as_ref(),
        &0_u16.to_le_bytes(),
        &BLOCK_REVENUE_COMMISSION.to_le_bytes(),
        // No pending rewards, BLS key, votes or root: a number, a flag, a length and a flag.
        &[0; 8 + 1 + 8 + 1],
        // One authorized voter, from the first epoch on.
        &1_u64.to_le_bytes(),
        &0_u64.to_le_bytes(),
        identity.as_ref(),
        // No credits, and no timestamp: a length, a slot and a time.
        &[0; 8],
        &[0; 8 + 8],
    ];
    let mut data = fields.concat();
    data.resize(VOTE_ACCOUNT_BYTES, 0);
    let lamports = minimum_balance(rent, data.len());
    let owner = vote::ID;
    Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX }.into()
}
