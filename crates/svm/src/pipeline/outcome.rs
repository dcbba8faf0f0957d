//! The result of a transaction.

use smallvec::SmallVec;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    chain::budget::Fee,
    runtime::{stop::Stopped, transaction_accounts::ReturnData},
};

/// An account of a transaction, before and after it.
// The address comes first in memory. Behind the padding of an account, the compiler would copy both
// with one wide store, which the loads that follow would have to wait for.
#[repr(C)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountChange {
    /// The account's address.
    pub key: Pubkey,
    /// The account before the transaction, if it existed.
    pub before: Option<AccountSharedData>,
    /// The account to write, or `None` if it is unchanged. An account without lamports is deleted.
    pub write: Option<AccountSharedData>,
    /// Whether the transaction could write to the account.
    pub is_writable: bool,
}

impl AccountChange {
    /// Returns the account after the transaction, if it still exists.
    #[must_use]
    pub fn after(&self) -> Option<&AccountSharedData> {
        let after = self.write.as_ref().or(self.before.as_ref());
        after.filter(|account| account.lamports() > 0)
    }

    /// Returns the slot that takes back a read-only account. Only the state that instructions work
    /// on holds such an account while they run, so that its data has one reference fewer.
    #[inline]
    pub(crate) fn return_slot(
        &mut self,
        account: &AccountSharedData,
    ) -> Option<&mut Option<AccountSharedData>> {
        let is_out = self.before.is_none() && !self.is_writable && account.lamports() > 0;
        is_out.then_some(&mut self.before)
    }
}

/// An inner instruction: one that a program invoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InnerInstruction {
    /// The index of the program among the transaction's accounts.
    pub program_index: u8,
    /// The indexes of the accounts among the transaction's accounts.
    pub accounts: Vec<u8>,
    /// The instruction data.
    pub data: Vec<u8>,
    /// The stack height: 2 for instructions that top-level instructions invoke.
    pub stack_height: u8,
    /// Compute units used, those of the instructions it invoked included.
    pub compute_units: u64,
}

/// The inner instructions of each top-level instruction, in the order of execution.
pub type InnerInstructions = SmallVec<[Vec<InnerInstruction>; 2]>;

/// The compute units of each top-level instruction.
pub type InstructionComputeUnits = SmallVec<[u64; 4]>;

/// The result of a transaction that has paid its fee.
///
/// It is large, so the pipeline passes it on in a box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processed {
    /// Whether the transaction succeeded.
    pub result: Result<(), TransactionError>,
    /// Whether instructions were executed. If not, the accounts could not be loaded, and the
    /// transaction paid its fee only.
    pub is_executed: bool,
    /// The fee.
    pub fee: Fee,
    /// Compute units used.
    pub compute_units: u64,
    /// The compute unit limit.
    pub compute_unit_limit: u64,
    /// Compute units of each top-level instruction that was started.
    pub instruction_compute_units: InstructionComputeUnits,
    /// The loaded accounts data size, in bytes (SIMD-0186).
    pub loaded_bytes: u32,
    /// The log lines.
    pub logs: Vec<String>,
    /// The inner instructions of each top-level instruction.
    pub inner_instructions: InnerInstructions,
    /// The data that was returned last.
    pub return_data: Option<ReturnData>,
    /// The program whose return data, empty or not, were the last: each program starts with empty
    /// ones. The default address if none was started.
    pub return_program: Pubkey,
    /// The transaction's accounts, in the order of its addresses.
    pub accounts: Vec<AccountChange>,
    /// Explanations for people, beside the log.
    pub notes: Vec<String>,
    /// Where the first program that trapped was when it did.
    pub stopped: Option<Box<Stopped>>,
}

impl Processed {
    /// Returns the accounts to write, by address.
    pub fn writes(&self) -> impl Iterator<Item = (&Pubkey, &AccountSharedData)> {
        self.accounts.iter().filter_map(|change| Some((&change.key, change.write.as_ref()?)))
    }

    /// Makes this the result of an empty transaction, and keeps the allocations.
    pub(crate) fn clear(&mut self) {
        let Self { result, is_executed, fee, compute_units, compute_unit_limit, .. } = self;
        (*result, *is_executed, *fee) = (Ok(()), false, Fee::default());
        (*compute_units, *compute_unit_limit) = (0, 0);
        let Self { instruction_compute_units, loaded_bytes, logs, inner_instructions, .. } = self;
        *loaded_bytes = 0;
        instruction_compute_units.clear();
        logs.clear();
        inner_instructions.clear();
        let Self { return_data, return_program, accounts, notes, stopped, .. } = self;
        (*return_data, *return_program, *stopped) = (None, Pubkey::default(), None);
        accounts.clear();
        notes.clear();
    }
}

/// The result of an empty transaction.
impl Default for Processed {
    fn default() -> Self {
        Self {
            result: Ok(()),
            is_executed: false,
            fee: Fee::default(),
            compute_units: 0,
            compute_unit_limit: 0,
            instruction_compute_units: InstructionComputeUnits::new(),
            loaded_bytes: 0,
            logs: Vec::new(),
            inner_instructions: InnerInstructions::new(),
            return_data: None,
            return_program: Pubkey::default(),
            accounts: Vec::new(),
            notes: Vec::new(),
            stopped: None,
        }
    }
}
