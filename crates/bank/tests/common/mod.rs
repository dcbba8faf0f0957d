//! A cluster with short epochs, programs that return their version, and transactions.

#![allow(dead_code, reason = "each test uses only some of them")]

use std::sync::Arc;

use selkie_bank::{Bank, Forks, Genesis, Options, Outcome, State};
use selkie_svm::{
    Account, Engine, FeatureSet, ProcessOptions, ProgramCache, Pubkey, ReadableAccount, Rules,
    Transaction, find_program_address, sysvars::EpochSchedule,
};
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_message::{Message, VersionedMessage};
use solana_sdk_ids::{bpf_loader_upgradeable as loader, feature, system_program, sysvar};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

pub(crate) const SLOTS_PER_EPOCH: u64 = 32;
pub(crate) const SOL: u64 = 1_000_000_000;

/// The fee payer, and the authority of every program.
pub(crate) const PAYER: Pubkey = Pubkey::new_from_array([100; 32]);

pub(crate) const OPTIONS: ProcessOptions =
    ProcessOptions { verify_signatures: false, engine: Engine::Interpreter, budget: None };

pub(crate) const fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

pub(crate) fn schedule() -> EpochSchedule {
    EpochSchedule::custom(SLOTS_PER_EPOCH, SLOTS_PER_EPOCH, false)
}

pub(crate) fn lamports(lamports: u64) -> Account {
    Account { lamports, ..Account::default() }
}

/// Creates the state of a new cluster with payers at 100 to 119.
pub(crate) fn genesis() -> State {
    genesis_with(FeatureSet::mainnet())
}

pub(crate) fn genesis_with(features: FeatureSet) -> State {
    let mut state =
        State::genesis(&Genesis { features, schedule: schedule(), ..Genesis::default() });
    (100..120).for_each(|byte| state.set_account(key(byte), lamports(1_000_000 * SOL)));
    state
}

pub(crate) fn forks(state: State) -> Forks {
    Forks::new(state, Arc::new(ProgramCache::new()), Options::default())
}

/// Freezes a bank and creates a child in the next slot.
pub(crate) fn next(forks: &Forks, bank: &Bank) -> Arc<Bank> {
    bank.freeze().unwrap();
    forks.new_bank(bank.slot(), bank.slot() + 1).unwrap()
}

/// Adds empty banks up to `slot`.
pub(crate) fn until(forks: &Forks, bank: &Arc<Bank>, slot: u64) -> Arc<Bank> {
    (bank.slot()..slot).fold(Arc::clone(bank), |bank, _| next(forks, &bank))
}

pub(crate) fn assemble(source: &str) -> Vec<u8> {
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    output.assembly.expect("tests assemble").to_elf()
}

/// Assembles a program that fails with its version as a custom error.
pub(crate) fn program(version: u32) -> Vec<u8> {
    assemble(&format!(".globl entrypoint\nentrypoint:\n  lddw r0, {version}\n  exit\n"))
}

/// Assembles such a program that first calls a syscall of a feature.
pub(crate) fn program_with_blake3(version: u32) -> Vec<u8> {
    assemble(&format!(
        ".globl entrypoint\nentrypoint:\n  mov64 r1, r10\n  mov64 r2, 0\n  mov64 r3, r10\n  \
         sub64 r3, 64\n  call sol_blake3\n  lddw r0, {version}\n  exit\n"
    ))
}

pub(crate) fn version(version: u32) -> Result<(), TransactionError> {
    Err(TransactionError::InstructionError(0, InstructionError::Custom(version)))
}

pub(crate) fn unsupported_program() -> Result<(), TransactionError> {
    Err(TransactionError::InstructionError(0, InstructionError::UnsupportedProgramId))
}

pub(crate) fn no_syscall() -> Result<(), TransactionError> {
    Err(TransactionError::InstructionError(0, InstructionError::ProgramFailedToComplete))
}

pub(crate) fn transaction_by(
    payer: Pubkey,
    blockhash: Hash,
    instructions: &[Instruction],
) -> Transaction {
    let message = Message::new_with_blockhash(instructions, Some(&payer), &blockhash);
    let transaction = VersionedTransaction::new_unsigned(VersionedMessage::Legacy(message));
    let rules = Rules { features: FeatureSet::all(), ..Rules::mainnet() };
    Transaction::new(transaction, rules).unwrap()
}

pub(crate) fn transaction(bank: &Bank, instructions: &[Instruction]) -> Transaction {
    transaction_by(PAYER, bank.latest_blockhash(), instructions)
}

pub(crate) fn send(bank: &Bank, instructions: &[Instruction]) -> Outcome {
    bank.process(&transaction(bank, instructions), &OPTIONS).unwrap()
}

/// Invokes a program; different `salt`s make different transactions.
pub(crate) fn call(program: Pubkey, salt: u64) -> Instruction {
    Instruction { program_id: program, accounts: vec![], data: salt.to_le_bytes().to_vec() }
}

pub(crate) fn result_of_call(
    bank: &Bank,
    program: Pubkey,
    salt: u64,
) -> Result<(), TransactionError> {
    send(bank, &[call(program, salt)]).and_then(|processed| processed.result)
}

