//! What recorded transactions give a search: a chain, examples, and known results.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use selkie::{Instruction, Pubkey, ReadableAccount as _, Svm};
use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use selkie_replay::{DebugFiles, ReplayFile};

use crate::example::Example;

/// The most instructions of replays that become actions.
const EXAMPLES_MAX: usize = 64;

/// Recorded transactions.
#[derive(Debug)]
pub struct Recorded {
    /// A chain with the accounts of all of them, in their first state.
    pub svm: Svm,
    /// Their instructions.
    pub examples: Vec<Example>,
    /// Their results.
    pub results: BTreeSet<String>,
}

impl Recorded {
    /// Reads replay files. With the address of a program, its instructions alone become examples.
    ///
    /// # Errors
    /// If a file cannot be used, or there are no such instructions.
    pub fn read(paths: &[PathBuf], id: Option<Pubkey>) -> Result<Self> {
        let mut chain: Option<Svm> = None;
        let mut instructions: Vec<Instruction> = Vec::new();
        let mut results = BTreeSet::new();
        let mut debug = DebugFiles::default();
        debug.add_usual(Path::new(""));
        for path in paths {
            let file = ReplayFile::open(path).or_failure()?;
            debug.add_named(file.symbols());
            results.extend(file.replays().iter().map(|it| it.recorded().result.to_owned()));
            for index in 0..file.len() {
                let (before, case) =
                    file.chain(index).with_context(|| path.display().to_string())?;
                let is_wanted = |it: &Instruction| match id {
                    Some(id) => it.program_id == id,
                    None => before.program(&it.program_id).is_some(),
                };
                let mut used = false;
                for instruction in case.instructions().unwrap_or_default() {
                    let is_new = !instructions.contains(&instruction);
                    if is_new && is_wanted(&instruction) && instructions.len() < EXAMPLES_MAX {
                        instructions.push(instruction);
                        used = true;
                    }
                }
                if used {
                    match &mut chain {
                        Some(chain) => add_accounts(chain, &before),
                        None => chain = Some(before),
                    }
                }
            }
        }
        let chain =
            chain.ok_or_else(|| Failure::new("the replays have no instructions of the program"));
        let mut chain = chain.advise("omit --program-id, or record other transactions")?;
        for id in programs(&chain) {
            let elf = chain.program_elf(&id).unwrap_or_default();
            if let Some(path) = debug.path_of(&elf) {
                chain.set_program_path(id, program_beside(path));
            }
        }
        Ok(Self { svm: chain, examples: Example::numbered(instructions), results })
    }
}

/// Returns the files of the programs of a chain, as far as they are known.
#[must_use]
pub fn program_files(svm: &Svm) -> BTreeMap<Pubkey, PathBuf> {
    let ids = programs(svm).into_iter();
    ids.filter_map(|id| Some((id, svm.program_path(&id)?.to_owned()))).collect()
}

/// Returns the addresses of the programs of a chain that others than Selkie have added.
fn programs(svm: &Svm) -> Vec<Pubkey> {
    let accounts = svm.accounts().filter(|(_, account)| account.executable());
    let ids = accounts.map(|(id, _)| id);
    ids.filter(|id| selkie::programs::by_id(id).is_none()).collect()
}

/// Returns the path of the program that a file with debug information is of: `vault.so` of
/// `vault.so.debug`.
fn program_beside(path: &Path) -> PathBuf {
    match path.extension() {
        Some(it) if it == "debug" => path.with_extension(""),
        _ => path.to_owned(),
    }
}

/// Adds the accounts that a chain lacks.
fn add_accounts(chain: &mut Svm, other: &Svm) {
    for (key, account) in other.accounts() {
        if chain.account(&key).is_none() {
            // Sysvars, which cannot be set, are there already.
            let _ = chain.set_account(key, account.clone());
        }
    }
}
