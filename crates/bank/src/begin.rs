//! Creation of banks: from a parent, or from an imported state.

use std::sync::Arc;

use selkie_svm::{BlockhashQueue, ReadableAccount};
use solana_hash::Hash;

use crate::{
    accounts::BankAccounts,
    ancestors::{Ancestors, BankId},
    bank::{Bank, Frozen, Parts, SharedState, Working},
    error::BankError,
    freeze::{bank_hash, lattice_of},
    head::Head,
    lattice::LatticeHash,
    options::BankOptions,
    phase::Phase,
    state::State,
};

impl Bank {
    /// Creates the root bank from a state.
    pub(crate) fn import(shared: Arc<SharedState>, id: BankId, state: State) -> Self {
        let head = Head::of(&state, &shared.options);
        let blockhash = head.environment.blockhash;
        let mut accounts = state.accounts;
        accounts.retain(|(_, account)| account.lamports() > 0);
        let compute = || lattice_of(&accounts, shared.options.hashing_threads);
        let lattice = state.lattice.unwrap_or_else(compute);
        accounts.into_iter().for_each(|(key, account)| shared.accounts.put(key, id, account));
        let mut statuses = shared.statuses.write().expect("the shared state is new");
        state.processed.iter().for_each(|key| statuses.insert(*key, id));
        statuses.root(&state.processed, true);
        drop(statuses);
        let hash =
            state.hash.unwrap_or_else(|| bank_hash(&Hash::default(), 0, &blockhash, &lattice, 0));
        let blockhash_queue = BlockhashQueue::new(state.blockhashes);
        let parts = Parts {
            ancestors: Ancestors::root(id),
            head,
            parent: None,
            parent_hash: Hash::default(),
            counts: true,
            collector: None,
            parent_lattice: LatticeHash::default(),
            parent_history: LatticeHash::default(),
            working: Working { blockhash_queue, ..Working::default() },
        };
        let bank = Self::new(shared, parts);
        let history = bank.history();
        let frozen = Frozen { hash, blockhash, lattice, history };
        bank.frozen.set(frozen).expect("the bank is new");
        bank.set_phase(&mut bank.write(), Phase::Frozen);
        bank
    }

    /// Creates a child of this bank, which must be frozen.
    pub(crate) fn child(
        &self,
        id: BankId,
        root: BankId,
        slot: u64,
        options: &BankOptions,
    ) -> Result<Self, BankError> {
        let frozen = self.frozen.get().ok_or(BankError::NotFrozen(self.slot()))?;
        let ancestors = self.ancestors.child(id, root);
        let blockhash_queue = self.read().blockhash_queue.without_processed();
        let mut working = Working { blockhash_queue, ..Working::default() };
        let Working { blockhash_queue, changed, .. } = &mut working;
        let accounts = &mut BankAccounts::new(&self.shared.accounts, &ancestors, changed);
        let head = self.head.advance(frozen.end(), slot, &options.step, blockhash_queue, accounts);
        let parts = Parts {
            ancestors,
            head,
            parent: Some(self.slot()),
            parent_hash: frozen.hash,
            counts: options.step.counts,
            collector: options.collector,
            parent_lattice: frozen.lattice.clone(),
            parent_history: frozen.history.clone(),
            working,
        };
        Ok(Self::new(Arc::clone(&self.shared), parts))
    }
}
