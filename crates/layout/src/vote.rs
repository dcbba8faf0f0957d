//! The vote program (agave: `solana-vote-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::{sysvar, vote};

use crate::{
    account::At,
    declare::{instructions, layout, names, record},
    kind::{Entry, Field, Kind, Lens, Ref, Value, Variant},
    wire::{Malformed, Reader, Wire, write_varint},
};

/// The address of the program.
pub const ID: Pubkey = vote::ID;

/// The data length in bytes of a vote account.
pub const ACCOUNT_BYTES: usize = 3762;
/// What the data of a vote account of version 1 begin with (agave: `V1_14_11`).
pub const VERSION_1: u32 = 1;
/// What the data of a vote account of version 3 begin with.
pub const VERSION_3: u32 = 2;
/// What the data of a vote account of version 4 (SIMD-0185) begin with.
pub const VERSION_4: u32 = 3;
/// The length in bytes of a compressed BLS public key.
pub const BLS_KEY_BYTES: usize = 48;

/// A BLS key with its proof of possession (SIMD-0387).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlsKey {
    /// A compressed point of G1.
    pub key: [u8; 48],
    /// A compressed point of G2.
    pub proof: [u8; 96],
}

/// The kind of authority to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VoteAuthorize {
    /// Who votes.
    Voter,
    /// Who withdraws.
    Withdrawer,
    /// Who votes, with a BLS key.
    VoterWithBls(BlsKey),
}

impl<'a> Wire<'a> for VoteAuthorize {
    /// Without the kind that clients do not know.
    const KIND: Kind =
        Kind::Enum(Lens::Four, Ref::Static(&[Variant::unit("Voter"), Variant::unit("Withdrawer")]));

    fn read(it: &mut Reader<'a>) -> Result<Self, Malformed> {
        match it.u32()? {
            0 => Ok(Self::Voter),
            1 => Ok(Self::Withdrawer),
            2 => Ok(Self::VoterWithBls(BlsKey { key: it.array()?, proof: it.array()? })),
            _ => Err(Malformed),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Voter => 0_u32.write(out),
            Self::Withdrawer => 1_u32.write(out),
            Self::VoterWithBls(BlsKey { key, proof }) => {
                2_u32.write(out);
                key.write(out);
                proof.write(out);
            }
        }
    }
}

names! {
    /// The revenue that a commission is taken from.
    CommissionKind: u32 { InflationRewards, BlockRevenue, }
}

record! {
    /// A vote with its confirmation count: the number of votes from it to the top of the tower.
    #[derive(Copy, Eq)]
    Lockout {
        /// The slot.
        slot: u64,
        /// The confirmation count.
        confirmation_count: u32 as Verbatim,
    }
}

record! {
    /// Votes for slots, oldest first. Each vote doubles the lockouts of those below it.
    Vote {
        /// The slots.
        slots: Vec<u64>,
        /// The hash of the newest slot.
        hash: [u8; 32] as Base58,
        /// When it was cast, in seconds since 1970.
        timestamp: Option<i64> as Null,
    }
}

record! {
    /// The tower that a validator sends: all its votes above the root.
    Tower {
        /// The votes, oldest first.
        lockouts: Vec<Lockout>,
        /// The slot of the root.
        root: Option<u64> as Null,
        /// The hash of the newest slot.
        hash: [u8; 32] as Base58,
        /// When it was sent, in seconds since 1970.
        timestamp: Option<i64> as Null,
    }
}

record! {
    /// The fields of a new vote account.
    VoteInit {
        /// The validator's identity.
        node: Pubkey as Hidden,
        /// Who votes.
        authorized_voter: Pubkey,
        /// Who withdraws.
        authorized_withdrawer: Pubkey,
        /// The commission on rewards, in percent.
        commission: u8,
    }
}

