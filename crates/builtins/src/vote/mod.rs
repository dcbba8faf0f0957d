//! The vote program: validators' accounts, their authorities, their votes.

pub(crate) mod account;
mod instruction;
mod state;
mod tower;

use selkie_crypto::bls12_381;
use selkie_svm::{
    Feature, InstructionError, InvokeContext, Pubkey,
    sysvars::{Clock, Rent},
};
use solana_sdk_ids::{system_program, sysvar, vote};

use self::{
    instruction::{
        BlsKey, CommissionKind, Seed, VoteAuthorize, VoteInit, VoteInitV2, VoteInstruction,
    },
    state::{VOTE_ACCOUNT_BYTES, VoteState, basis_points},
    tower::{Now, SlotHash},
};
use crate::{
    checks::{check_distinct, clock, clock_at, is_signer, minimum_balance, rent, rent_at},
    system::with_seed,
};

/// Compute units of any instruction.
pub(crate) const COMPUTE_UNITS: u64 = 2100;
/// What the proof that a BLS key's secret is known costs besides (SIMD-0387).
const BLS_PROOF_COMPUTE_UNITS: u64 = 34_500;

/// The vote program's own errors, each at its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum VoteError {
    VoteTooOld = 0,
    SlotsMismatch = 1,
    SlotHashMismatch = 2,
    EmptySlots = 3,
    TimestampTooOld = 4,
    TooSoonToReauthorize = 5,
    LockoutConflict = 6,
    NewVoteStateLockoutMismatch = 7,
    SlotsNotOrdered = 8,
    ConfirmationsNotOrdered = 9,
    ZeroConfirmations = 10,
    ConfirmationTooLarge = 11,
    RootRollBack = 12,
    ConfirmationRollBack = 13,
    SlotSmallerThanRoot = 14,
    TooManyVotes = 15,
    VotesTooOldAllFiltered = 16,
    RootOnDifferentFork = 17,
    ActiveVoteAccountClose = 18,
    CommissionUpdateTooLate = 19,
}

impl From<VoteError> for InstructionError {
    fn from(error: VoteError) -> Self {
        Self::Custom(error as u32)
    }
}

pub(crate) fn process(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if !vote::check_id(context.borrow(0)?.owner()) {
        return Err(InstructionError::InvalidAccountOwner);
    }
    let data = context.instruction().data.clone();
    let instruction = VoteInstruction::read(&data);
    match instruction.map_err(|_| InstructionError::InvalidInstructionData)? {
        VoteInstruction::InitializeAccount(init) => initialize(context, &init),
        VoteInstruction::Authorize(new, kind) => {
            let clock = clock_at(context, 1)?;
            authorize(context, new, kind, Signers::OfInstruction, &clock)
        }
        VoteInstruction::AuthorizeChecked(kind) => {
            let new = checked_authority(context)?;
            let clock = clock_at(context, 1)?;
            authorize(context, new, kind, Signers::OfInstruction, &clock)
        }
        VoteInstruction::AuthorizeWithSeed(seed, new) => {
            context.check_accounts(3)?;
            authorize_with_seed(context, new, &seed)
        }
        VoteInstruction::AuthorizeCheckedWithSeed(seed) => {
            let new = checked_authority(context)?;
            authorize_with_seed(context, new, &seed)
        }
        VoteInstruction::UpdateValidatorIdentity => update_identity(context),
        VoteInstruction::UpdateCommission(percent) => update_commission(context, percent),
        VoteInstruction::UpdateCommissionBps { commission_bps, kind } => {
            update_commission_bps(context, commission_bps, kind)
        }
        VoteInstruction::UpdateCommissionCollector(kind) => update_collector(context, kind),
        VoteInstruction::Vote(vote) => {
            check_legacy(context)?;
            if context.key(1)? != sysvar::slot_hashes::ID {
                return Err(InstructionError::InvalidArgument);
            }
            let hashes = slot_hashes(context)?;
            let clock = clock_at(context, 2)?;
            cast(context, &clock, |state, now| state.vote(&vote, &hashes, now))
        }
        VoteInstruction::UpdateVoteState(tower) => {
            check_legacy(context)?;
            let hashes = slot_hashes(context)?;
            let clock = clock(context)?;
            cast(context, &clock, |state, now| state.take_tower(tower, &hashes, now))
        }
        VoteInstruction::TowerSync(tower) => {
            let hashes = slot_hashes(context)?;
            let clock = clock(context)?;
            cast(context, &clock, |state, now| state.take_tower(tower, &hashes, now))
        }
        VoteInstruction::Withdraw(lamports) => withdraw(context, lamports),
        VoteInstruction::InitializeAccountV2(init) => initialize_v2(context, &init),
        // Not there as long as block revenue is not shared (SIMD-0123).
        VoteInstruction::DepositDelegatorRewards => Err(InstructionError::InvalidInstructionData),
    }
}

