//! The accounts of a transaction while instructions work on them, and the rules of doing so.
//!
//! A program changes accounts in its own copy; what it may have changed is decided here, account
//! by account, when the copy is taken back. Which rule is asked first decides the error that the
//! world sees (agave: `solana-transaction-context`, `instruction_accounts.rs`).

use std::sync::Arc;

use selkie_elf::SyscallId;
use selkie_vm::{Host, MemoryMap, Meter, SyscallError, Trap};
use solana_account::Account;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use crate::{
    cost::{ACCOUNT_BYTES_MAX, TRANSACTION_GROWTH_MAX},
    engine::{Engine, EngineError},
    environment::Environment,
    instruction::Options,
    logs::Logs,
    programs::Program,
    run::Run,
    syscalls::Call,
};

/// What the last program that returned something returned.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReturnData {
    /// The program that set it.
    pub program_id: Pubkey,
    /// The bytes.
    pub data: Vec<u8>,
}

/// The accounts of a transaction, and what is counted over all of them.
#[derive(Debug)]
pub(crate) struct TransactionContext {
    accounts: Vec<(Pubkey, Account)>,
    /// Lamports that were made (or destroyed, if negative) so far. An instruction must leave 0.
    lamports_delta: i128,
    /// Bytes that accounts have grown by so far.
    resize_delta: i64,
    pub(crate) return_data: ReturnData,
}

/// An account as an instruction names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InstructionAccount {
    /// Its place among the transaction's accounts.
    pub(crate) index: usize,
    pub(crate) is_signer: bool,
    pub(crate) is_writable: bool,
}

/// An instruction that is, was or will be processed.
#[derive(Clone, Debug)]
pub(crate) struct InstructionContext {
    pub(crate) program_id: Pubkey,
    pub(crate) accounts: Vec<InstructionAccount>,
    pub(crate) data: Vec<u8>,
    /// 1 for the instructions of the transaction itself.
    pub(crate) height: usize,
    /// The place of the calling instruction in the trace.
    pub(crate) caller: Option<usize>,
}

impl InstructionContext {
    /// For each account, the place where the instruction names it first, if that is before.
    pub(crate) fn duplicates(&self) -> impl Iterator<Item = Option<usize>> {
        self.accounts.iter().enumerate().map(|(place, account)| {
            let before = self.accounts.iter().take(place);
            before.clone().position(|other| other.index == account.index)
        })
    }
}

impl TransactionContext {
    pub(crate) fn new(accounts: Vec<(Pubkey, Account)>) -> Self {
        Self { accounts, lamports_delta: 0, resize_delta: 0, return_data: ReturnData::default() }
    }

    /// An account and its address.
    ///
    /// # Panics
    /// If there is none at `index`: instructions are made of accounts of the transaction.
    pub(crate) fn account(&self, index: usize) -> &(Pubkey, Account) {
        self.accounts.get(index).expect("instructions name accounts of their transaction")
    }

    /// The addresses of all accounts, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Pubkey> {
        self.accounts.iter().map(|(key, _)| key)
    }

    /// An account, with the rights that a program has to it.
    pub(crate) fn borrow(
        &mut self,
        account: InstructionAccount,
        program: &Pubkey,
    ) -> BorrowedAccount<'_> {
        BorrowedAccount { transaction: self, program: *program, account }
    }

    pub(crate) fn lamports_delta(&self) -> i128 {
        self.lamports_delta
    }

    pub(crate) fn into_accounts(self) -> Vec<(Pubkey, Account)> {
        self.accounts
    }
}

/// Everything that instructions share while a transaction is executed.
#[derive(Debug)]
pub(crate) struct InvokeContext<'e> {
    pub(crate) environment: &'e Environment,
    pub(crate) transaction: TransactionContext,
    pub(crate) logs: Logs,
    pub(crate) meter: Meter,
    pub(crate) heap_bytes: u32,
    pub(crate) engine: Engine,
    /// Why a program could not be run as was asked for. What became of the instruction is void.
    pub(crate) engine_error: Option<EngineError>,
    /// The instructions that were started so far, in order.
    pub(crate) trace: Vec<InstructionContext>,
    /// The instructions that are not finished, outermost first.
    pub(crate) stack: Vec<Frame>,
    /// How the last program ended.
    pub(crate) last_run: Option<Run>,
    /// What tools may want to tell people besides the log.
    pub(crate) notes: Vec<String>,
}

