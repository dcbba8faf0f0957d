//! A cluster with all builtin programs, and one instruction of one of them.

#![allow(dead_code, reason = "each test uses a part of it")]

use selkie_builtins::{builtins, precompiles};
use selkie_svm::{
    Account, AccountMeta, ComputeBudget, Environment, FeatureSet, Instruction, InstructionError,
    InstructionResult, Options, Pubkey, process_instruction,
};

pub(crate) const fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

/// A program that returns 0.
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

/// What a test runs. Accounts are named by the instruction in the order that they are given.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) program: Pubkey,
    pub(crate) environment: Environment,
    pub(crate) accounts: Vec<(AccountMeta, Account)>,
    pub(crate) data: Vec<u8>,
    pub(crate) units: u64,
}

impl Setup {
    pub(crate) fn new(program: Pubkey) -> Self {
        let environment = environment(FeatureSet::mainnet());
        Self { program, environment, accounts: vec![], data: vec![], units: 200_000 }
    }

    /// Names one more account.
    pub(crate) fn with(mut self, meta: AccountMeta, account: Account) -> Self {
        self.accounts.push((meta, account));
        self
    }

    /// Names an account that a cluster has anyway.
    pub(crate) fn naming(self, id: Pubkey) -> Self {
        let data = self.environment.sysvars.get(&id).unwrap_or_default().to_vec();
        let account = Account { lamports: 1, data, ..Account::default() };
        self.with(AccountMeta::new_readonly(id, false), account)
    }

    pub(crate) fn data(mut self, parts: &[&[u8]]) -> Self {
        self.data = parts.concat();
        self
    }

    /// The same, but for something.
    pub(crate) fn but(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut setup = self.clone();
        change(&mut setup);
        setup
    }

    pub(crate) fn account(&mut self, place: usize) -> &mut Account {
        &mut self.accounts[place].1
    }

    pub(crate) fn meta(&mut self, place: usize) -> &mut AccountMeta {
        &mut self.accounts[place].0
    }

    pub(crate) fn run(&self) -> InstructionResult {
        let instruction = Instruction {
            program_id: self.program,
            accounts: self.accounts.iter().map(|(meta, _)| meta.clone()).collect(),
            data: self.data.clone(),
        };
        let accounts: Vec<_> =
            self.accounts.iter().map(|(meta, account)| (meta.pubkey, account.clone())).collect();
        let budget = ComputeBudget { compute_unit_limit: self.units, ..ComputeBudget::default() };
        let options = Options { budget, ..Options::default() };
        process_instruction(&instruction, &accounts, &self.environment, &options, None).unwrap()
    }

    /// Runs it, and takes the accounts afterwards.
    pub(crate) fn succeed(&self) -> Vec<Account> {
        let receipt = self.run();
        assert_eq!(receipt.result, Ok(()), "{:#?}", receipt.logs);
        receipt.accounts.into_iter().map(|(_, account)| account).collect()
    }

    /// Runs it, and compares the error and the last line of the program's own, if it has any.
    pub(crate) fn fail(&self, error: InstructionError, line: &str) {
        let receipt = self.run();
        assert_eq!(receipt.result, Err(error), "{line}: {:#?}", receipt.logs);
        assert_eq!(own_lines(&receipt).last().copied().unwrap_or_default(), line);
    }
}

/// The lines of the log that the program itself wrote.
pub(crate) fn own_lines(receipt: &InstructionResult) -> Vec<&str> {
    let is_own = |line: &&str| match line.strip_prefix("Program ").and_then(|it| it.split_once(' '))
    {
        Some((id, _)) => id.parse::<Pubkey>().is_err(),
        None => true,
    };
    receipt.logs.iter().map(String::as_str).filter(is_own).collect()
}
