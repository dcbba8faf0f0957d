//! Creating, allocating, assigning and funding accounts.

use selkie_svm::{InstructionError, InvokeContext, Pubkey, cost::ACCOUNT_BYTES_MAX, error};
use sha2::{Digest, Sha256};
use solana_pubkey::{MAX_SEED_LEN, PubkeyError};
use solana_sdk_ids::system_program;

use super::SystemError;
use crate::checks::{is_signer, refuse};

/// The suffix that is hashed into every program-derived address.
const PROGRAM_ADDRESS_MARKER: &[u8] = b"ProgramDerivedAddress";

/// An address and, if it was derived, the base key that signs for it. Its `Debug` form is part of
/// log lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    address: Pubkey,
    base: Option<Pubkey>,
}

impl Address {
    pub(super) fn plain(address: Pubkey) -> Self {
        Self { address, base: None }
    }

    /// Returns the address of instruction account `index`, which must be the one derived from
    /// `base`, `seed` and `owner`.
    pub(super) fn derived(
        context: &mut InvokeContext<'_>,
        index: usize,
        base: Pubkey,
        seed: &str,
        owner: Pubkey,
    ) -> Result<Self, InstructionError> {
        let address = context.key(index)?;
        let derived = with_seed(&base, seed, &owner)?;
        if address != derived {
            let why = format!("Create: address {address} does not match derived address {derived}");
            return refuse(context, why, SystemError::AddressWithSeedMismatch.into());
        }
        Ok(Self { address, base: Some(base) })
    }

    fn is_signer(&self, context: &InvokeContext<'_>) -> bool {
        context.has_signer(&self.base.unwrap_or(self.address))
    }
}

/// Derives the address that `base` signs for with `seed` and `owner`. Owners that end with the
/// marker of program-derived addresses are refused: the hash could be one of those addresses.
pub(crate) fn with_seed(
    base: &Pubkey,
    seed: &str,
    owner: &Pubkey,
) -> Result<Pubkey, InstructionError> {
    // agave converts the `PubkeyError`'s discriminant into the number of an instruction error.
    let fail = |it: PubkeyError| Err(error::from_number(it as u64));
    if seed.len() > MAX_SEED_LEN {
        return fail(PubkeyError::MaxSeedLengthExceeded);
    }
    if owner.as_ref().ends_with(PROGRAM_ADDRESS_MARKER) {
        return fail(PubkeyError::IllegalOwner);
    }
    let address: [u8; 32] =
        Sha256::new().chain_update(base).chain_update(seed).chain_update(owner).finalize().into();
    Ok(Pubkey::new_from_array(address))
}

pub(super) fn allocate(
    context: &mut InvokeContext<'_>,
    index: usize,
    address: &Address,
    space: u64,
) -> Result<(), InstructionError> {
    if !address.is_signer(context) {
        let why = format!("Allocate: 'to' account {address:?} must sign");
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    let mut account = context.borrow(index)?;
    if !account.data().is_empty() || !system_program::check_id(account.owner()) {
        let why = format!("Allocate: account {address:?} already in use");
        return refuse(context, why, SystemError::AccountAlreadyInUse.into());
    }
    match usize::try_from(space) {
        Ok(len) if len <= ACCOUNT_BYTES_MAX => account.set_data_len(len),
        _ => {
            let why = format!("Allocate: requested {space}, max allowed {ACCOUNT_BYTES_MAX}");
            refuse(context, why, SystemError::InvalidAccountDataLength.into())
        }
    }
}

pub(super) fn assign(
    context: &mut InvokeContext<'_>,
    index: usize,
    address: &Address,
    owner: Pubkey,
) -> Result<(), InstructionError> {
    if *context.borrow(index)?.owner() == owner {
        return Ok(());
    }
    if !address.is_signer(context) {
        let why = format!("Assign: account {address:?} must sign");
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    context.borrow(index)?.set_owner(owner)
}

/// Creates account 1 with lamports of account 0.
pub(super) fn create(
    context: &mut InvokeContext<'_>,
    to: &Address,
    lamports: u64,
    space: u64,
    owner: Pubkey,
) -> Result<(), InstructionError> {
    if context.borrow(1)?.lamports() > 0 {
        let why = format!("Create Account: account {to:?} already in use");
        return refuse(context, why, SystemError::AccountAlreadyInUse.into());
    }
    allocate(context, 1, to, space)?;
    assign(context, 1, to, owner)?;
    transfer(context, 0, 1, lamports)
}

pub(super) fn transfer(
    context: &mut InvokeContext<'_>,
    from: usize,
    to: usize,
    lamports: u64,
) -> Result<(), InstructionError> {
    if !is_signer(context, from)? {
        let why = format!("Transfer: `from` account {} must sign", context.key(from)?);
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    transfer_verified(context, from, to, lamports)
}

/// Transfers lamports from account 0, whose address is derived from that of account 1, to account 2.
pub(super) fn transfer_with_seed(
    context: &mut InvokeContext<'_>,
    seed: &str,
    owner: &Pubkey,
    lamports: u64,
) -> Result<(), InstructionError> {
    let base = context.key(1)?;
    if !is_signer(context, 1)? {
        let why = format!("Transfer: 'from' account {base:?} must sign");
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    let derived = with_seed(&base, seed, owner)?;
    let from = context.key(0)?;
    if from != derived {
        let why =
            format!("Transfer: 'from' address {from} does not match derived address {derived}");
        return refuse(context, why, SystemError::AddressWithSeedMismatch.into());
    }
    transfer_verified(context, 0, 2, lamports)
}

fn transfer_verified(
    context: &mut InvokeContext<'_>,
    from: usize,
    to: usize,
    lamports: u64,
) -> Result<(), InstructionError> {
    let mut payer = context.borrow(from)?;
    if !payer.data().is_empty() {
        let why = "Transfer: `from` must not carry data";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    let balance = payer.lamports();
    if lamports > balance {
        let why = format!("Transfer: insufficient lamports {balance}, need {lamports}");
        return refuse(context, why, SystemError::ResultWithNegativeLamports.into());
    }
    payer.sub_lamports(lamports)?;
    context.borrow(to)?.add_lamports(lamports)
}