/// An instruction that is not finished.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Its place in the trace.
    pub(crate) instruction: usize,
    pub(crate) program: Arc<Program>,
    /// Heap bytes that `sol_alloc_free_` handed out.
    pub(crate) heap_used: u64,
}

impl<'e> InvokeContext<'e> {
    pub(crate) fn new(
        accounts: Vec<(Pubkey, Account)>,
        environment: &'e Environment,
        options: &Options,
    ) -> Self {
        Self {
            environment,
            transaction: TransactionContext::new(accounts),
            logs: Logs::default(),
            meter: Meter::new(options.budget.units),
            heap_bytes: options.budget.heap_bytes,
            engine: options.engine,
            engine_error: None,
            trace: Vec::new(),
            stack: Vec::new(),
            last_run: None,
            notes: Vec::new(),
        }
    }

    /// How deep the current instruction is nested: 1 for the outermost.
    pub(crate) fn height(&self) -> usize {
        self.stack.len()
    }

    /// The current instruction's frame.
    ///
    /// # Panics
    /// Between instructions: programs and their syscalls run within one.
    pub(crate) fn frame(&self) -> &Frame {
        self.stack.last().expect("an instruction is being processed")
    }

    pub(crate) fn frame_mut(&mut self) -> &mut Frame {
        self.stack.last_mut().expect("an instruction is being processed")
    }

    /// The current instruction.
    pub(crate) fn instruction(&self) -> &InstructionContext {
        let found = self.trace.get(self.frame().instruction);
        found.expect("frames point into the trace")
    }
}

impl Host for InvokeContext<'_> {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        let syscall = self.frame().program.syscall(id).ok_or(Trap::UnsupportedInstruction)?;
        (syscall.run)(&mut Call::new(self, memory, meter), arguments)
    }
}

/// An account in the hands of an instruction.
#[derive(Debug)]
pub(crate) struct BorrowedAccount<'a> {
    transaction: &'a mut TransactionContext,
    program: Pubkey,
    account: InstructionAccount,
}

impl BorrowedAccount<'_> {
    pub(crate) fn get(&self) -> &Account {
        &self.transaction.account(self.account.index).1
    }

    fn get_mut(&mut self) -> &mut Account {
        let found = self.transaction.accounts.get_mut(self.account.index);
        &mut found.expect("instructions name accounts of their transaction").1
    }

    fn is_owned(&self) -> bool {
        self.get().owner == self.program
    }

    /// Sets the balance.
    ///
    /// # Errors
    /// If another program's account would lose lamports, or if the account is read-only.
    pub(crate) fn set_lamports(&mut self, lamports: u64) -> Result<(), InstructionError> {
        let before = self.get().lamports;
        if !self.is_owned() && lamports < before {
            return Err(InstructionError::ExternalAccountLamportSpend);
        }
        if !self.account.is_writable {
            return Err(InstructionError::ReadonlyLamportChange);
        }
        let delta = i128::from(lamports).saturating_sub(i128::from(before));
        self.transaction.lamports_delta = self
            .transaction
            .lamports_delta
            .checked_add(delta)
            .ok_or(InstructionError::ArithmeticOverflow)?;
        self.get_mut().lamports = lamports;
        Ok(())
    }

    /// Whether the program may change the data.
    ///
    /// # Errors
    /// If the account is read-only, or another program's.
    pub(crate) fn can_change_data(&self) -> Result<(), InstructionError> {
        if !self.account.is_writable {
            Err(InstructionError::ReadonlyDataModified)
        } else if !self.is_owned() {
            Err(InstructionError::ExternalAccountDataModified)
        } else {
            Ok(())
        }
    }

    /// Whether the program may make the data `len` bytes long.
    ///
    /// # Errors
    /// If that is too long for an account, if the transaction's accounts have grown too much, or
    /// if the program may not change the data at all.
    pub(crate) fn can_resize_data(&self, len: usize) -> Result<(), InstructionError> {
        if len > ACCOUNT_BYTES_MAX {
            return Err(InstructionError::InvalidRealloc);
        }
        let growth = growth(self.get().data.len(), len);
        if self.transaction.resize_delta.saturating_add(growth) > TRANSACTION_GROWTH_MAX {
            return Err(InstructionError::MaxAccountsDataAllocationsExceeded);
        }
        self.can_change_data()
    }

    /// Replaces the data.
    ///
    /// # Errors
    /// As [`BorrowedAccount::can_resize_data`].
    pub(crate) fn set_data(&mut self, data: &[u8]) -> Result<(), InstructionError> {
        self.can_resize_data(data.len())?;
        let growth = growth(self.get().data.len(), data.len());
        self.transaction.resize_delta = self.transaction.resize_delta.saturating_add(growth);
        let account = self.get_mut();
        account.data.clear();
        account.data.extend_from_slice(data);
        Ok(())
    }

    /// Gives the account to another program.
    ///
    /// # Errors
    /// If it is not this program's, if it is read-only, or if its data are not all zeros.
    pub(crate) fn set_owner(&mut self, owner: Pubkey) -> Result<(), InstructionError> {
        let is_zero = self.get().data.iter().all(|byte| *byte == 0);
        if !self.is_owned() || !self.account.is_writable || !is_zero {
            return Err(InstructionError::ModifiedProgramId);
        }
        self.get_mut().owner = owner;
        Ok(())
    }
}

