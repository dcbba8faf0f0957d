//! Programs and their accounts.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use selkie::{
    Loader, Svm,
    layout::loader::{PROGRAM_DATA_HEADER_BYTES, State},
    program_data_key,
};
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::{compute_budget, system_program, vote, zk_elgamal_proof_program};

use crate::program::loader_keys::{LOADER_V1, LOADER_V2, LOADER_V3, NATIVE_LOADER};

/// The addresses of the loaders.
pub mod loader_keys {
    pub use solana_sdk_ids::{
        bpf_loader::ID as LOADER_V2, bpf_loader_deprecated::ID as LOADER_V1,
        bpf_loader_upgradeable::ID as LOADER_V3, native_loader::ID as NATIVE_LOADER,
    };
}

/// The addresses of the precompiles.
pub mod precompile_keys {
    pub use solana_sdk_ids::{
        ed25519_program::ID as ED25519_PROGRAM, secp256k1_program::ID as SECP256K1_PROGRAM,
        secp256r1_program::ID as SECP256R1_PROGRAM,
    };
}

/// The builtin programs, with their names.
const BUILTINS: [(Pubkey, &str); 7] = [
    (system_program::ID, "system_program"),
    (LOADER_V1, "solana_bpf_loader_deprecated_program"),
    (LOADER_V2, "solana_bpf_loader_program"),
    (LOADER_V3, "solana_bpf_loader_upgradeable_program"),
    (zk_elgamal_proof_program::ID, "zk_elgamal_proof_program"),
    (compute_budget::ID, "compute_budget_program"),
    (vote::ID, "vote_program"),
];

/// A program that was added: its loader, and its file.
#[derive(Clone, Debug)]
pub struct CacheEntry {
    /// The loader.
    pub loader_key: Pubkey,
    /// The file; `None` for a builtin program.
    pub elf_bytes: Option<Vec<u8>>,
}

/// The programs that instructions can invoke.
#[derive(Debug)]
pub struct ProgramCache {
    pub(crate) svm: Rc<RefCell<Svm>>,
    entries: BTreeMap<Pubkey, CacheEntry>,
}

impl Default for ProgramCache {
    fn default() -> Self {
        // The release of Mollusk's runtime.
        let rules = selkie::Rules { release: selkie::Release::V4_3, ..selkie::Rules::mainnet() };
        let svm = Svm::new().with_rules(rules).with_well_known_programs(false).with_history(0);
        let builtin = |(id, _)| (id, CacheEntry { loader_key: NATIVE_LOADER, elf_bytes: None });
        let entries = BUILTINS.map(builtin).into();
        Self { svm: Rc::new(RefCell::new(svm)), entries }
    }
}

impl ProgramCache {
    /// Adds a program.
    ///
    /// # Panics
    /// If it is not valid, or there is no such loader.
    #[track_caller]
    pub fn add_program(&mut self, program_id: &Pubkey, loader_key: &Pubkey, elf: &[u8]) {
        let Some(loader) = Loader::of(loader_key) else {
            panic!("{loader_key} is not the address of a loader");
        };
        let added = self.svm.borrow_mut().add_program_with_loader(*program_id, elf, loader);
        if let Err(error) = added {
            panic!("cannot add {program_id}: {error}");
        }
        let entry = CacheEntry { loader_key: *loader_key, elf_bytes: Some(elf.to_vec()) };
        self.entries.insert(*program_id, entry);
    }

    /// Returns a program's file; `None` for a builtin program, and if there is none.
    #[must_use]
    pub fn get_program_elf_bytes(&self, program_id: &Pubkey) -> Option<Vec<u8>> {
        self.entries.get(program_id)?.elf_bytes.clone()
    }

    /// Returns a program's entry.
    pub(crate) fn get(&self, program_id: &Pubkey) -> Option<&CacheEntry> {
        self.entries.get(program_id)
    }

    /// Returns accounts for all programs. They hold no files: those are in the cache.
    pub(crate) fn accounts(&self) -> Vec<(Pubkey, Account)> {
        self.entries.iter().map(|(id, entry)| (*id, entry.account(id))).collect()
    }

    /// Returns the account of a program, without its file.
    pub(crate) fn account(&self, program_id: &Pubkey) -> Option<Account> {
        Some(self.get(program_id)?.account(program_id))
    }
}

impl CacheEntry {
    fn account(&self, program_id: &Pubkey) -> Account {
        match self.loader_key {
            NATIVE_LOADER => create_keyed_account_for_builtin_program(program_id, "builtin").1,
            LOADER_V3 => create_program_account_loader_v3(program_id),
            owner => program_account(owner, Vec::new()),
        }
    }
}

/// Returns the key and an account of a builtin program.
#[must_use]
pub fn create_keyed_account_for_builtin_program(
    program_id: &Pubkey,
    name: &str,
) -> (Pubkey, Account) {
    (*program_id, program_account(NATIVE_LOADER, name.as_bytes().to_vec()))
}

fn keyed_account(id: Pubkey) -> (Pubkey, Account) {
    let name = BUILTINS.iter().find(|(it, _)| *it == id).map_or("", |(_, name)| name);
    create_keyed_account_for_builtin_program(&id, name)
}

/// Returns the key and account of the system program.
#[must_use]
pub fn keyed_account_for_system_program() -> (Pubkey, Account) {
    keyed_account(system_program::ID)
}

/// Returns the key and account of loader v2.
#[must_use]
pub fn keyed_account_for_bpf_loader_v2_program() -> (Pubkey, Account) {
    keyed_account(LOADER_V2)
}

/// Returns the key and account of loader v3.
#[must_use]
pub fn keyed_account_for_bpf_loader_v3_program() -> (Pubkey, Account) {
    keyed_account(LOADER_V3)
}

/// Returns the account of a program of loader v1.
#[must_use]
pub fn create_program_account_loader_v1(elf: &[u8]) -> Account {
    program_account(LOADER_V1, elf.to_vec())
}

/// Returns the account of a program of loader v2.
#[must_use]
pub fn create_program_account_loader_v2(elf: &[u8]) -> Account {
    program_account(LOADER_V2, elf.to_vec())
}

/// Returns the program account of a program of loader v3.
#[must_use]
pub fn create_program_account_loader_v3(program_id: &Pubkey) -> Account {
    let program_data = program_data_key(program_id);
    program_account(LOADER_V3, State::Program { program_data }.write())
}

/// Returns the programdata account of a program of loader v3, deployed in slot 0 without authority.
#[must_use]
pub fn create_program_data_account_loader_v3(elf: &[u8]) -> Account {
    let mut data = State::ProgramData { slot: 0, authority: None }.write();
    data.resize(PROGRAM_DATA_HEADER_BYTES, 0);
    data.extend(elf);
    Account { executable: false, ..program_account(LOADER_V3, data) }
}

/// Returns the program account and the programdata account of a program of loader v3.
#[must_use]
pub fn create_program_account_pair_loader_v3(
    program_id: &Pubkey,
    elf: &[u8],
) -> (Account, Account) {
    (create_program_account_loader_v3(program_id), create_program_data_account_loader_v3(elf))
}

fn program_account(owner: Pubkey, data: Vec<u8>) -> Account {
    let lamports = Rent::default().minimum_balance(data.len());
    Account { lamports, data, owner, executable: true, rent_epoch: 0 }
}
