//! Small programs, word by word, and a cluster to run them.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::{ops::Deref, sync::Arc};

use selkie_elf::{
    Executable, Functions, Syscalls,
    write::{Image, write},
};
use selkie_isa::{Version, symbol::murmur3};
use selkie_svm::{
    Account, AccountMeta, Environment, Inspector, Instruction, InstructionResult, InvokeContext,
    Loader, Options, Program, Pubkey, Run, process_instruction, syscalls::SYSCALLS,
};

pub(crate) const INPUT: u64 = 0x4_0000_0000;
pub(crate) const HEAP: u64 = 0x3_0000_0000;
pub(crate) const STACK: u64 = 0x2_0000_0000;

pub(crate) const fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

/// The address of the program under test.
pub(crate) const PROGRAM: Pubkey = Pubkey::new_from_array([0xaa; 32]);

/// An instruction of V0.
pub(crate) fn word(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Vec<u8> {
    let mut bytes = vec![code, src << 4 | dst];
    bytes.extend(off.to_le_bytes());
    bytes.extend(imm.to_le_bytes());
    bytes
}

/// `lddw dst, value`
pub(crate) fn lddw(dst: u8, value: u64) -> Vec<u8> {
    let half = |bits: u64| i32::from_le_bytes(*bits.to_le_bytes().first_chunk().unwrap());
    [word(0x18, dst, 0, 0, half(value)), word(0, 0, 0, 0, half(value >> 32))].concat()
}

/// `stdw [dst + off], imm`
pub(crate) fn store(dst: u8, off: i16, imm: i32) -> Vec<u8> {
    word(0x7a, dst, 0, off, imm)
}

/// `ldxdw dst, [src + off]`
pub(crate) fn load(dst: u8, src: u8, off: i16) -> Vec<u8> {
    word(0x79, dst, src, off, 0)
}

/// `call name`
pub(crate) fn call(name: &str) -> Vec<u8> {
    word(0x85, 0, 0, 0, murmur3(name.as_bytes()).cast_signed())
}

/// `exit`
pub(crate) fn exit() -> Vec<u8> {
    word(0x95, 0, 0, 0, 0)
}

/// Puts eight bytes to an address, for 3 units.
pub(crate) fn poke(addr: u64, value: u64) -> Vec<u8> {
    // stxdw [r8], r9
    [lddw(8, addr), lddw(9, value), word(0x7b, 8, 9, 0, 0)].concat()
}

/// Every syscall there is, whatever a cluster has switched on.
pub(crate) fn program(loader: Loader, text: &[Vec<u8>]) -> Program {
    let syscalls = Arc::new(Syscalls::new(SYSCALLS.iter().map(|syscall| syscall.name)));
    let executable =
        Executable::from_text(Version::V0, text.concat(), 0, Functions::default(), syscalls);
    Program::new(executable.unwrap(), loader).unwrap()
}

/// The setup of a test.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    pub(crate) loader: Loader,
    pub(crate) metas: Vec<AccountMeta>,
    pub(crate) accounts: Vec<(Pubkey, Account)>,
    pub(crate) data: Vec<u8>,
    pub(crate) options: Options,
    pub(crate) environment: Environment,
}

impl Setup {
    pub(crate) fn run(&self, text: &[Vec<u8>]) -> Ran {
        let mut environment = self.environment.clone();
        environment.programs.insert(PROGRAM, program(self.loader, text));
        let instruction = Instruction {
            program_id: PROGRAM,
            accounts: self.metas.clone(),
            data: self.data.clone(),
        };
        run(&instruction, &self.accounts, &environment, &self.options)
    }
}

/// What an instruction results in, and how the last program ran.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) receipt: InstructionResult,
    /// The end of the run, if the program was started.
    pub(crate) run: Option<Run>,
    /// The input region as the program left it.
    pub(crate) input: Vec<u8>,
}

impl Deref for Ran {
    type Target = InstructionResult;

    fn deref(&self) -> &InstructionResult {
        &self.receipt
    }
}

/// Keeps the last run.
#[derive(Default)]
struct LastRun(Option<(Run, Vec<u8>)>);

impl Inspector for LastRun {
    fn run_end(&mut self, _: &InvokeContext<'_>, run: &Run, input: &[u8]) {
        self.0 = Some((run.clone(), input.to_vec()));
    }
}

/// Runs an instruction.
pub(crate) fn run(
    instruction: &Instruction,
    accounts: &[(Pubkey, Account)],
    environment: &Environment,
    options: &Options,
) -> Ran {
    let mut last = LastRun::default();
    let receipt =
        process_instruction(instruction, accounts, environment, options, Some(&mut last)).unwrap();
    let (run, input) = last.0.unzip();
    Ran { receipt, run, input: input.unwrap_or_default() }
}

/// A program's file.
pub(crate) fn elf(text: &[Vec<u8>]) -> Vec<u8> {
    write(&Image::of_text(Version::V3, &text.concat()))
}
