//! The vote program: vote accounts, their authorities, commissions and votes.

pub(crate) mod account;
mod error;
mod state;
mod tower;
mod votes;

use selkie_crypto::bls12_381;
use selkie_layout::vote::{
    BlsKey, CommissionKind, CompactTower, Tower, Vote, VoteAuthorize, VoteInit, VoteInitV2,
    VoteInstruction,
};
use selkie_svm::{
    Feature, InstructionError, InvokeContext, Pubkey,
    sysvars::{Clock, Rent},
};
use solana_sdk_ids::{system_program, sysvar, vote};

use self::{
    error::VoteError,
    state::{VOTE_ACCOUNT_BYTES, VoteState, basis_points},
    tower::{Now, SlotHash},
};
use crate::{
    checks::{check_distinct, clock, clock_at, is_signer, minimum_balance, rent, rent_at},
    system::with_seed,
};

/// The cost of every instruction of the vote program.
pub(crate) const COMPUTE_UNITS: u64 = 2100;
/// The additional cost of verifying a BLS key's proof of possession (SIMD-0387).
const BLS_PROOF_COMPUTE_UNITS: u64 = 34_500;

pub(crate) fn process(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if !vote::check_id(context.borrow(0)?.owner()) {
        return Err(InstructionError::InvalidAccountOwner);
    }
    let data = context.instruction().data.clone();
    let instruction = VoteInstruction::read(&data);
    match instruction.map_err(|_| InstructionError::InvalidInstructionData)? {
        VoteInstruction::Initialize { init } => initialize(context, &init),
        VoteInstruction::Authorize { new_authority, authority_type } => {
            let clock = clock_at(context, 1)?;
            authorize(context, new_authority, authority_type, Signers::OfInstruction, &clock)
        }
        VoteInstruction::AuthorizeChecked { authority_type } => {
            let new = checked_authority(context)?;
            let clock = clock_at(context, 1)?;
            authorize(context, new, authority_type, Signers::OfInstruction, &clock)
        }
        VoteInstruction::AuthorizeWithSeed {
            authority_type: kind,
            authority_owner: owner,
            authority_seed: seed,
            new_authority,
        } => {
            context.check_accounts(3)?;
            authorize_with_seed(context, new_authority, &Seed { kind, owner, seed })
        }
        VoteInstruction::AuthorizeCheckedWithSeed {
            authority_type: kind,
            authority_owner: owner,
            authority_seed: seed,
        } => {
            let new = checked_authority(context)?;
            authorize_with_seed(context, new, &Seed { kind, owner, seed })
        }
        VoteInstruction::UpdateValidatorIdentity {} => update_identity(context),
        VoteInstruction::UpdateCommission { commission } => update_commission(context, commission),
        VoteInstruction::UpdateCommissionBps { commission_bps, commission_kind } => {
            update_commission_bps(context, commission_bps, commission_kind)
        }
        VoteInstruction::UpdateCommissionCollector { commission_kind } => {
            update_collector(context, commission_kind)
        }
        // The hash of a switch proof is ignored, as by agave.
        VoteInstruction::Vote { vote } | VoteInstruction::VoteSwitch { vote, .. } => {
            cast_votes(context, &vote)
        }
        VoteInstruction::UpdateVoteState { vote_state_update: tower }
        | VoteInstruction::UpdateVoteStateSwitch { vote_state_update: tower, .. }
        | VoteInstruction::CompactUpdateVoteState { vote_state_update: CompactTower(tower) }
        | VoteInstruction::CompactUpdateVoteStateSwitch {
            vote_state_update: CompactTower(tower),
            ..
        } => {
            check_legacy(context)?;
            update_tower(context, tower)
        }
        VoteInstruction::TowerSync { tower_sync }
        | VoteInstruction::TowerSyncSwitch { tower_sync, .. } => {
            if context.environment().is_alpenglow {
                return Err(InstructionError::InvalidInstructionData);
            }
            update_tower(context, tower_sync.tower.0)
        }
        VoteInstruction::Withdraw { lamports } => withdraw(context, lamports),
        VoteInstruction::InitializeV2 { init } => initialize_v2(context, &init),
        // Refused whatever features are active (agave: since 4.4).
        VoteInstruction::DepositDelegatorRewards { .. } => {
            Err(InstructionError::InvalidInstructionData)
        }
    }
}