record! {
    /// The fields of a new vote account whose voter has a BLS key (SIMD-0464).
    VoteInitV2 {
        /// The validator's identity.
        node: Pubkey as Hidden,
        /// Who votes.
        authorized_voter: Pubkey,
        /// The voter's BLS key.
        authorized_voter_bls_pubkey: [u8; 48],
        /// Its proof of possession.
        authorized_voter_bls_proof_of_possession: [u8; 96],
        /// Who withdraws.
        authorized_withdrawer: Pubkey,
        /// The commission on inflation rewards, in hundredths of a percent.
        inflation_rewards_commission_bps: u16,
        /// The commission on block revenue, in hundredths of a percent.
        block_revenue_commission_bps: u16,
    }
}

impl VoteInitV2 {
    /// Returns the voter's BLS key with its proof.
    #[must_use]
    pub const fn bls_key(&self) -> BlsKey {
        BlsKey {
            key: self.authorized_voter_bls_pubkey,
            proof: self.authorized_voter_bls_proof_of_possession,
        }
    }
}

record! {
    /// A tower with the block that it votes for.
    TowerSync {
        /// The tower.
        tower: CompactTower as Flat,
        /// The id of the newest block.
        block_id: [u8; 32] as Base58,
    }
}

/// A tower in few bytes: the root comes first, and slots are offsets from the slot before.
#[derive(Clone, PartialEq, Debug)]
pub struct CompactTower(pub Tower);

/// The slot that means "no root" in compact towers.
const NO_ROOT: u64 = u64::MAX;

impl<'a> Wire<'a> for CompactTower {
    const KIND: Kind = Kind::Other(compact_tower);

    fn read(it: &mut Reader<'a>) -> Result<Self, Malformed> {
        let root = it.u64()?;
        let root = (root != NO_ROOT).then_some(root);
        let mut offsets = Vec::new();
        for _ in 0..it.short_count()? {
            offsets.push((it.varint()?, u32::from(it.u8()?)));
        }
        let mut slot = root.unwrap_or_default();
        let lockouts = offsets.into_iter().map(|(offset, confirmation_count)| {
            slot = slot.checked_add(offset).ok_or(Malformed)?;
            Ok(Lockout { slot, confirmation_count })
        });
        Ok(Self(Tower {
            lockouts: lockouts.collect::<Result<_, _>>()?,
            root,
            hash: it.array()?,
            timestamp: Option::read(it)?,
        }))
    }

    /// Slots that do not grow, and counts above 255, have no such form: they become others.
    fn write(&self, out: &mut Vec<u8>) {
        let Tower { lockouts, root, hash, timestamp } = &self.0;
        root.unwrap_or(NO_ROOT).write(out);
        write_varint(lockouts.len() as u64, out);
        let mut before = root.unwrap_or_default();
        for lockout in lockouts {
            write_varint(lockout.slot.saturating_sub(before), out);
            out.push(u8::try_from(lockout.confirmation_count).unwrap_or(u8::MAX));
            before = lockout.slot;
        }
        hash.write(out);
        timestamp.write(out);
    }
}

/// Reads a compact tower as a value.
fn compact_tower<'a>(it: &mut Reader<'a>) -> Result<Value<'a>, Malformed> {
    const LOCKOUT: &[Field] = Lockout::FIELDS;
    let bytes = it.remaining();
    let CompactTower(tower) = CompactTower::read(it)?;
    let [lockouts, root, hash, timestamp] = Tower::FIELDS else { return Err(Malformed) };
    let [slot, count] = LOCKOUT else { return Err(Malformed) };
    let lockout = |it: &Lockout| {
        Value::Struct(vec![
            Entry { field: slot, value: Value::Unsigned(it.slot.into()) },
            Entry { field: count, value: Value::Unsigned(it.confirmation_count.into()) },
        ])
    };
    let number = |number: Option<u64>| number.map_or(Value::None, |it| Value::Unsigned(it.into()));
    let read = bytes.len().saturating_sub(it.remaining().len());
    let end = read.saturating_sub(if tower.timestamp.is_some() { 9 } else { 1 });
    let hash_bytes = bytes.get(..end).and_then(<[u8]>::last_chunk::<32>).ok_or(Malformed)?;
    let time = tower.timestamp.map_or(Value::None, |it| Value::Signed(it.into()));
    Ok(Value::Struct(vec![
        Entry { field: root, value: number(tower.root) },
        Entry { field: lockouts, value: Value::List(tower.lockouts.iter().map(lockout).collect()) },
        Entry { field: hash, value: Value::Bytes(hash_bytes) },
        Entry { field: timestamp, value: time },
    ]))
}

