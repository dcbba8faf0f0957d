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

/// The compressed BLS key of secret 1: the generator of the group G1. Nothing is signed with it.
const BLS_KEY: [u8; 48] = [
    0x97, 0xf1, 0xd3, 0xa7, 0x31, 0x97, 0xd7, 0x94, 0x26, 0x95, 0x63, 0x8c, 0x4f, 0xa9, 0xac, 0x0f,
    0xc3, 0x68, 0x8c, 0x4f, 0x97, 0x74, 0xb9, 0x05, 0xa1, 0x4e, 0x3a, 0x3f, 0x17, 0x1b, 0xac, 0x58,
    0x6c, 0x55, 0xe8, 0x3f, 0xf9, 0x7a, 0x1a, 0xef, 0xfb, 0x3a, 0xf0, 0x0a, 0xdb, 0x22, 0xc6, 0xbb,
];

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
    data.push(1);
    data.extend(BLS_KEY);
    // No votes and no root: a length and a flag.
    data.extend([0; 8 + 1]);
    vec![AuthorizedVoter { epoch: 0, authorized_voter: *identity }].write(&mut data);
    // No credits and no timestamp follow.
    data.resize(ACCOUNT_BYTES, 0);
    let lamports = minimum_balance(rent, data.len());
    let owner = vote::ID;
    Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX }.into()
}
