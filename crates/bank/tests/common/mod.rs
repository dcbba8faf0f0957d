//! A small cluster with short epochs, programs that tell their version, and transactions.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use selkie_bank::{Bank, Forks, Options, Outcome, State};
use selkie_svm::{
    Account, Engine, FeatureSet, ProcessOptions, ProgramCache, Pubkey, ReadableAccount,
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

/// Who pays, and has authority over every program.
pub(crate) const PAYER: Pubkey = Pubkey::new_from_array([100; 32]);

pub(crate) const OPTIONS: ProcessOptions =
    ProcessOptions { verify_signatures: false, engine: Engine::Interpreter };

pub(crate) const fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

pub(crate) fn schedule() -> EpochSchedule {
    EpochSchedule::custom(SLOTS_PER_EPOCH, SLOTS_PER_EPOCH, false)
}

pub(crate) fn lamports(lamports: u64) -> Account {
    Account { lamports, ..Account::default() }
}

/// A new cluster with payers at 100 to 119.
pub(crate) fn genesis() -> State {
    genesis_with(FeatureSet::mainnet())
}

pub(crate) fn genesis_with(features: FeatureSet) -> State {
    let mut state = State::genesis_with(features, &schedule());
    (100..120).for_each(|byte| state.set_account(key(byte), lamports(1_000_000 * SOL)));
    state
}

pub(crate) fn forks(state: State) -> Forks {
    Forks::new(state, Arc::new(ProgramCache::new()), Options::default())
}

/// A bank after another one, which is frozen first.
pub(crate) fn next(forks: &Forks, bank: &Bank) -> Arc<Bank> {
    bank.freeze().unwrap();
    forks.new_bank(bank.slot(), bank.slot() + 1).unwrap()
}

/// Goes on with empty banks until this slot.
pub(crate) fn until(forks: &Forks, bank: &Arc<Bank>, slot: u64) -> Arc<Bank> {
    (bank.slot()..slot).fold(Arc::clone(bank), |bank, _| next(forks, &bank))
}

pub(crate) fn assemble(source: &str) -> Vec<u8> {
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    output.assembly.expect("tests assemble").to_elf()
}

/// A program that fails with its version.
pub(crate) fn program(version: u32) -> Vec<u8> {
    assemble(&format!(".globl entrypoint\nentrypoint:\n  lddw r0, {version}\n  exit\n"))
}

/// The same, but it calls a syscall before that comes with a feature.
pub(crate) fn program_with_blake3(version: u32) -> Vec<u8> {
    assemble(&format!(
        ".globl entrypoint\nentrypoint:\n  mov64 r1, r10\n  mov64 r2, 0\n  mov64 r3, r10\n  \
         sub64 r3, 64\n  call sol_blake3\n  lddw r0, {version}\n  exit\n"
    ))
}

pub(crate) fn version(version: u32) -> Result<(), TransactionError> {
    Err(TransactionError::InstructionError(0, InstructionError::Custom(version)))
}

pub(crate) fn not_there() -> Result<(), TransactionError> {
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
    Transaction::new(transaction, FeatureSet::all()).unwrap()
}

pub(crate) fn transaction(bank: &Bank, instructions: &[Instruction]) -> Transaction {
    transaction_by(PAYER, bank.latest_blockhash(), instructions)
}

pub(crate) fn send(bank: &Bank, instructions: &[Instruction]) -> Outcome {
    bank.process(&transaction(bank, instructions), &OPTIONS).unwrap()
}

/// Calls a program; `salt` makes it another transaction.
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

/// Where the accounts of a program are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) id: Pubkey,
    pub(crate) data: Pubkey,
    pub(crate) buffer: Pubkey,
}

pub(crate) fn place(byte: u8) -> Place {
    let id = key(byte);
    let mut buffer = [byte; 32];
    buffer[0] = 255;
    Place { id, data: program_data_key(&id), buffer: Pubkey::new_from_array(buffer) }
}

/// Puts a program there as if it had been deployed in a slot.
pub(crate) fn put_program(state: &mut State, place: &Place, slot: u64, file: &[u8]) {
    state.set_account(place.data, program_data(slot, file));
    state.set_account(place.id, program_account(&place.data));
}

/// What deploys a file; buffer and program account are put there by hand.
pub(crate) fn deploy(bank: &Bank, place: &Place, file: &[u8]) -> Instruction {
    bank.set_account(place.buffer, buffer(file)).unwrap();
    bank.set_account(place.id, owned(vec![0; 36])).unwrap();
    deploy_instruction(place, file.len())
}

/// The same where somebody else has put them there.
pub(crate) fn deploy_instruction(place: &Place, len: usize) -> Instruction {
    let accounts = vec![
        AccountMeta::new(PAYER, true),
        AccountMeta::new(place.data, false),
        AccountMeta::new(place.id, false),
        AccountMeta::new(place.buffer, false),
        AccountMeta::new_readonly(sysvar::rent::ID, false),
        AccountMeta::new_readonly(sysvar::clock::ID, false),
        AccountMeta::new_readonly(system_program::ID, false),
        AccountMeta::new_readonly(PAYER, true),
    ];
    let data = [&2_u32.to_le_bytes()[..], &(len as u64).to_le_bytes()].concat();
    Instruction { program_id: loader::ID, accounts, data }
}

/// What upgrades a program; the buffer is put there by hand.
pub(crate) fn upgrade(bank: &Bank, place: &Place, file: &[u8]) -> Instruction {
    bank.set_account(place.buffer, buffer(file)).unwrap();
    upgrade_instruction(place)
}

/// The same where somebody else has put it there.
pub(crate) fn upgrade_instruction(place: &Place) -> Instruction {
    let accounts = vec![
        AccountMeta::new(place.data, false),
        AccountMeta::new(place.id, false),
        AccountMeta::new(place.buffer, false),
        AccountMeta::new(PAYER, false),
        AccountMeta::new_readonly(sysvar::rent::ID, false),
        AccountMeta::new_readonly(sysvar::clock::ID, false),
        AccountMeta::new_readonly(PAYER, true),
    ];
    Instruction { program_id: loader::ID, accounts, data: 3_u32.to_le_bytes().to_vec() }
}

/// What closes a program.
pub(crate) fn close(place: &Place) -> Instruction {
    let accounts = vec![
        AccountMeta::new(place.data, false),
        AccountMeta::new(key(119), false),
        AccountMeta::new_readonly(PAYER, true),
        AccountMeta::new(place.id, false),
    ];
    Instruction { program_id: loader::ID, accounts, data: 5_u32.to_le_bytes().to_vec() }
}

/// The account of a feature that waits for the next epoch.
pub(crate) fn pending() -> Account {
    Account { lamports: SOL, data: vec![0; 9], owner: feature::ID, ..Account::default() }
}