/// The features that `InitializeAccountV2` requires.
const INITIALIZE_V2_FEATURES: [Feature; 5] = [
    Feature::BlsPubkeyManagementInVoteAccount,
    Feature::CommissionRateInBasisPoints,
    Feature::CustomCommissionCollector,
    Feature::BlockRevenueSharing,
    Feature::VoteAccountInitializeV2,
];

/// Verifies the proof of possession of a BLS key for account 0, and charges for it.
fn check_possession(context: &mut InvokeContext<'_>, bls: &BlsKey) -> Result<(), InstructionError> {
    context.consume(BLS_PROOF_COMPUTE_UNITS)?;
    let payload = [b"ALPENGLOW", context.key(0)?.as_ref()].concat();
    if bls12_381::verify_proof_of_possession(&payload, &bls.key, &bls.proof) {
        Ok(())
    } else {
        Err(InstructionError::InvalidArgument)
    }
}

/// The current authority as an address derived from the base that signs.
struct Seed<'a> {
    kind: VoteAuthorize,
    owner: Pubkey,
    seed: &'a str,
}

/// The signers that an instruction accepts.
#[derive(Clone, Copy, Debug)]
enum Signers {
    /// All signers among the instruction's accounts.
    OfInstruction,
    /// The one address derived from a base that signed; `None` if the base did not sign.
    Derived(Option<Pubkey>),
}

impl Signers {
    fn has(self, context: &InvokeContext<'_>, key: &Pubkey) -> bool {
        match self {
            Self::OfInstruction => context.has_signer(key),
            Self::Derived(derived) => derived == Some(*key),
        }
    }

    fn check(self, context: &InvokeContext<'_>, key: &Pubkey) -> Result<(), InstructionError> {
        if self.has(context, key) {
            Ok(())
        } else {
            Err(InstructionError::MissingRequiredSignature)
        }
    }
}

fn check_signer(context: &InvokeContext<'_>, key: &Pubkey) -> Result<(), InstructionError> {
    Signers::OfInstruction.check(context, key)
}

fn initialize(context: &mut InvokeContext<'_>, init: &VoteInit) -> Result<(), InstructionError> {
    let rent = rent_at(context, 1)?;
    let account = context.borrow(0)?;
    let (key, len) = (*account.key(), account.data().len());
    if account.lamports() < minimum_balance(&rent, len) {
        return Err(InstructionError::InsufficientFunds);
    }
    let clock = clock_at(context, 2)?;
    check_uninitialized(context)?;
    check_signer(context, &init.node)?;
    VoteState::new(key, init, clock.epoch).save(context)
}

/// Initializes account 0 with a BLS key; accounts 2 and 3 are its commission collectors.
fn initialize_v2(
    context: &mut InvokeContext<'_>,
    init: &VoteInitV2,
) -> Result<(), InstructionError> {
    if !INITIALIZE_V2_FEATURES.iter().all(|feature| context.has(*feature)) {
        return Err(InstructionError::InvalidInstructionData);
    }
    context.check_accounts(4)?;
    // agave borrows both collectors before any check, except where one is the vote account itself.
    if context.key(3)? != context.key(0)? {
        check_distinct(context, 2, 3)?;
    }
    let clock = clock(context)?;
    let rent = rent(context)?;
    check_uninitialized(context)?;
    check_signer(context, &init.node)?;
    let collectors = [collector(context, 2, &rent)?, collector(context, 3, &rent)?];
    check_possession(context, &init.bls_key())?;
    VoteState::with_bls(init, collectors, clock.epoch).save(context)
}

/// Returns an error unless account 0 has the size of a vote account and is uninitialized.
fn check_uninitialized(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.borrow(0)?.data().len() != VOTE_ACCOUNT_BYTES {
        return Err(InstructionError::InvalidAccountData);
    }
    if VoteState::is_uninitialized(context)? {
        Ok(())
    } else {
        Err(InstructionError::AccountAlreadyInitialized)
    }
}

/// Returns the address of instruction account `index`, checked as a commission collector
/// (SIMD-0232): the vote account itself, or a rent-exempt account of the system program that is not
/// reserved.
fn collector(
    context: &mut InvokeContext<'_>,
    index: usize,
    rent: &Rent,
) -> Result<Pubkey, InstructionError> {
    let key = context.key(index)?;
    if key == context.key(0)? {
        return Ok(key);
    }
    let account = context.borrow(index)?;
    if !system_program::check_id(account.owner()) {
        return Err(InstructionError::InvalidAccountOwner);
    }
    if account.lamports() < minimum_balance(rent, account.data().len()) {
        return Err(InstructionError::InsufficientFunds);
    }
    // Reserved accounts are never writable.
    if !account.is_writable() {
        return Err(InstructionError::InvalidArgument);
    }
    Ok(key)
}

