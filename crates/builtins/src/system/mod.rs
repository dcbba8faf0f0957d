//! The system program: creates, allocates, assigns and funds accounts; nonce accounts.

mod accounts;
mod nonce;

use selkie_layout::system::SystemInstruction;
use selkie_svm::{Feature, InstructionError, InvokeContext, Pubkey};

pub(crate) use self::accounts::with_seed;

use self::accounts::{Address, allocate, assign, create, transfer, transfer_with_seed};

/// The cost of every instruction of the system program.
pub(crate) const COMPUTE_UNITS: u64 = 150;

/// The custom errors of the system program, with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum SystemError {
    AccountAlreadyInUse = 0,
    ResultWithNegativeLamports = 1,
    InvalidAccountDataLength = 3,
    AddressWithSeedMismatch = 5,
    NonceNoRecentBlockhashes = 6,
    NonceBlockhashNotExpired = 7,
}

impl From<SystemError> for InstructionError {
    fn from(error: SystemError) -> Self {
        Self::Custom(error as u32)
    }
}

pub(crate) fn process(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let data = context.instruction().data.clone();
    let instruction = SystemInstruction::read(&data);
    match instruction.map_err(|_| InstructionError::InvalidInstructionData)? {
        SystemInstruction::CreateAccount { lamports, space, owner } => {
            context.check_accounts(2)?;
            let to = Address::plain(context.key(1)?);
            create(context, &to, lamports, space, owner)
        }
        SystemInstruction::CreateAccountWithSeed { base, seed, lamports, space, owner } => {
            context.check_accounts(2)?;
            let to = Address::derived(context, 1, base, seed, owner)?;
            create(context, &to, lamports, space, owner)
        }
        SystemInstruction::CreateAccountAllowPrefund { lamports, space, owner } => {
            create_allow_prefund(context, lamports, space, owner)
        }
        SystemInstruction::Assign { owner } => {
            context.check_accounts(1)?;
            let address = Address::plain(context.key(0)?);
            assign(context, 0, &address, owner)
        }
        SystemInstruction::AssignWithSeed { base, seed, owner } => {
            context.check_accounts(1)?;
            let address = Address::derived(context, 0, base, seed, owner)?;
            assign(context, 0, &address, owner)
        }
        SystemInstruction::Allocate { space } => {
            context.check_accounts(1)?;
            let address = Address::plain(context.key(0)?);
            allocate(context, 0, &address, space)
        }
        SystemInstruction::AllocateWithSeed { base, seed, space, owner } => {
            context.check_accounts(1)?;
            let address = Address::derived(context, 0, base, seed, owner)?;
            allocate(context, 0, &address, space)?;
            assign(context, 0, &address, owner)
        }
        SystemInstruction::Transfer { lamports } => {
            context.check_accounts(2)?;
            transfer(context, 0, 1, lamports)
        }
        SystemInstruction::TransferWithSeed { lamports, source_seed, source_owner } => {
            context.check_accounts(3)?;
            transfer_with_seed(context, source_seed, &source_owner, lamports)
        }
        SystemInstruction::AdvanceNonce {} => nonce::advance(context),
        SystemInstruction::WithdrawFromNonce { lamports } => nonce::withdraw(context, lamports),
        SystemInstruction::InitializeNonce { nonce_authority } => {
            nonce::initialize(context, nonce_authority)
        }
        SystemInstruction::AuthorizeNonce { new_authorized } => {
            nonce::authorize(context, new_authorized)
        }
        SystemInstruction::UpgradeNonce {} => nonce::upgrade(context),
    }
}

/// Allocates and assigns account 0, which may already have lamports, and transfers further lamports
/// to it from account 1 if there are any to transfer.
fn create_allow_prefund(
    context: &mut InvokeContext<'_>,
    lamports: u64,
    space: u64,
    owner: Pubkey,
) -> Result<(), InstructionError> {
    if !context.has(Feature::CreateAccountAllowPrefund) {
        return Err(InstructionError::InvalidInstructionData);
    }
    context.check_accounts(if lamports > 0 { 2 } else { 1 })?;
    let to = Address::plain(context.key(0)?);
    allocate(context, 0, &to, space)?;
    assign(context, 0, &to, owner)?;
    if lamports > 0 { transfer(context, 1, 0, lamports) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_of_their_rows() {
        let all = [
            SystemError::AccountAlreadyInUse,
            SystemError::ResultWithNegativeLamports,
            SystemError::InvalidAccountDataLength,
            SystemError::AddressWithSeedMismatch,
            SystemError::NonceNoRecentBlockhashes,
            SystemError::NonceBlockhashNotExpired,
        ];
        for error in all {
            let row = selkie_layout::errors::find(&selkie_layout::system::ID, error as u32);
            assert_eq!(row.map(|it| it.name.into_owned()), Some(format!("{error:?}")));
        }
    }
}