instructions! {
    /// An instruction of the vote program. The names of some are in small letters, as agave shows them.
    for<'a> VoteInstruction<'a>, u32 {
        0 => Initialize [
            w("vote_account"),
            at("rent_sysvar", sysvar::rent::ID),
            at("clock_sysvar", sysvar::clock::ID),
            s("node"),
        ] { init: VoteInit as Flat }
        1 => Authorize [w("vote_account"), at("clock_sysvar", sysvar::clock::ID), s("authority")] {
            new_authority: Pubkey, authority_type: VoteAuthorize
        }
        2 => Vote [
            w("vote_account"),
            at("slot_hashes_sysvar", sysvar::slot_hashes::ID),
            at("clock_sysvar", sysvar::clock::ID),
            s("vote_authority"),
        ] { vote: Vote }
        3 => Withdraw [w("vote_account"), w("destination"), s("withdraw_authority")] { lamports: u64 }
        4 => UpdateValidatorIdentity [
            w("vote_account"),
            s("new_validator_identity"),
            s("withdraw_authority"),
        ] {}
        5 => UpdateCommission [w("vote_account"), s("withdraw_authority")] { commission: u8 }
        6 => VoteSwitch [
            w("vote_account"),
            at("slot_hashes_sysvar", sysvar::slot_hashes::ID),
            at("clock_sysvar", sysvar::clock::ID),
            s("vote_authority"),
        ] { vote: Vote, hash: [u8; 32] as Base58 }
        7 => AuthorizeChecked [
            w("vote_account"),
            at("clock_sysvar", sysvar::clock::ID),
            s("authority"),
            s("new_authority"),
        ] { authority_type: VoteAuthorize }
        8 => UpdateVoteState = "updatevotestate" [w("vote_account"), s("vote_authority")] {
            vote_state_update: Tower
        }
        9 => UpdateVoteStateSwitch = "updatevotestateswitch" [
            w("vote_account"),
            s("vote_authority"),
        ] { vote_state_update: Tower, hash: [u8; 32] as Base58 }
        10 => AuthorizeWithSeed [
            w("vote_account"),
            at("clock_sysvar", sysvar::clock::ID),
            s("authority_base_key"),
        ] {
            authority_type: VoteAuthorize,
            authority_owner: Pubkey,
            authority_seed: &'a str,
            new_authority: Pubkey,
        }
        11 => AuthorizeCheckedWithSeed [
            w("vote_account"),
            at("clock_sysvar", sysvar::clock::ID),
            s("authority_base_key"),
            s("new_authority"),
        ] { authority_type: VoteAuthorize, authority_owner: Pubkey, authority_seed: &'a str }
        12 => CompactUpdateVoteState = "compactupdatevotestate" [
            w("vote_account"),
            s("vote_authority"),
        ] { vote_state_update: CompactTower }
        13 => CompactUpdateVoteStateSwitch = "compactupdatevotestateswitch" [
            w("vote_account"),
            s("vote_authority"),
        ] { vote_state_update: CompactTower, hash: [u8; 32] as Base58 }
        14 => TowerSync = "towersync" [w("vote_account"), s("vote_authority")] { tower_sync: TowerSync }
        15 => TowerSyncSwitch = "towersyncswitch" [w("vote_account"), s("vote_authority")] {
            tower_sync: TowerSync, hash: [u8; 32] as Base58
        }
        16 => InitializeV2 [
            w("vote_account"),
            s("node"),
            w("inflation_rewards_collector"),
            w("block_revenue_collector"),
        ] { init: VoteInitV2 as Flat }
        17 => UpdateCommissionCollector [
            w("vote_account"),
            w("new_collector"),
            s("withdraw_authority"),
        ] { commission_kind: CommissionKind }
        18 => UpdateCommissionBps [w("vote_account"), s("withdraw_authority")] {
            commission_bps: u16, commission_kind: CommissionKind
        }
        19 => DepositDelegatorRewards [w("vote_account"), ws("source")] { deposit: u64 }
    }
}

layout! {
    /// What a vote account of version 4 (SIMD-0185), the one that the program writes, begins with behind
    /// its version. A BLS key follows, if there is one; then lists of [`LandedVote`]s, the root,
    /// [`AuthorizedVoter`]s and [`EpochCredits`]; and a [`VoteTail`].
    VoteHead, VoteHeadAt, VOTE_HEAD {
        /// The validator's identity.
        node_pubkey: Pubkey,
        /// Who may withdraw.
        authorized_withdrawer: Pubkey,
        /// Who gets the commission on inflation rewards.
        inflation_rewards_collector: Pubkey,
        /// Who gets the commission on block revenue.
        block_revenue_collector: Pubkey,
        /// The commission on inflation rewards, in hundredths of a percent.
        inflation_rewards_commission_bps: u16,
        /// The commission on block revenue, in hundredths of a percent.
        block_revenue_commission_bps: u16,
        /// Lamports that delegators have not got yet.
        pending_delegator_rewards: u64 as Text,
    }
}

/// Where a vote account of version 4 has the lamports that its delegators are still to receive.
pub const PENDING_DELEGATOR_REWARDS: At<u64> =
    At::<VoteHead>::new(At::<u32>::BYTES).then(VOTE_HEAD.pending_delegator_rewards);

record! {
    /// What vote accounts of the versions before 4 begin with. There is no BLS key; [`PriorVoters`] follow
    /// the authorized voters.
    OldVoteHead {
        /// The validator's identity.
        node_pubkey: Pubkey,
        /// Who may withdraw.
        authorized_withdrawer: Pubkey,
        /// The commission on inflation rewards, in percent.
        commission: u8,
    }
}

record! {
    /// Who voted before. Version 4 has dropped them.
    PriorVoters {
        /// 32 times a key and two epochs.
        voters: [u8; 32 * 48],
        /// The index of the newest.
        index: u64,
        /// Whether there are none.
        is_empty: bool,
    }
}

record! {
    /// A vote of a vote account. The oldest version, 1, does not have the latency.
    LandedVote {
        /// How many slots later it landed; 0 if that is unknown.
        latency: u8,
        /// The slot.
        slot: u64,
        /// The number of votes from it to the top of the tower.
        confirmation_count: u32,
    }
}

record! {
    /// Who votes from an epoch on.
    AuthorizedVoter {
        /// The epoch.
        epoch: u64,
        /// The voter.
        authorized_voter: Pubkey,
    }
}

record! {
    /// The credits of an epoch.
    #[derive(Copy, Eq)]
    EpochCredits {
        /// The epoch.
        epoch: u64,
        /// The credits at its end.
        credits: u64 as Text,
        /// The credits at its beginning.
        previous_credits: u64 as Text,
    }
}

record! {
    /// What a vote account ends with.
    VoteTail {
        /// The slot and the time of the newest vote with a time.
        last_timestamp: BlockTimestamp,
    }
}

record! {
    /// A slot with a time.
    BlockTimestamp {
        /// The slot.
        slot: u64,
        /// The time, in seconds since 1970.
        timestamp: i64,
    }
}