/// Returns the new authority, which must have signed.
fn checked_authority(context: &mut InvokeContext<'_>) -> Result<Pubkey, InstructionError> {
    context.check_accounts(4)?;
    if !is_signer(context, 3)? {
        return Err(InstructionError::MissingRequiredSignature);
    }
    context.key(3)
}

fn authorize_with_seed(
    context: &mut InvokeContext<'_>,
    new: Pubkey,
    seed: &Seed<'_>,
) -> Result<(), InstructionError> {
    let clock = clock_at(context, 1)?;
    let mut derived = None;
    if is_signer(context, 2)? {
        derived = Some(with_seed(&context.key(2)?, seed.seed, &seed.owner)?);
    }
    authorize(context, new, seed.kind, Signers::Derived(derived), &clock)
}

fn authorize(
    context: &mut InvokeContext<'_>,
    new: Pubkey,
    kind: VoteAuthorize,
    signers: Signers,
    clock: &Clock,
) -> Result<(), InstructionError> {
    let mut state = VoteState::load(context)?;
    let has_bls = context.has(Feature::BlsPubkeyManagementInVoteAccount);
    match kind {
        VoteAuthorize::Voter => {
            if has_bls && state.bls_key.is_some() {
                return Err(InstructionError::InvalidInstructionData);
            }
            authorize_voter(context, &mut state, new, signers, clock)?;
        }
        VoteAuthorize::Withdrawer => {
            signers.check(context, &state.withdrawer)?;
            state.withdrawer = new;
        }
        VoteAuthorize::VoterWithBls(bls) => {
            if !has_bls {
                return Err(InstructionError::InvalidInstructionData);
            }
            check_possession(context, &bls)?;
            authorize_voter(context, &mut state, new, signers, clock)?;
            state.bls_key = Some(bls.key);
        }
    }
    state.save(context)
}

/// Makes `new` the authorized voter from the epoch after that of the latest leader schedule on. The
/// withdrawer or the current voter must sign.
fn authorize_voter(
    context: &InvokeContext<'_>,
    state: &mut VoteState,
    new: Pubkey,
    signers: Signers,
    clock: &Clock,
) -> Result<(), InstructionError> {
    let from_epoch = clock.leader_schedule_epoch.checked_add(1);
    let from_epoch = from_epoch.ok_or(InstructionError::InvalidAccountData)?;
    let voter = state.voter(clock.epoch)?;
    if !signers.has(context, &state.withdrawer) {
        signers.check(context, &voter)?;
    }
    Ok(state.set_voter(from_epoch, new)?)
}

fn update_identity(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    context.check_accounts(2)?;
    let node = context.key(1)?;
    let mut state = VoteState::load(context)?;
    check_signer(context, &state.withdrawer)?;
    check_signer(context, &node)?;
    state.node = node;
    if !context.has(Feature::CustomCommissionCollector) {
        state.block_revenue_collector = node;
    }
    state.save(context)
}

fn update_commission(context: &mut InvokeContext<'_>, percent: u8) -> Result<(), InstructionError> {
    let schedule = context.environment().sysvars.epoch_schedule();
    let schedule = schedule.ok_or(InstructionError::UnsupportedSysvar)?;
    let clock = clock(context)?;
    let state = VoteState::load(context);
    if !context.has(Feature::DelayCommissionUpdates) {
        // Delegators must have time to leave before an increased commission applies.
        let is_raised = state.as_ref().map_or(true, |state| {
            u16::from(percent) > (state.inflation_rewards_commission_bps / 100).min(255)
        });
        let slot = clock.slot.saturating_sub(schedule.first_normal_slot);
        let slot = slot.checked_rem(schedule.slots_per_epoch);
        let is_late = slot.is_some_and(|it| it.saturating_mul(2) > schedule.slots_per_epoch);
        if is_raised && is_late {
            return Err(VoteError::CommissionUpdateTooLate.into());
        }
    }
    let mut state = state?;
    check_signer(context, &state.withdrawer)?;
    state.inflation_rewards_commission_bps = basis_points(percent);
    state.save(context)
}