const INITIALIZE_V2_NEEDS: [Feature; 5] = [
    Feature::BlsPubkeyManagementInVoteAccount,
    Feature::CommissionRateInBasisPoints,
    Feature::CustomCommissionCollector,
    Feature::BlockRevenueSharing,
    Feature::VoteAccountInitializeV2,
];

/// Verifies that a BLS key is that of the voter of account 0.
fn check_possession(context: &mut InvokeContext<'_>, bls: &BlsKey) -> Result<(), InstructionError> {
    context.consume(BLS_PROOF_COMPUTE_UNITS)?;
    let payload = [b"ALPENGLOW", context.key(0)?.as_ref()].concat();
    if bls12_381::possession_is_proven(&payload, &bls.key, &bls.proof) {
        Ok(())
    } else {
        Err(InstructionError::InvalidArgument)
    }
}

/// Whose signatures count.
#[derive(Clone, Copy, Debug)]
enum Signers {
    /// Those of all accounts that signed.
    OfInstruction,
    /// That of an address which is derived from one that signed.
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

/// Accounts 2 and 3 collect what the account earns.
fn initialize_v2(
    context: &mut InvokeContext<'_>,
    init: &VoteInitV2,
) -> Result<(), InstructionError> {
    if !INITIALIZE_V2_NEEDS.iter().all(|feature| context.has(*feature)) {
        return Err(InstructionError::InvalidInstructionData);
    }
    context.check_accounts(4)?;
    // Both are borrowed before anything is checked, unless they are the vote account itself.
    if context.key(3)? != context.key(0)? {
        check_distinct(context, 2, 3)?;
    }
    let clock = clock(context)?;
    let rent = rent(context)?;
    check_uninitialized(context)?;
    check_signer(context, &init.node)?;
    let collectors = [collector(context, 2, &rent)?, collector(context, 3, &rent)?];
    check_possession(context, &init.bls)?;
    VoteState::with_bls(init, collectors, clock.epoch).save(context)
}

/// Fails unless account 0 has a vote account's size and no state.
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

/// The address of an account that may collect what account 0 earns (SIMD-0232): that account
/// itself, or one of the system program that is rent exempt and not reserved.
fn collector(
    context: &mut InvokeContext<'_>,
    place: usize,
    rent: &Rent,
) -> Result<Pubkey, InstructionError> {
    let key = context.key(place)?;
    if key == context.key(0)? {
        return Ok(key);
    }
    let account = context.borrow(place)?;
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

/// The new authority that must sign too.
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
            appoint(context, &mut state, new, signers, clock)?;
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
            appoint(context, &mut state, new, signers, clock)?;
            state.bls_key = Some(bls.key);
        }
    }
    state.save(context)
}

/// Makes `new` the voter after the epoch of the last leader schedule. The withdrawer or the voter
/// of now must sign.
fn appoint(
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
        // Delegators shall have time to leave before a commission that was raised counts.
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
    let is_there = context.has(Feature::CommissionRateInBasisPoints)
        && context.has(Feature::DelayCommissionUpdates)
        && (kind == CommissionKind::InflationRewards || context.has(Feature::BlockRevenueSharing));
    if !is_there {
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
    if context.has(Feature::DeprecateLegacyVoteInstructions) {
        return Err(InstructionError::InvalidInstructionData);
    }
    Ok(())
}

/// The slots of this fork that are known by their hashes, newest first.
fn slot_hashes(context: &InvokeContext<'_>) -> Result<Vec<SlotHash>, InstructionError> {
    let data = context.environment().sysvars.get(&sysvar::slot_hashes::ID);
    let mut data = crate::wire::Reader::new(data.ok_or(InstructionError::UnsupportedSysvar)?);
    let hashes = data.list(|it| Ok((it.u64()?, it.array()?)));
    hashes.map_err(|_| InstructionError::UnsupportedSysvar)
}

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
    let rest = account.lamports().checked_sub(lamports);
    let rest = rest.ok_or(InstructionError::InsufficientFunds)?;
    if rest == 0 {
        if state.pending_delegator_rewards > 0 {
            return Err(InstructionError::InsufficientFunds);
        }
        // Whoever got credits in this epoch or the last is still paid for them.
        let last = state.epoch_credits.last().map(|(epoch, ..)| *epoch);
        if last.is_some_and(|last| clock.epoch.saturating_sub(last) < 2) {
            return Err(VoteError::ActiveVoteAccountClose.into());
        }
        account.data_mut()?.fill(0);
    } else {
        let required = minimum_balance(&rent, account.data().len());
        let required = required.checked_add(state.pending_delegator_rewards);
        if rest < required.ok_or(InstructionError::ArithmeticOverflow)? {
            return Err(InstructionError::InsufficientFunds);
        }
    }
    account.sub_lamports(lamports)?;
    context.borrow(1)?.add_lamports(lamports)
}
