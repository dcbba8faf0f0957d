//! The counters of programs whose branches are counted.

use std::sync::{Arc, Mutex, PoisonError};

use selkie_vm::BranchCounters;
use solana_pubkey::Pubkey;

use super::ProgramCache;
use crate::programs::program::Program;

/// The counters of each program that was loaded, in the order of loading.
#[derive(Default, Debug)]
pub(super) struct Counted(Mutex<Vec<(Pubkey, Arc<BranchCounters>)>>);

impl ProgramCache {
    /// Returns the cache, which must be empty, with counters of the branches that its programs take, for
    /// tools that search for inputs. Such programs are compiled before their first run.
    ///
    /// Counts are exact only if a single thread runs programs of the cache.
    #[must_use]
    pub fn with_branch_counters(self) -> Self {
        Self { counted: Some(Counted::default()), store: None, ..self }
    }

    /// Returns whether the cache counts branches.
    #[must_use]
    pub fn counts_branches(&self) -> bool {
        self.counted.is_some()
    }

    /// Returns the counters of the programs that were loaded so far, but for the first `known`, in the
    /// order of loading. A program that was loaded again has new counters.
    #[must_use]
    pub fn branch_counters(&self, known: usize) -> Vec<(Pubkey, Arc<BranchCounters>)> {
        let Some(Counted(counters)) = &self.counted else { return Vec::new() };
        let counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.get(known..).map(<[_]>::to_vec).unwrap_or_default()
    }

    pub(super) fn counted(&self, id: &Pubkey, program: Program) -> Program {
        let Some(Counted(all)) = &self.counted else { return program };
        let counters = Arc::new(BranchCounters::new(program.verified()));
        all.lock().unwrap_or_else(PoisonError::into_inner).push((*id, Arc::clone(&counters)));
        program.with_branch_counters(counters)
    }
}
