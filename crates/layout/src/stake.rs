//! The stake program, and stake accounts (agave: `solana-stake-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::{stake, sysvar};

use crate::{
    account::At,
    declare::{instructions, layout, names, record},
};

/// The address of the program.
pub const ID: Pubkey = stake::ID;

names! {
    /// An authority over a stake account.
    StakeAuthorize: u32 { Staker, Withdrawer, }
}

layout! {
    /// The authorities over a stake account.
    Authorized, AuthorizedAt, AUTHORIZED {
        /// Who may delegate.
        staker: Pubkey,
        /// Who may withdraw.
        withdrawer: Pubkey,
    }
}

layout! {
    /// Until when lamports cannot be withdrawn.
    Lockup, LockupAt, LOCKUP {
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

layout! {
    /// What every initialized stake account has.
    Meta, MetaAt, META {
        /// The lamports that make the account rent-exempt.
        rent_exempt_reserve: u64 as Text,
        /// The authorities.
        authorized: Authorized,
        /// The lockup.
        lockup: Lockup,
    }
}

layout! {
    /// To which vote account stake is delegated.
    Delegation, DelegationAt, DELEGATION {
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

layout! {
    /// What a delegated stake account has in addition.
    Stake, StakeAt, STAKE {
        /// The delegation.
        delegation: Delegation,
        /// The credits of the vote account for which rewards were paid.
        credits_observed: u64,
    }
}

layout! {
    /// A stake account that is not delegated (SDK: `StakeStateV2::Initialized`).
    Initialized, InitializedAt, INITIALIZED {
        /// [`INITIALIZED_STATE`].
        state: u32 as Hidden,
        /// Its authorities and lockup.
        meta: Meta,
    }
}

layout! {
    /// A delegated stake account (SDK: `StakeStateV2::Stake`).
    Delegated, DelegatedAt, DELEGATED {
        /// [`DELEGATED_STATE`].
        state: u32 as Hidden,
        /// What it has in common with accounts that are not delegated.
        meta: Meta,
        /// What it has in addition.
        stake: Stake,
        /// Flags of the stake program.
        flags: u8 as Hidden,
    }
}

/// What the data of an account with a [`Meta`] begin with.
pub const INITIALIZED_STATE: u32 = 1;
/// What the data of an account with a [`Meta`] and a [`Stake`] begin with.
pub const DELEGATED_STATE: u32 = 2;

const IN_DELEGATION: At<Delegation> = DELEGATED.stake.then(STAKE.delegation);

/// Where a delegated account has the lamports that are delegated.
pub const DELEGATED_STAKE: At<u64> = IN_DELEGATION.then(DELEGATION.stake);
/// Where a delegated account has the epoch in which that ended.
pub const DEACTIVATION_EPOCH: At<u64> = IN_DELEGATION.then(DELEGATION.deactivation_epoch);
/// Where a delegated account has the credits for which rewards were paid.
pub const CREDITS_OBSERVED: At<u64> = DELEGATED.stake.then(STAKE.credits_observed);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_delegated_accounts_are_where_the_sdk_has_them() {
        let offsets = [DELEGATED_STAKE, DEACTIVATION_EPOCH, CREDITS_OBSERVED].map(|it| it.offset);
        assert_eq!((offsets, DELEGATED.bytes), ([156, 172, 188], 197));
    }
}
