//! The vote account of the node's own validator.
//!
//! It is there from genesis on, since clients list validators and read their accounts. The node makes
//! blocks without voting, so the account never changes.

use selkie_layout::{
    vote::{ACCOUNT_BYTES, AuthorizedVoter, VERSION_4, VoteHead},
    wire::Wire as _,
};
use selkie_svm::sysvars::{Rent, minimum_balance};
use solana_account::{Account, AccountSharedData};
use solana_pubkey::Pubkey;
use solana_sdk_ids::vote;

/// All that a block earns goes to the collector, in hundredths of a percent.
const BLOCK_REVENUE_COMMISSION: u16 = 10_000;

/// Creates a vote account without votes, of which `identity` is node, voter and withdrawer.
pub(crate) fn vote_account(address: &Pubkey, identity: &Pubkey, rent: &Rent) -> AccountSharedData {
    let head = VoteHead {
        node_pubkey: *identity,
        authorized_withdrawer: *identity,
        inflation_rewards_collector: *address,
        block_revenue_collector: *identity,
        inflation_rewards_commission_bps: 0,
        block_revenue_commission_bps: BLOCK_REVENUE_COMMISSION,
        pending_delegator_rewards: 0,
    };
    let mut data = Vec::with_capacity(ACCOUNT_BYTES);
    VERSION_4.write(&mut data);
    head.write(&mut data);
    // No BLS key, votes or root: a flag, a length and a flag.
    data.extend([0; 1 + 8 + 1]);
    vec![AuthorizedVoter { epoch: 0, authorized_voter: *identity }].write(&mut data);
    // No credits and no timestamp follow.
    data.resize(ACCOUNT_BYTES, 0);
    let lamports = minimum_balance(rent, data.len());
    let owner = vote::ID;
    Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX }.into()
}
