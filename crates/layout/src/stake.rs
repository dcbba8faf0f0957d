//! The stake program, and stake accounts (agave: `solana-stake-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::{stake, sysvar};

use crate::declare::{instructions, names, record};

/// The address of the program.
pub const ID: Pubkey = stake::ID;

names! {
    /// An authority over a stake account.
    StakeAuthorize: u32 { Staker, Withdrawer, }
}

record! {
    /// The authorities over a stake account.
    Authorized {
        /// Who may delegate.
        staker: Pubkey,
        /// Who may withdraw.
        withdrawer: Pubkey,
    }
}

record! {
    /// Until when lamports cannot be withdrawn.
    Lockup {
        /// The time, in seconds since 1970.
        unix_timestamp: i64,
        /// The epoch.
        epoch: u64,
        /// Who may withdraw anyway.
        custodian: Pubkey,
    }
}

record! {
    /// A change of a lockup.
    LockupArgs {
        /// The time, in seconds since 1970.
        unix_timestamp: Option<i64>,
        /// The epoch.
        epoch: Option<u64>,
        /// Who may withdraw anyway.
        custodian: Option<Pubkey>,
    }
}

record! {
    /// A change of a lockup, but of its custodian, who signs.
    LockupCheckedArgs {
        /// The time, in seconds since 1970.
        unix_timestamp: Option<i64>,
        /// The epoch.
        epoch: Option<u64>,
    }
}

record! {
    /// What every initialized stake account has.
    Meta {
        /// The lamports that make the account rent-exempt.
        rent_exempt_reserve: u64 as Text,
        /// The authorities.
        authorized: Authorized,
        /// The lockup.
        lockup: Lockup,
    }
}

record! {
    /// To which vote account stake is delegated.
    Delegation {
        /// The vote account.
        voter: Pubkey,
        /// The lamports that are delegated.
        stake: u64 as Text,
        /// The epoch in which it was delegated.
        activation_epoch: u64 as Text,
        /// The epoch in which that ended; the largest number if it did not.
        deactivation_epoch: u64 as Text,
        /// No longer used.
        reserved: u64 as Hidden,
    }
}

record! {
    /// What a delegated stake account has in addition.
    Stake {
        /// The delegation.
        delegation: Delegation,
        /// The credits of the vote account for which rewards were paid.
        credits_observed: u64,
    }
}

instructions! {
    /// An instruction of the stake program.
    for<'a> StakeInstruction<'a>, u32 {
        0 => Initialize [w("stake_account"), at("rent_sysvar", sysvar::rent::ID)] {
            authorized: Authorized, lockup: Lockup
        }
        1 => Authorize [
            w("stake_account"),
            at("clock_sysvar", sysvar::clock::ID),
            s("authority"),
            s("custodian").optional(),
        ] { new_authority: Pubkey, authority_type: StakeAuthorize }
        2 => Delegate [
            w("stake_account"),
            r("vote_account"),
            at("clock_sysvar", sysvar::clock::ID),
            at("stake_history_sysvar", sysvar::stake_history::ID),
            r("stake_config_account"),
            s("stake_authority"),
        ] {}
        3 => Split [w("stake_account"), w("new_split_account"), s("stake_authority")] { lamports: u64 }
        4 => Withdraw [
            w("stake_account"),
            w("destination"),
            at("clock_sysvar", sysvar::clock::ID),
            at("stake_history_sysvar", sysvar::stake_history::ID),
            s("withdraw_authority"),
            s("custodian").optional(),
        ] { lamports: u64 }
        5 => Deactivate [
            w("stake_account"),
            at("clock_sysvar", sysvar::clock::ID),
            s("stake_authority"),
        ] {}
        6 => SetLockup [w("stake_account"), s("custodian")] { lockup: LockupArgs }
        7 => Merge [
            w("destination"),
            w("source"),
            at("clock_sysvar", sysvar::clock::ID),
            at("stake_history_sysvar", sysvar::stake_history::ID),
            s("stake_authority"),
        ] {}
        8 => AuthorizeWithSeed [
            w("stake_account"),
            s("authority_base"),
            at("clock_sysvar", sysvar::clock::ID).optional(),
            s("custodian").optional(),
        ] {
            new_authorized: Pubkey,
            authority_type: StakeAuthorize,
            authority_seed: &'a str,
            authority_owner: Pubkey,
        }
        9 => InitializeChecked [
            w("stake_account"),
            at("rent_sysvar", sysvar::rent::ID),
            r("staker"),
            s("withdrawer"),
        ] {}
        10 => AuthorizeChecked [
            w("stake_account"),
            at("clock_sysvar", sysvar::clock::ID),
            s("authority"),
            s("new_authority"),
            s("custodian").optional(),
        ] { authority_type: StakeAuthorize }
        11 => AuthorizeCheckedWithSeed [
            w("stake_account"),
            s("authority_base"),
            at("clock_sysvar", sysvar::clock::ID),
            s("new_authorized"),
            s("custodian").optional(),
        ] { authority_type: StakeAuthorize, authority_seed: &'a str, authority_owner: Pubkey }
        12 => SetLockupChecked [
            w("stake_account"),
            s("custodian"),
            s("custodian").inside("lockup"),
        ] { lockup: LockupCheckedArgs }
        13 => GetMinimumDelegation [] {}
        14 => DeactivateDelinquent [
            w("stake_account"),
            r("vote_account"),
            r("reference_vote_account"),
        ] {}
        15 => Redelegate [
            w("stake_account"),
            w("new_stake_account"),
            r("vote_account"),
            r("stake_config_account"),
            s("stake_authority"),
        ] {}
        16 => MoveStake [w("source"), w("destination"), s("stake_authority")] { lamports: u64 }
        17 => MoveLamports [w("source"), w("destination"), s("stake_authority")] { lamports: u64 }
    }
}
