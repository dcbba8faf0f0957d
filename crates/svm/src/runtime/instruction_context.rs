//! An instruction with its accounts resolved to indexes into the transaction's accounts.

use std::borrow::Cow;

use smallvec::SmallVec;
use solana_pubkey::Pubkey;

/// An account as an instruction names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionAccount {
    /// Its place among the transaction's accounts.
    pub index: u16,
    /// The first place at which the instruction names this account.
    pub first: u16,
    /// Whether it signed, for this instruction.
    pub is_signer: bool,
    /// Whether this instruction may change it.
    pub is_writable: bool,
}

/// The accounts of an instruction, in the order that the program sees. Most have a few.
pub(crate) type InstructionAccounts = SmallVec<[InstructionAccount; 8]>;

/// An instruction that is, was or will be processed.
#[derive(Clone, Debug)]
pub struct InstructionContext<'e> {
    /// The program.
    pub program_id: Pubkey,
    /// The place of the program's account in the transaction, if it is among its accounts.
    pub program_index: Option<u16>,
    /// The accounts, in the order that the program sees.
    pub accounts: InstructionAccounts,
    /// The data.
    pub data: Cow<'e, [u8]>,
    /// 1 for the instructions of the transaction itself.
    pub stack_height: usize,
    /// The place of the calling instruction in the trace.
    pub caller: Option<usize>,
    /// Compute units that it used, those of the instructions that it called included; 0 until it
    /// has ended.
    pub compute_units: u64,
}
