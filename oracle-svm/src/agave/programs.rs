//! Compiled programs that go from one case to the next, since compiling is most of the time.
//!
//! Only what cannot be told from a program compiled anew is kept: the case must hold the very
//! memory that the program was compiled from.

use std::sync::Arc;

use solana_program_runtime::{
    loaded_programs::{BlockRelation, ForkGraph, ProgramRuntimeEnvironment},
    program_cache_entry::ProgramCacheEntry,
};
use solana_pubkey::Pubkey;
use solana_sdk_ids::bpf_loader_upgradeable;

use super::Processor;
use crate::case::{Account, Case, Key};

/// A chain without forks.
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

/// Below this a program is compiled in less time than it is worth.
const BYTES_MIN: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct Ready(Vec<Program>);

struct Program {
    id: Key,
    /// The program's account.
    account: Account,
    /// What holds the file: of the program's account, or of its program data.
    file: Arc<Vec<u8>>,
    environment: ProgramRuntimeEnvironment,
    entry: Arc<ProgramCacheEntry>,
}

impl Ready {
    /// Gives `processor` what was compiled before.
    pub(super) fn enter(
        &self,
        case: &Case,
        environment: &ProgramRuntimeEnvironment,
        processor: &Processor,
    ) {
        let mut cache = processor.global_program_cache.write().expect("nobody panicked with it");
        for program in self.0.iter().filter(|it| it.environment == *environment) {
            if program.is_of(case) {
                let id = Pubkey::from(program.id);
                cache.assign_program(environment, id, 0, Arc::clone(&program.entry));
            }
        }
    }

    /// Keeps what `processor` compiled.
    pub(super) fn leave(
        &mut self,
        case: &Case,
        environment: &ProgramRuntimeEnvironment,
        processor: &Processor,
    ) {
        let cache = processor.global_program_cache.read().expect("nobody panicked with it");
        for (id, _, entry) in cache.get_flattened_entries() {
            let id = id.to_bytes();
            let (Some(account), Some(file)) = (case.accounts.get(&id), file(case, &id)) else {
                continue;
            };
            // What a transaction of this case deployed has this slot.
            if file.len() < BYTES_MIN || entry.deployment_slot >= case.slot {
                continue;
            }
            let known = self
                .0
                .iter()
                .any(|it| it.id == id && it.environment == *environment && it.is_of(case));
            if !known {
                let (environment, account) = (environment.clone(), account.clone());
                self.0.push(Program { id, account, file: Arc::clone(file), environment, entry });
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

/// The memory that the program of `id` is compiled from.
fn file<'a>(case: &'a Case, id: &Key) -> Option<&'a Arc<Vec<u8>>> {
    let account = case.accounts.get(id)?;
    if account.owner != bpf_loader_upgradeable::ID.to_bytes() {
        return Some(&account.data);
    }
    let address: Key = account.data.get(4..36)?.try_into().ok()?;
    Some(&case.accounts.get(&address)?.data)
}
