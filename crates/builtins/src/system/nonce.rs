//! Nonce accounts: each stores a durable nonce, used in place of a recent blockhash.

use selkie_layout::system::{FeeCalculator, NONCE_ACCOUNT, NonceAccount};
use selkie_svm::{BorrowedAccount, InstructionError, InvokeContext, Pubkey, nonce::durable_nonce};
use solana_sdk_ids::system_program;

use super::SystemError;
use crate::{
    checks::{has_recent_blockhashes_at, minimum_balance, refuse, rent_at},
    wire::{Malformed, store},
};

/// The state of a nonce account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Nonce {
    /// Whether the nonce is a plain blockhash, which transactions can no longer use.
    is_legacy: bool,
    state: Option<Initialized>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Initialized {
    authority: Pubkey,
    durable_nonce: [u8; 32],
    lamports_per_signature: u64,
}

impl Nonce {
    fn of(account: &BorrowedAccount<'_>) -> Result<Self, InstructionError> {
        Self::read(account.data()).map_err(|_| InstructionError::InvalidAccountData)
    }

    fn read(data: &[u8]) -> Result<Self, Malformed> {
        let is_legacy = match NONCE_ACCOUNT.version.get(data) {
            Some(0) => true,
            Some(1) => false,
            _ => return Err(Malformed),
        };
        let state = match NONCE_ACCOUNT.state.get(data) {
            Some(0) => None,
            Some(1) => {
                let it = NonceAccount::at_start_of(data).ok_or(Malformed)?;
                Some(Initialized {
                    authority: it.authority,
                    durable_nonce: it.blockhash,
                    lamports_per_signature: it.fee_calculator.lamports_per_signature,
                })
            }
            _ => return Err(Malformed),
        };
        Ok(Self { is_legacy, state })
    }

    fn write(&self) -> Vec<u8> {
        let state = self.state.as_ref();
        let lamports_per_signature = state.map_or(0, |it| it.lamports_per_signature);
        let account = NonceAccount {
            version: u32::from(!self.is_legacy),
            state: u32::from(state.is_some()),
            authority: state.map(|it| it.authority).unwrap_or_default(),
            blockhash: state.map(|it| it.durable_nonce).unwrap_or_default(),
            fee_calculator: FeeCalculator { lamports_per_signature },
        };
        let mut bytes = account.bytes();
        if state.is_none() {
            bytes.truncate(NONCE_ACCOUNT.state.end());
        }
        bytes
    }

    fn current(state: Option<Initialized>) -> Self {
        Self { is_legacy: false, state }
    }
}

fn next(context: &InvokeContext<'_>) -> [u8; 32] {
    durable_nonce(&context.environment().blockhash).to_bytes()
}