fn growth(before: usize, after: usize) -> i64 {
    let signed = |len| i64::try_from(len).unwrap_or(i64::MAX);
    signed(after).saturating_sub(signed(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Pubkey = Pubkey::new_from_array([1; 32]);
    const OTHER: Pubkey = Pubkey::new_from_array([2; 32]);

    /// Does something to an account of 10 lamports and 2 bytes, and compares the result.
    fn check(
        owner: Pubkey,
        is_writable: bool,
        change: impl Fn(&mut BorrowedAccount<'_>) -> Result<(), InstructionError>,
        expected: Result<(), InstructionError>,
    ) {
        let account = Account { lamports: 10, data: vec![0, 0], owner, ..Account::default() };
        let mut transaction = TransactionContext::new(vec![(OTHER, account)]);
        let account = InstructionAccount { index: 0, is_signer: false, is_writable };
        assert_eq!(change(&mut transaction.borrow(account, &PROGRAM)), expected);
    }

    #[test]
    fn lamports() {
        use InstructionError::{ExternalAccountLamportSpend, ReadonlyLamportChange};
        check(PROGRAM, true, |it| it.set_lamports(9), Ok(()));
        check(OTHER, true, |it| it.set_lamports(11), Ok(()));
        check(OTHER, false, |it| it.set_lamports(9), Err(ExternalAccountLamportSpend));
        check(OTHER, false, |it| it.set_lamports(11), Err(ReadonlyLamportChange));
        check(PROGRAM, false, |it| it.set_lamports(9), Err(ReadonlyLamportChange));
    }

    #[test]
    fn data() {
        use InstructionError::{
            ExternalAccountDataModified, InvalidRealloc, MaxAccountsDataAllocationsExceeded,
            ReadonlyDataModified,
        };
        check(PROGRAM, true, |it| it.set_data(&[1, 2, 3]), Ok(()));
        check(OTHER, false, |it| it.set_data(&[]), Err(ReadonlyDataModified));
        check(OTHER, true, |it| it.set_data(&[]), Err(ExternalAccountDataModified));
        let too_long = ACCOUNT_BYTES_MAX + 1;
        check(OTHER, false, |it| it.can_resize_data(too_long), Err(InvalidRealloc));
        let grow = |it: &mut BorrowedAccount<'_>| {
            it.transaction.resize_delta = TRANSACTION_GROWTH_MAX;
            it.can_resize_data(3)
        };
        check(OTHER, false, grow, Err(MaxAccountsDataAllocationsExceeded));
    }

    #[test]
    fn owner() {
        let refused = || Err(InstructionError::ModifiedProgramId);
        check(PROGRAM, true, |it| it.set_owner(OTHER), Ok(()));
        check(PROGRAM, false, |it| it.set_owner(OTHER), refused());
        check(OTHER, true, |it| it.set_owner(PROGRAM), refused());
        let fill = |it: &mut BorrowedAccount<'_>| {
            it.set_data(&[0, 1])?;
            it.set_owner(OTHER)
        };
        check(PROGRAM, true, fill, refused());
    }

    #[test]
    fn lamports_are_counted() {
        let accounts = vec![(PROGRAM, Account::default()), (OTHER, Account::default())];
        let mut transaction = TransactionContext::new(accounts);
        let account = |index| InstructionAccount { index, is_signer: false, is_writable: true };
        transaction.borrow(account(0), &PROGRAM).set_lamports(u64::MAX).unwrap();
        transaction.borrow(account(1), &PROGRAM).set_lamports(1).unwrap();
        assert_eq!(transaction.lamports_delta(), i128::from(u64::MAX) + 1);
    }
}
