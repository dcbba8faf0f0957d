//! Runs one instruction of a builtin program in an environment that has all of them.

#![allow(dead_code, reason = "each test file uses a part of this module")]

use selkie_builtins::{builtins, precompiles};
use selkie_svm::{
    Account, AccountMeta, ComputeBudget, Environment, FeatureSet, Instruction, InstructionError,
    InstructionResult, Options, Pubkey, process_instruction,
};

pub(crate) const fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

/// Returns the ELF file of a program that returns 0.
pub(crate) fn elf() -> Vec<u8> {
    let source = ".globl entrypoint\nentrypoint:\n  mov64 r0, 0\n  exit\n";
    let assembly = selkie_asm::assemble(source, &selkie_asm::Options::default()).assembly;
    assembly.unwrap().to_elf()
}

pub(crate) fn environment(features: FeatureSet) -> Environment {
    Environment {
        features,
        builtins: builtins(features),
        precompiles: precompiles(),
        ..Environment::default()
    }
}

/// An instruction with its environment. Its accounts are those of the instruction, in order.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) program: Pubkey,
    pub(crate) environment: Environment,
    pub(crate) accounts: Vec<(AccountMeta, Account)>,
    pub(crate) data: Vec<u8>,
    pub(crate) compute_unit_limit: u64,
}

impl Setup {
    pub(crate) fn new(program: Pubkey) -> Self {
        let environment = environment(FeatureSet::mainnet());
        let compute_unit_limit = 200_000;
        Self { program, environment, accounts: vec![], data: vec![], compute_unit_limit }
    }

    /// Adds an account.
    pub(crate) fn with(mut self, meta: AccountMeta, account: Account) -> Self {
        self.accounts.push((meta, account));
        self
    }

    /// Adds the account of a sysvar.
    pub(crate) fn with_sysvar(self, id: Pubkey) -> Self {
        let data = self.environment.sysvars.get(&id).unwrap_or_default().to_vec();
        let account = Account { lamports: 1, data, ..Account::default() };
        self.with(AccountMeta::new_readonly(id, false), account)
    }

    pub(crate) fn data(mut self, parts: &[&[u8]]) -> Self {
        self.data = parts.concat();
        self
    }

    /// Returns a copy with one change.
    pub(crate) fn but(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut setup = self.clone();
        change(&mut setup);
        setup
    }

    pub(crate) fn account(&mut self, index: usize) -> &mut Account {
        &mut self.accounts[index].1
    }

    pub(crate) fn meta(&mut self, index: usize) -> &mut AccountMeta {
        &mut self.accounts[index].0
    }

    pub(crate) fn run(&self) -> InstructionResult {
        let instruction = Instruction {
            program_id: self.program,
            accounts: self.accounts.iter().map(|(meta, _)| meta.clone()).collect(),
            data: self.data.clone(),
        };
        let accounts: Vec<_> =
            self.accounts.iter().map(|(meta, account)| (meta.pubkey, account.clone())).collect();
        let compute_unit_limit = self.compute_unit_limit;
        let budget = ComputeBudget { compute_unit_limit, ..ComputeBudget::default() };
        let options = Options { budget, ..Options::default() };
        process_instruction(&instruction, &accounts, &self.environment, &options, None).unwrap()
    }

    /// Asserts that the instruction succeeds, and returns the accounts afterwards.
    pub(crate) fn succeed(&self) -> Vec<Account> {
        let outcome = self.run();
        assert_eq!(outcome.result, Ok(()), "{:#?}", outcome.logs);
        outcome.accounts.into_iter().map(|(_, account)| account).collect()
    }

    /// Asserts that the instruction fails with `error`, and that the last line that the program
    /// logged is `line` (empty if it logged nothing).
    pub(crate) fn fail(&self, error: InstructionError, line: &str) {
        let outcome = self.run();
        assert_eq!(outcome.result, Err(error), "{line}: {:#?}", outcome.logs);
        assert_eq!(program_lines(&outcome).last().copied().unwrap_or_default(), line);
    }
}

/// Returns the log lines that the program itself wrote, without those of the runtime.
pub(crate) fn program_lines(outcome: &InstructionResult) -> Vec<&str> {
    let is_of_program = |line: &&str| {
        let words = line.strip_prefix("Program ").and_then(|it| it.split_once(' '));
        words.is_none_or(|(id, _)| id.parse::<Pubkey>().is_err())
    };
    outcome.logs.iter().map(String::as_str).filter(is_of_program).collect()
}
