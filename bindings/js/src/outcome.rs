//! Results of transactions. What they contain is converted when it is asked for.

use napi::bindgen_prelude::{BigInt, Uint8Array};
use napi_derive::napi;
use selkie_litesvm::types::{
    FailedTransactionMetadata, SimulatedTransactionInfo, TransactionMetadata, TransactionResult,
};
use solana_account::Account;
use solana_address::Address;
use solana_instruction_error::InstructionError;
use solana_transaction_error::TransactionError;

/// An account with its address.
#[napi(object)]
pub struct NativeAccount {
    /// Its address.
    pub address: Uint8Array,
    /// Its balance.
    pub lamports: BigInt,
    /// Its data.
    pub data: Uint8Array,
    /// The program that owns it.
    pub owner: Uint8Array,
    /// Whether it is a program.
    pub executable: bool,
}

impl NativeAccount {
    pub(crate) fn new(address: Address, account: Account) -> Self {
        Self {
            address: bytes(address),
            lamports: account.lamports.into(),
            data: account.data.into(),
            owner: bytes(account.owner),
            executable: account.executable,
        }
    }
}

fn bytes(of: impl AsRef<[u8]>) -> Uint8Array {
    of.as_ref().to_vec().into()
}

/// Why a transaction failed.
#[napi(object)]
#[derive(Default)]
pub struct NativeError {
    /// The name of the error.
    pub name: String,
    /// The number that belongs to it: of the instruction or of the account.
    pub index: Option<u32>,
    /// The name of the instruction's error.
    pub instruction: Option<String>,
    /// The code of the error `Custom`.
    pub code: Option<u32>,
}

impl NativeError {
    fn new(error: &TransactionError) -> Self {
        let text = format!("{error:?}");
        let name = name(&text);
        let index = match error {
            TransactionError::InstructionError(index, _)
            | TransactionError::DuplicateInstruction(index) => Some(u32::from(*index)),
            TransactionError::InsufficientFundsForRent { account_index }
            | TransactionError::ProgramExecutionTemporarilyRestricted { account_index } => {
                Some(u32::from(*account_index))
            }
            _ => None,
        };
        let mut this = Self { name, index, ..Self::default() };
        if let TransactionError::InstructionError(_, error) = error {
            this.instruction = Some(name_of(error));
            this.code = if let InstructionError::Custom(code) = error { Some(*code) } else { None };
        }
        this
    }
}

fn name_of(error: &InstructionError) -> String {
    name(&format!("{error:?}"))
}

/// Returns the name of a variant from its description.
fn name(text: &str) -> String {
    text.split(|it: char| !it.is_alphanumeric()).next().unwrap_or(text).to_owned()
}

/// An inner instruction.
#[napi(object)]
pub struct NativeInstruction {
    /// Which account of the message the program is.
    pub program_id_index: u8,
    /// Which accounts of the message it has.
    pub accounts: Uint8Array,
    /// Its data.
    pub data: Uint8Array,
    /// How deep the call was; a top-level instruction has 1.
    pub stack_height: u8,
}

/// The result of a transaction.
#[napi]
pub struct NativeOutcome {
    meta: TransactionMetadata,
    error: Option<TransactionError>,
    post_accounts: Vec<(Address, Account)>,
}

impl NativeOutcome {
    pub(crate) fn sent(result: TransactionResult) -> Self {
        match result {
            Ok(meta) => Self { meta, error: None, post_accounts: Vec::new() },
            Err(failed) => Self::failed(failed),
        }
    }

    pub(crate) fn simulated(
        result: Result<SimulatedTransactionInfo, FailedTransactionMetadata>,
    ) -> Self {
        match result {
            Ok(SimulatedTransactionInfo { meta, post_accounts }) => {
                let accounts = post_accounts.into_iter();
                let post_accounts = accounts.map(|(key, it)| (key, it.into())).collect();
                Self { meta, error: None, post_accounts }
            }
            Err(failed) => Self::failed(failed),
        }
    }

    fn failed(failed: FailedTransactionMetadata) -> Self {
        let FailedTransactionMetadata { err, meta } = failed;
        Self { meta, error: Some(err), post_accounts: Vec::new() }
    }
}

#[napi]
impl NativeOutcome {
    /// Returns why it failed, if it did.
    #[napi(catch_unwind)]
    pub fn error(&self) -> Option<NativeError> {
        self.error.as_ref().map(NativeError::new)
    }

    /// Returns the first signature.
    #[napi(catch_unwind)]
    pub fn signature(&self) -> Uint8Array {
        bytes(self.meta.signature)
    }

    /// Returns the log.
    #[napi(catch_unwind)]
    pub fn logs(&self) -> Vec<String> {
        self.meta.logs.clone()
    }

    /// Returns the log in colour.
    #[napi(catch_unwind)]
    pub fn pretty_logs(&self) -> String {
        self.meta.pretty_logs()
    }

    /// Returns the inner instructions of each instruction.
    #[napi(catch_unwind)]
    pub fn inner_instructions(&self) -> Vec<Vec<NativeInstruction>> {
        let lists = self.meta.inner_instructions.iter();
        lists
            .map(|list| {
                let list = list.iter().map(|inner| NativeInstruction {
                    program_id_index: inner.instruction.program_id_index,
                    accounts: bytes(&inner.instruction.accounts),
                    data: bytes(&inner.instruction.data),
                    stack_height: inner.stack_height,
                });
                list.collect()
            })
            .collect()
    }

    /// Returns the compute units.
    #[napi(catch_unwind)]
    pub fn compute_units(&self) -> BigInt {
        self.meta.compute_units_consumed.into()
    }

    /// Returns the fee in lamports.
    #[napi(catch_unwind)]
    pub fn fee(&self) -> BigInt {
        self.meta.fee.into()
    }

    /// Returns the program that returned data last.
    #[napi(catch_unwind)]
    pub fn return_program(&self) -> Uint8Array {
        bytes(self.meta.return_data.program_id)
    }

    /// Returns the data that it returned.
    #[napi(catch_unwind)]
    pub fn return_data(&self) -> Uint8Array {
        bytes(&self.meta.return_data.data)
    }

    /// Returns the writable accounts after a simulation.
    #[napi(catch_unwind)]
    pub fn post_accounts(&self) -> Vec<NativeAccount> {
        let accounts = self.post_accounts.iter();
        accounts.map(|(key, account)| NativeAccount::new(*key, account.clone())).collect()
    }

    /// Describes the result, or the error alone.
    #[napi(catch_unwind)]
    pub fn text(&self, is_error: bool) -> String {
        match &self.error {
            Some(error) if is_error => format!("{error:?}"),
            _ => format!("{:?}", self.meta),
        }
    }
}
