//! Nonce accounts: blockhashes that stay valid until they are used.

use selkie_svm::{
    BorrowedAccount, InstructionError, InvokeContext, Pubkey, nonce::durable_nonce, sysvars::Rent,
};
use solana_sdk_ids::system_program;

use super::SystemError;
use crate::{
    checks::{minimum_balance, refuse},
    wire::{Malformed, Reader, store},
};

/// What a nonce account holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Nonce {
    /// Legacy nonces are blockhashes as they are, and no transaction can use them any more.
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
        let mut it = Reader::new(data);
        let is_legacy = match it.u32()? {
            0 => true,
            1 => false,
            _ => return Err(Malformed),
        };
        let state = match it.u32()? {
            0 => None,
            1 => Some(Initialized {
                authority: it.pubkey()?,
                durable_nonce: it.array()?,
                lamports_per_signature: it.u64()?,
            }),
            _ => return Err(Malformed),
        };
        Ok(Self { is_legacy, state })
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(80);
        bytes.extend(u32::from(!self.is_legacy).to_le_bytes());
        bytes.extend(u32::from(self.state.is_some()).to_le_bytes());
        if let Some(state) = self.state {
            bytes.extend(state.authority.to_bytes());
            bytes.extend(state.durable_nonce);
            bytes.extend(state.lamports_per_signature.to_le_bytes());
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

/// Reads account 0, if it can be written to.
fn writable(context: &mut InvokeContext<'_>, what: &str) -> Result<Nonce, InstructionError> {
    let account = context.borrow(0)?;
    if !account.is_writable() {
        let why = format!("{what} nonce account: Account {} must be writeable", account.key());
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    Nonce::of(&account)
}

fn invalid_state<T>(context: &mut InvokeContext<'_>, what: &str) -> Result<T, InstructionError> {
    let why = format!("{what} nonce account: Account {} state is invalid", context.key(0)?);
    refuse(context, why, InstructionError::InvalidAccountData)
}

fn check_expired(
    context: &mut InvokeContext<'_>,
    what: &str,
    state: &Initialized,
) -> Result<(), InstructionError> {
    if state.durable_nonce != next(context) {
        return Ok(());
    }
    let why = format!("{what} nonce account: nonce can only advance once per slot");
    refuse(context, why, SystemError::NonceBlockhashNotExpired.into())
}

fn write(context: &mut InvokeContext<'_>, nonce: Nonce) -> Result<(), InstructionError> {
    store(&mut context.borrow(0)?, &nonce.write())
}

pub(super) fn advance(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
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

/// Pays account 1 from account 0. Who takes all of it closes the account.
pub(super) fn withdraw(
    context: &mut InvokeContext<'_>,
    lamports: u64,
    rent: &Rent,
) -> Result<(), InstructionError> {
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
            let need = lamports.checked_add(minimum_balance(rent, len));
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

pub(super) fn initialize(
    context: &mut InvokeContext<'_>,
    authority: Pubkey,
    rent: &Rent,
) -> Result<(), InstructionError> {
    if writable(context, "Initialize")?.state.is_some() {
        return invalid_state(context, "Initialize");
    }
    let account = context.borrow(0)?;
    let (balance, need) = (account.lamports(), minimum_balance(rent, account.data().len()));
    if balance < need {
        let why = format!("Initialize nonce account: insufficient lamports {balance}, need {need}");
        return refuse(context, why, InstructionError::InsufficientFunds);
    }
    let durable_nonce = next(context);
    let lamports_per_signature = context.environment().lamports_per_signature;
    let state = Initialized { authority, durable_nonce, lamports_per_signature };
    write(context, Nonce::current(Some(state)))
}

pub(super) fn authorize(
    context: &mut InvokeContext<'_>,
    authority: Pubkey,
) -> Result<(), InstructionError> {
    let nonce = writable(context, "Authorize")?;
    let Some(state) = nonce.state else { return invalid_state(context, "Authorize") };
    if !context.has_signer(&state.authority) {
        let why = format!("Authorize nonce account: Account {} must sign", state.authority);
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    write(context, Nonce { state: Some(Initialized { authority, ..state }), ..nonce })
}

/// Makes a legacy nonce a durable one; anybody may.
pub(super) fn upgrade(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
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