/// Returns the state of account 0, which must be writable.
fn writable(context: &mut InvokeContext<'_>, instruction: &str) -> Result<Nonce, InstructionError> {
    let account = context.borrow(0)?;
    if !account.is_writable() {
        let why =
            format!("{instruction} nonce account: Account {} must be writeable", account.key());
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    Nonce::of(&account)
}

fn invalid_state<T>(
    context: &mut InvokeContext<'_>,
    instruction: &str,
) -> Result<T, InstructionError> {
    let why = format!("{instruction} nonce account: Account {} state is invalid", context.key(0)?);
    refuse(context, why, InstructionError::InvalidAccountData)
}

fn check_expired(
    context: &mut InvokeContext<'_>,
    instruction: &str,
    state: &Initialized,
) -> Result<(), InstructionError> {
    if state.durable_nonce != next(context) {
        return Ok(());
    }
    let why = format!("{instruction} nonce account: nonce can only advance once per slot");
    refuse(context, why, SystemError::NonceBlockhashNotExpired.into())
}

fn check_recent_blockhashes(
    context: &mut InvokeContext<'_>,
    instruction: &str,
) -> Result<(), InstructionError> {
    if has_recent_blockhashes_at(context, 1)? {
        return Ok(());
    }
    let why = format!("{instruction} nonce account: recent blockhash list is empty");
    refuse(context, why, SystemError::NonceNoRecentBlockhashes.into())
}

fn write(context: &mut InvokeContext<'_>, nonce: Nonce) -> Result<(), InstructionError> {
    store(&mut context.borrow(0)?, &nonce.write())
}

/// Replaces the nonce of account 0 by the durable nonce of the latest blockhash.
pub(super) fn advance(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    context.check_accounts(1)?;
    check_recent_blockhashes(context, "Advance")?;
    let Some(state) = writable(context, "Advance")?.state else {
        return invalid_state(context, "Advance");
    };
    let authority = state.authority;
    if !context.has_signer(&authority) {
        let why = format!("Advance nonce account: Account {authority} must be a signer");
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    check_expired(context, "Advance", &state)?;
    let durable_nonce = next(context);
    let lamports_per_signature = context.environment().lamports_per_signature;
    let state = Initialized { authority, durable_nonce, lamports_per_signature };
    write(context, Nonce::current(Some(state)))
}

/// Transfers lamports from account 0 to account 1. Withdrawing the whole balance closes the account.
pub(super) fn withdraw(
    context: &mut InvokeContext<'_>,
    lamports: u64,
) -> Result<(), InstructionError> {
    context.check_accounts(2)?;
    has_recent_blockhashes_at(context, 2)?;
    let rent = rent_at(context, 3)?;
    let nonce = writable(context, "Withdraw")?;
    let from = context.borrow(0)?;
    let (key, balance, len) = (*from.key(), from.lamports(), from.data().len());
    let insufficient = |context: &mut InvokeContext<'_>, need: u64| {
        let why = format!("Withdraw nonce account: insufficient lamports {balance}, need {need}");
        refuse(context, why, InstructionError::InsufficientFunds)
    };
    match nonce.state {
        None => {
            if lamports > balance {
                return insufficient(context, lamports);
            }
            check_withdrawer(context, &key)?;
        }
        Some(state) if lamports == balance => {
            check_expired(context, "Withdraw", &state)?;
            check_withdrawer(context, &state.authority)?;
            write(context, Nonce::current(None))?;
        }
        Some(state) => {
            let need = lamports.checked_add(minimum_balance(&rent, len));
            let need = need.ok_or(InstructionError::InsufficientFunds)?;
            if need > balance {
                return insufficient(context, need);
            }
            check_withdrawer(context, &state.authority)?;
        }
    }
    context.borrow(0)?.sub_lamports(lamports)?;
    context.borrow(1)?.add_lamports(lamports)
}

fn check_withdrawer(
    context: &mut InvokeContext<'_>,
    signer: &Pubkey,
) -> Result<(), InstructionError> {
    if context.has_signer(signer) {
        return Ok(());
    }
    let why = format!("Withdraw nonce account: Account {signer} must sign");
    refuse(context, why, InstructionError::MissingRequiredSignature)
}

/// Initializes account 0 with the durable nonce of the latest blockhash.
pub(super) fn initialize(
    context: &mut InvokeContext<'_>,
    authority: Pubkey,
) -> Result<(), InstructionError> {
    context.check_accounts(1)?;
    check_recent_blockhashes(context, "Initialize")?;
    let rent = rent_at(context, 2)?;
    if writable(context, "Initialize")?.state.is_some() {
        return invalid_state(context, "Initialize");
    }
    let account = context.borrow(0)?;
    let (balance, need) = (account.lamports(), minimum_balance(&rent, account.data().len()));
    if balance < need {
        let why = format!("Initialize nonce account: insufficient lamports {balance}, need {need}");
        return refuse(context, why, InstructionError::InsufficientFunds);
    }
    let durable_nonce = next(context);
    let lamports_per_signature = context.environment().lamports_per_signature;
    let state = Initialized { authority, durable_nonce, lamports_per_signature };
    write(context, Nonce::current(Some(state)))
}

/// Sets the authority of account 0.
pub(super) fn authorize(
    context: &mut InvokeContext<'_>,
    authority: Pubkey,
) -> Result<(), InstructionError> {
    context.check_accounts(1)?;
    let nonce = writable(context, "Authorize")?;
    let Some(state) = nonce.state else { return invalid_state(context, "Authorize") };
    if !context.has_signer(&state.authority) {
        let why = format!("Authorize nonce account: Account {} must sign", state.authority);
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    write(context, Nonce { state: Some(Initialized { authority, ..state }), ..nonce })
}

/// Upgrades a legacy nonce to a durable one; no signature is required.
pub(super) fn upgrade(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    context.check_accounts(1)?;
    let account = context.borrow(0)?;
    if !system_program::check_id(account.owner()) {
        return Err(InstructionError::InvalidAccountOwner);
    }
    if !account.is_writable() {
        return Err(InstructionError::InvalidArgument);
    }
    let Nonce { is_legacy: true, state: Some(state) } = Nonce::of(&account)? else {
        return Err(InstructionError::InvalidArgument);
    };
    let durable_nonce = durable_nonce(&state.durable_nonce.into()).to_bytes();
    write(context, Nonce::current(Some(Initialized { durable_nonce, ..state })))
}
