//! Fills the processor's program cache: with programs compiled for earlier cases, or with programs
//! to be interpreted.
//!
//! Compiling takes most of the time, so compiled programs are kept from case to case. A program is
//! reused only if the case holds the same memory that it was compiled from.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
};

use solana_program_runtime::{
    loaded_programs::{BlockRelation, ForkGraph, ProgramRuntimeEnvironment},
    program_cache_entry::{ProgramCacheEntry, ProgramCacheEntryOwner, ProgramCacheEntryType},
    solana_sbpf::{elf::Executable, verifier::RequisiteVerifier},
};
use solana_pubkey::Pubkey;
use solana_sdk_ids::bpf_loader_upgradeable;

use super::{NOT_POISONED, Processor};
use crate::{
    case::{Account, Accounts, Case, Key},
    generate::loader::DATA_HEADER,
};

/// The fork graph of a chain without forks.
pub(super) struct Graph;

impl ForkGraph for Graph {
    fn relationship(&self, a: u64, b: u64) -> BlockRelation {
        match a.cmp(&b) {
            std::cmp::Ordering::Less => BlockRelation::Ancestor,
            std::cmp::Ordering::Equal => BlockRelation::Equal,
            std::cmp::Ordering::Greater => BlockRelation::Descendant,
        }
    }
}

/// Smaller programs are compiled anew: that takes little time.
const BYTES_MIN: usize = 16 * 1024;

/// The number of programs that are kept. Each has mappings of its own, of which Linux allows a process 65,530; without
/// them the processor takes programs for not deployed.
const KEPT_MAX: usize = 1024;

#[derive(Default)]
pub(super) struct Ready(VecDeque<Program>);

struct Program {
    id: Key,
    /// The program's account.
    account: Account,
    /// The data with the file: that of the program account or of the programdata account.
    file: Arc<Vec<u8>>,
    environment: ProgramRuntimeEnvironment,
    entry: Arc<ProgramCacheEntry>,
}

impl Ready {
    /// Puts the kept programs into the cache of `processor`.
    pub(super) fn enter(
        &self,
        case: &Case,
        environment: &ProgramRuntimeEnvironment,
        processor: &Processor,
    ) {
        let mut cache = processor.global_program_cache.write().expect(NOT_POISONED);
        for program in self.0.iter().filter(|it| it.environment == *environment) {
            if program.is_of(case) {
                let id = Pubkey::from(program.id);
                cache.assign_program(environment, id, 0, Arc::clone(&program.entry));
            }
        }
    }

    /// Keeps the programs that `processor` compiled.
    pub(super) fn leave(
        &mut self,
        case: &Case,
        environment: &ProgramRuntimeEnvironment,
        processor: &Processor,
    ) {
        let cache = processor.global_program_cache.read().expect(NOT_POISONED);
        for (id, entry) in cache.get_flattened_entries() {
            let id = id.to_bytes();
            let (Some(account), Some(file)) = (case.accounts.get(&id), file(case, &id)) else {
                continue;
            };
            // Programs deployed by a transaction of this case have this slot.
            if file.len() < BYTES_MIN || entry.deployment_slot >= case.slot {
                continue;
            }
            let known = self
                .0
                .iter()
                .any(|it| it.id == id && it.environment == *environment && it.is_of(case));
            if !known {
                let (environment, account) = (environment.clone(), account.clone());
                let file = Arc::clone(file);
                self.0.push_back(Program { id, account, file, environment, entry });
                if self.0.len() > KEPT_MAX {
                    self.0.pop_front();
                }
            }
        }
    }
}

impl Program {
    fn is_of(&self, case: &Case) -> bool {
        case.accounts.get(&self.id).is_some_and(|it| it.data == self.account.data)
            && case.accounts.get(&self.id).is_some_and(|it| it.owner == self.account.owner)
            && file(case, &self.id).is_some_and(|it| Arc::ptr_eq(it, &self.file))
            && self.entry.deployment_slot < case.slot
    }
}

/// Puts the programs of the upgradeable loader into the cache without machine code, so that
/// `processor` interprets them. Programs that cannot be loaded are left to the processor.
pub(super) fn enter_interpreted(
    case: &Case,
    environment: &ProgramRuntimeEnvironment,
    processor: &Processor,
) {
    let loader = bpf_loader_upgradeable::ID.to_bytes();
    let mut cache = processor.global_program_cache.write().expect(NOT_POISONED);
    for (id, _) in case.accounts.iter().filter(|it| it.1.executable && it.1.owner == loader) {
        let entry = file(case, id).and_then(|file| interpreted(file, environment));
        if let Some(entry) = entry {
            cache.assign_program(environment, Pubkey::from(*id), 0, Arc::new(entry));
        }
    }
}

/// Returns an entry for the program in a programdata account, without machine code.
fn interpreted(data: &[u8], environment: &ProgramRuntimeEnvironment) -> Option<ProgramCacheEntry> {
    let slot = data.get(4..12)?.try_into().ok()?;
    Some(ProgramCacheEntry {
        deployment_slot: u64::from_le_bytes(slot),
        ..without_machine_code(data.get(DATA_HEADER..)?, environment)?
    })
}

/// Returns an entry for a file of the upgradeable loader, without machine code.
pub(super) fn without_machine_code(
    elf: &[u8],
    environment: &ProgramRuntimeEnvironment,
) -> Option<ProgramCacheEntry> {
    let executable = Executable::load(elf, Arc::clone(environment)).ok()?;
    executable.verify::<RequisiteVerifier>().ok()?;
    Some(ProgramCacheEntry {
        program: ProgramCacheEntryType::Loaded(executable),
        account_owner: ProgramCacheEntryOwner::LoaderV3,
        ..ProgramCacheEntry::default()
    })
}

/// How often programs were run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Runs {
    pub(crate) compiled: u64,
    pub(crate) interpreted: u64,
}

impl Runs {
    /// Returns the sum of the usage counters in the cache of `processor`.
    pub(super) fn of(processor: &Processor) -> Self {
        let cache = processor.global_program_cache.read().expect(NOT_POISONED);
        let mut runs = Self::default();
        for (_, entry) in cache.get_flattened_entries() {
            runs.compiled += entry.stats.jit_invocations.load(Ordering::Relaxed);
            runs.interpreted += entry.stats.interpreted_invocations.load(Ordering::Relaxed);
        }
        runs
    }
}

/// Returns the file of the program `id`.
pub(crate) fn elf<'a>(accounts: &'a Accounts, id: &Key) -> Option<&'a [u8]> {
    let data = data_of(accounts, id)?;
    let is_program = accounts.get(id)?.owner != bpf_loader_upgradeable::ID.to_bytes();
    data.get(if is_program { 0 } else { DATA_HEADER }..)
}

/// Returns the account data that the program `id` is compiled from.
fn file<'a>(case: &'a Case, id: &Key) -> Option<&'a Arc<Vec<u8>>> {
    data_of(&case.accounts, id)
}

fn data_of<'a>(accounts: &'a Accounts, id: &Key) -> Option<&'a Arc<Vec<u8>>> {
    let account = accounts.get(id)?;
    if account.owner != bpf_loader_upgradeable::ID.to_bytes() {
        return Some(&account.data);
    }
    let address: Key = account.data.get(4..36)?.try_into().ok()?;
    Some(&accounts.get(&address)?.data)
}