pub(crate) fn transfer(from: Pubkey, to: Pubkey, lamports: u64) -> Instruction {
    let data = [&2_u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat();
    let accounts = vec![AccountMeta::new(from, true), AccountMeta::new(to, false)];
    Instruction { program_id: system_program::ID, accounts, data }
}

pub(crate) fn balance(bank: &Bank, key: &Pubkey) -> u64 {
    bank.get_account(key).unwrap().map_or(0, |account| account.lamports())
}

// Loader v3.

pub(crate) fn program_data_key(program: &Pubkey) -> Pubkey {
    find_program_address(&[program.as_ref()], &loader::ID).unwrap().0
}

pub(crate) fn owned(data: Vec<u8>) -> Account {
    Account { lamports: 10 * SOL, data, owner: loader::ID, ..Account::default() }
}

fn authority() -> Vec<u8> {
    [&[1][..], PAYER.as_ref()].concat()
}

pub(crate) fn buffer(file: &[u8]) -> Account {
    owned([&[1, 0, 0, 0], &authority()[..], file].concat())
}

pub(crate) fn program_data(slot: u64, file: &[u8]) -> Account {
    owned([&[3, 0, 0, 0], &slot.to_le_bytes()[..], &authority(), file].concat())
}

pub(crate) fn program_account(program_data: &Pubkey) -> Account {
    let data = [&[2, 0, 0, 0], program_data.as_ref()].concat();
    Account { executable: true, ..owned(data) }
}

/// The addresses of a program's accounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramAddresses {
    pub(crate) id: Pubkey,
    pub(crate) data: Pubkey,
    pub(crate) buffer: Pubkey,
}

pub(crate) fn addresses(byte: u8) -> ProgramAddresses {
    let id = key(byte);
    let mut buffer = [byte; 32];
    buffer[0] = 255;
    ProgramAddresses { id, data: program_data_key(&id), buffer: Pubkey::new_from_array(buffer) }
}

/// Sets the accounts of a program as if it had been deployed in `slot`.
pub(crate) fn put_program(state: &mut State, addresses: &ProgramAddresses, slot: u64, file: &[u8]) {
    state.set_account(addresses.data, program_data(slot, file));
    state.set_account(addresses.id, program_account(&addresses.data));
}

/// Sets buffer and program account; returns the instruction that deploys the file.
pub(crate) fn deploy(bank: &Bank, addresses: &ProgramAddresses, file: &[u8]) -> Instruction {
    bank.set_account(addresses.buffer, buffer(file)).unwrap();
    bank.set_account(addresses.id, owned(vec![0; 36])).unwrap();
    deploy_instruction(addresses, file.len())
}

/// Returns the instruction that deploys from an existing buffer.
pub(crate) fn deploy_instruction(addresses: &ProgramAddresses, len: usize) -> Instruction {
    let accounts = vec![
        AccountMeta::new(PAYER, true),
        AccountMeta::new(addresses.data, false),
        AccountMeta::new(addresses.id, false),
        AccountMeta::new(addresses.buffer, false),
        AccountMeta::new_readonly(sysvar::rent::ID, false),
        AccountMeta::new_readonly(sysvar::clock::ID, false),
        AccountMeta::new_readonly(system_program::ID, false),
        AccountMeta::new_readonly(PAYER, true),
    ];
    let data = [&2_u32.to_le_bytes()[..], &(len as u64).to_le_bytes()].concat();
    Instruction { program_id: loader::ID, accounts, data }
}

/// Sets the buffer; returns the instruction that upgrades the program.
pub(crate) fn upgrade(bank: &Bank, addresses: &ProgramAddresses, file: &[u8]) -> Instruction {
    bank.set_account(addresses.buffer, buffer(file)).unwrap();
    upgrade_instruction(addresses)
}

/// Returns the instruction that upgrades from an existing buffer.
pub(crate) fn upgrade_instruction(addresses: &ProgramAddresses) -> Instruction {
    let accounts = vec![
        AccountMeta::new(addresses.data, false),
        AccountMeta::new(addresses.id, false),
        AccountMeta::new(addresses.buffer, false),
        AccountMeta::new(PAYER, false),
        AccountMeta::new_readonly(sysvar::rent::ID, false),
        AccountMeta::new_readonly(sysvar::clock::ID, false),
        AccountMeta::new_readonly(PAYER, true),
    ];
    Instruction { program_id: loader::ID, accounts, data: 3_u32.to_le_bytes().to_vec() }
}

/// Returns the instruction that closes a program.
pub(crate) fn close(addresses: &ProgramAddresses) -> Instruction {
    let accounts = vec![
        AccountMeta::new(addresses.data, false),
        AccountMeta::new(key(119), false),
        AccountMeta::new_readonly(PAYER, true),
        AccountMeta::new(addresses.id, false),
    ];
    Instruction { program_id: loader::ID, accounts, data: 5_u32.to_le_bytes().to_vec() }
}

/// Returns the account of a feature that is pending until the next epoch.
pub(crate) fn pending() -> Account {
    Account { lamports: SOL, data: vec![0; 9], owner: feature::ID, ..Account::default() }
}