fn update_commission_bps(
    context: &mut InvokeContext<'_>,
    commission_bps: u16,
    kind: CommissionKind,
) -> Result<(), InstructionError> {
    let is_active = context.has(Feature::CommissionRateInBasisPoints)
        && context.has(Feature::DelayCommissionUpdates)
        && (kind == CommissionKind::InflationRewards || context.has(Feature::BlockRevenueSharing));
    if !is_active {
        return Err(InstructionError::InvalidInstructionData);
    }
    let mut state = VoteState::load(context)?;
    check_signer(context, &state.withdrawer)?;
    match kind {
        CommissionKind::InflationRewards => state.inflation_rewards_commission_bps = commission_bps,
        CommissionKind::BlockRevenue => state.block_revenue_commission_bps = commission_bps,
    }
    state.save(context)
}

fn update_collector(
    context: &mut InvokeContext<'_>,
    kind: CommissionKind,
) -> Result<(), InstructionError> {
    if !context.has(Feature::CustomCommissionCollector) {
        return Err(InstructionError::InvalidInstructionData);
    }
    context.check_accounts(3)?;
    let rent = rent(context)?;
    let mut state = VoteState::load(context)?;
    check_signer(context, &state.withdrawer)?;
    let collector = collector(context, 1, &rent)?;
    match kind {
        CommissionKind::InflationRewards => state.inflation_rewards_collector = collector,
        CommissionKind::BlockRevenue => state.block_revenue_collector = collector,
    }
    state.save(context)
}

fn check_legacy(context: &InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.has(Feature::DeprecateLegacyVoteInstructions) || context.environment().is_alpenglow {
        return Err(InstructionError::InvalidInstructionData);
    }
    Ok(())
}

/// Returns the slot hashes sysvar, newest slot first.
fn slot_hashes(context: &InvokeContext<'_>) -> Result<Vec<SlotHash>, InstructionError> {
    let data = context.environment().sysvars.get(&sysvar::slot_hashes::ID);
    let mut data = crate::wire::Reader::new(data.ok_or(InstructionError::UnsupportedSysvar)?);
    let hashes = data.list(|it| Ok((it.u64()?, it.array()?)));
    hashes.map_err(|_| InstructionError::UnsupportedSysvar)
}

fn cast_votes(context: &mut InvokeContext<'_>, vote: &Vote) -> Result<(), InstructionError> {
    check_legacy(context)?;
    if context.key(1)? != sysvar::slot_hashes::ID {
        return Err(InstructionError::InvalidArgument);
    }
    let hashes = slot_hashes(context)?;
    let clock = clock_at(context, 2)?;
    cast(context, &clock, |state, now| state.vote(vote, &hashes, now))
}

fn update_tower(context: &mut InvokeContext<'_>, tower: Tower) -> Result<(), InstructionError> {
    let hashes = slot_hashes(context)?;
    let clock = clock(context)?;
    cast(context, &clock, |state, now| state.update(tower, &hashes, now))
}

/// Applies `vote` to the state of account 0, whose authorized voter must sign.
fn cast(
    context: &mut InvokeContext<'_>,
    clock: &Clock,
    vote: impl FnOnce(&mut VoteState, Now) -> Result<(), VoteError>,
) -> Result<(), InstructionError> {
    let mut state = VoteState::load(context)?;
    let voter = state.voter(clock.epoch)?;
    check_signer(context, &voter)?;
    vote(&mut state, Now { epoch: clock.epoch, slot: clock.slot })?;
    state.save(context)
}

fn withdraw(context: &mut InvokeContext<'_>, lamports: u64) -> Result<(), InstructionError> {
    context.check_accounts(2)?;
    let rent = rent(context)?;
    let clock = clock(context)?;
    let state = VoteState::load(context)?;
    check_signer(context, &state.withdrawer)?;
    let mut account = context.borrow(0)?;
    let remaining = account.lamports().checked_sub(lamports);
    let remaining = remaining.ok_or(InstructionError::InsufficientFunds)?;
    if remaining == 0 {
        if state.pending_delegator_rewards > 0 {
            return Err(InstructionError::InsufficientFunds);
        }
        // Credits of the current and the previous epoch are still to be rewarded.
        let last = state.epoch_credits.last().map(|(epoch, ..)| *epoch);
        if last.is_some_and(|last| clock.epoch.saturating_sub(last) < 2) {
            return Err(VoteError::ActiveVoteAccountClose.into());
        }
        account.data_mut()?.fill(0);
    } else {
        let required = minimum_balance(&rent, account.data().len());
        let required = required.checked_add(state.pending_delegator_rewards);
        if remaining < required.ok_or(InstructionError::ArithmeticOverflow)? {
            return Err(InstructionError::InsufficientFunds);
        }
    }
    account.sub_lamports(lamports)?;
    context.borrow(1)?.add_lamports(lamports)
}
