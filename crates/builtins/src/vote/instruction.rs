//! Decoding of the vote program's instructions.

use selkie_svm::Pubkey;

use super::votes::{Lockout, Tower, Vote};
use crate::wire::{Malformed, Reader};

type Result<T> = core::result::Result<T, Malformed>;

/// An instruction of the vote program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum VoteInstruction<'a> {
    InitializeAccount(VoteInit),
    Authorize(Pubkey, VoteAuthorize),
    AuthorizeChecked(VoteAuthorize),
    AuthorizeWithSeed(Seed<'a>, Pubkey),
    AuthorizeCheckedWithSeed(Seed<'a>),
    Vote(Vote),
    /// A tower in one of the forms that preceded `TowerSync`.
    UpdateVoteState(Tower),
    TowerSync(Tower),
    Withdraw(u64),
    UpdateValidatorIdentity,
    UpdateCommission(u8),
    UpdateCommissionCollector(CommissionKind),
    UpdateCommissionBps {
        commission_bps: u16,
        kind: CommissionKind,
    },
    InitializeAccountV2(VoteInitV2),
    DepositDelegatorRewards,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VoteInit {
    pub(super) node: Pubkey,
    pub(super) voter: Pubkey,
    pub(super) withdrawer: Pubkey,
    pub(super) commission: u8,
}

/// The fields of a new vote account whose voter has a BLS key (SIMD-0464).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VoteInitV2 {
    pub(super) node: Pubkey,
    pub(super) voter: Pubkey,
    pub(super) bls: BlsKey,
    pub(super) withdrawer: Pubkey,
    pub(super) inflation_rewards_commission_bps: u16,
    pub(super) block_revenue_commission_bps: u16,
}

/// A BLS key with its proof of possession (SIMD-0387).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlsKey {
    /// A compressed point of G1.
    pub(super) key: [u8; 48],
    /// A compressed point of G2.
    pub(super) proof: [u8; 96],
}

/// The kind of authority to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VoteAuthorize {
    Voter,
    Withdrawer,
    VoterWithBls(BlsKey),
}

/// The current authority as an address derived from the base that signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seed<'a> {
    pub(super) kind: VoteAuthorize,
    pub(super) owner: Pubkey,
    pub(super) seed: &'a str,
}

/// The revenue that a commission is taken from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CommissionKind {
    InflationRewards,
    BlockRevenue,
}

/// The slot that means "no root" in compact towers.
const NO_ROOT: u64 = u64::MAX;

impl<'a> VoteInstruction<'a> {
    pub(super) fn read(data: &'a [u8]) -> Result<Self> {
        let mut it = Reader::instruction(data);
        let tag = it.u32()?;
        let instruction = match tag {
            0 => Self::InitializeAccount(VoteInit {
                node: it.pubkey()?,
                voter: it.pubkey()?,
                withdrawer: it.pubkey()?,
                commission: it.u8()?,
            }),
            1 => Self::Authorize(it.pubkey()?, authorize(&mut it)?),
            2 | 6 => Self::Vote(Vote {
                slots: it.list(Reader::u64)?,
                hash: it.array()?,
                timestamp: it.option(Reader::i64)?,
            }),
            3 => Self::Withdraw(it.u64()?),
            4 => Self::UpdateValidatorIdentity,
            5 => Self::UpdateCommission(it.u8()?),
            7 => Self::AuthorizeChecked(authorize(&mut it)?),
            8 | 9 => Self::UpdateVoteState(tower(&mut it)?),
            10 => Self::AuthorizeWithSeed(seed(&mut it)?, it.pubkey()?),
            11 => Self::AuthorizeCheckedWithSeed(seed(&mut it)?),
            12 | 13 => Self::UpdateVoteState(compact_tower(&mut it)?),
            14 | 15 => {
                let tower = compact_tower(&mut it)?;
                let _block_id: [u8; 32] = it.array()?;
                Self::TowerSync(tower)
            }
            16 => Self::InitializeAccountV2(VoteInitV2 {
                node: it.pubkey()?,
                voter: it.pubkey()?,
                bls: bls_key(&mut it)?,
                withdrawer: it.pubkey()?,
                inflation_rewards_commission_bps: it.u16()?,
                block_revenue_commission_bps: it.u16()?,
            }),
            17 => Self::UpdateCommissionCollector(commission_kind(&mut it)?),
            18 => Self::UpdateCommissionBps {
                commission_bps: it.u16()?,
                kind: commission_kind(&mut it)?,
            },
            19 => {
                it.u64()?;
                Self::DepositDelegatorRewards
            }
            _ => return Err(Malformed),
        };
        // The `*Switch` variants end with the hash of a switch proof, which agave ignores too.
        if matches!(tag, 6 | 9 | 13 | 15) {
            it.bytes(32)?;
        }
        Ok(instruction)
    }
}

fn authorize(it: &mut Reader<'_>) -> Result<VoteAuthorize> {
    match it.u32()? {
        0 => Ok(VoteAuthorize::Voter),
        1 => Ok(VoteAuthorize::Withdrawer),
        2 => Ok(VoteAuthorize::VoterWithBls(bls_key(it)?)),
        _ => Err(Malformed),
    }
}

fn bls_key(it: &mut Reader<'_>) -> Result<BlsKey> {
    Ok(BlsKey { key: it.array()?, proof: it.array()? })
}

fn seed<'a>(it: &mut Reader<'a>) -> Result<Seed<'a>> {
    Ok(Seed { kind: authorize(it)?, owner: it.pubkey()?, seed: it.string()? })
}

fn commission_kind(it: &mut Reader<'_>) -> Result<CommissionKind> {
    match it.u32()? {
        0 => Ok(CommissionKind::InflationRewards),
        1 => Ok(CommissionKind::BlockRevenue),
        _ => Err(Malformed),
    }
}

fn tower(it: &mut Reader<'_>) -> Result<Tower> {
    Ok(Tower {
        lockouts: it.list(|it| Ok(Lockout { slot: it.u64()?, confirmations: it.u32()? }))?,
        root: it.option(Reader::u64)?,
        hash: it.array()?,
        timestamp: it.option(Reader::i64)?,
    })
}

/// Reads a tower whose slots are encoded as offsets from the previous slot.
fn compact_tower(it: &mut Reader<'_>) -> Result<Tower> {
    let root = it.u64()?;
    let root = (root != NO_ROOT).then_some(root);
    let mut offsets = Vec::new();
    for _ in 0..it.short_count()? {
        offsets.push((it.varint()?, u32::from(it.u8()?)));
    }
    let mut slot = root.unwrap_or_default();
    let lockouts = offsets.into_iter().map(|(offset, confirmations)| {
        slot = slot.checked_add(offset).ok_or(Malformed)?;
        Ok(Lockout { slot, confirmations })
    });
    Ok(Tower {
        lockouts: lockouts.collect::<Result<_>>()?,
        root,
        hash: it.array()?,
        timestamp: it.option(Reader::i64)?,
    })
}
