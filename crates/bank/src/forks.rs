//! The banks of all forks, and their common root.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak},
};

use selkie_svm::{
    ProgramCache, Pubkey, WorkspacePool,
    program_cache::{BlockRelation, ForkGraph},
};

use crate::{
    accounts::Accounts,
    ancestors::BankId,
    bank::{Bank, SharedState},
    error::BankError,
    options::{BankOptions, Options},
    phase::Phase,
    slot_tree::SlotTree,
    state::State,
    status_cache::StatusCache,
};

/// The live banks by slot: the root and its descendants.
///
/// Shared between threads, like the banks. Setting a root squashes the banks on its fork and drops
/// the state of all others.
#[derive(Debug)]
pub struct Forks {
    shared: Arc<SharedState>,
    tree: Arc<SlotTree>,
    banks: RwLock<Banks>,
}

#[derive(Debug)]
struct Banks {
    alive: BTreeMap<u64, Arc<Bank>>,
    root: Arc<Bank>,
    /// Slots after the root whose banks are dead and have not been replaced.
    dead: BTreeSet<u64>,
    made: u64,
}

impl Forks {
    /// Creates forks whose root has the given state. All banks share `programs`, whose lookups
    /// follow these forks from here on, unless the cache already follows others.
    #[must_use]
    pub fn new(state: State, programs: Arc<ProgramCache>, options: Options) -> Self {
        let shared = Arc::new(SharedState {
            accounts: Accounts::default(),
            statuses: RwLock::new(StatusCache::default()),
            programs,
            workspaces: WorkspacePool::default(),
            batch_workspaces: WorkspacePool::default(),
            options,
        });
        let root = Arc::new(Bank::import(Arc::clone(&shared), BankId(1), state));
        let tree = Arc::new(SlotTree::new(root.slot(), root.ancestors.clone()));
        let weak: Weak<SlotTree> = Arc::downgrade(&tree);
        // Harmless on failure: a cache that follows other forks compares ELF files before use.
        let _ = shared.programs.set_fork_graph(weak);
        let banks = Banks {
            alive: BTreeMap::from([(root.slot(), Arc::clone(&root))]),
            root,
            dead: BTreeSet::new(),
            made: 1,
        };
        Self { shared, tree, banks: RwLock::new(banks) }
    }

    /// Creates a child of a frozen bank, ready for the first transaction: its sysvars are those of
    /// the slot, and if it is the first bank of an epoch, the epoch has begun.
    ///
    /// # Errors
    /// If the parent does not exist, is dead or is not frozen; if the slot is not after the
    /// parent's, or taken. The slot of a dead bank is free.
    pub fn new_bank(&self, parent: u64, slot: u64) -> Result<Arc<Bank>, BankError> {
        self.new_bank_for(parent, slot, None)
    }

    /// Creates a bank like [`Forks::new_bank`], with a fee collector. Without one all fees are
    /// burned.
    ///
    /// # Errors
    /// As [`Forks::new_bank`].
    pub fn new_bank_for(
        &self,
        parent: u64,
        slot: u64,
        collector: Option<Pubkey>,
    ) -> Result<Arc<Bank>, BankError> {
        self.new_bank_with(parent, slot, &BankOptions { collector, ..BankOptions::default() })
    }

    /// Creates a bank like [`Forks::new_bank`], with options.
    ///
    /// # Errors
    /// As [`Forks::new_bank`].
    pub fn new_bank_with(
        &self,
        parent: u64,
        slot: u64,
        options: &BankOptions,
    ) -> Result<Arc<Bank>, BankError> {
        let mut banks = self.write();
        let parent = Arc::clone(banks.get(parent)?);
        if slot <= parent.slot() {
            return Err(BankError::NotAfterParent { slot, parent: parent.slot() });
        }
        if banks.alive.contains_key(&slot) {
            return Err(BankError::SlotTaken(slot));
        }
        let id = BankId(banks.made.saturating_add(1));
        let bank = Arc::new(parent.child(id, banks.root.id(), slot, options)?);
        banks.made = id.0;
        banks.dead.remove(&slot);
        banks.alive.insert(slot, Arc::clone(&bank));
        self.tree.insert(slot, bank.ancestors.clone());
        drop(banks);
        bank.prepare_programs();
        Ok(bank)
    }

    /// Returns the bank of a slot.
    ///
    /// # Errors
    /// If there is none, or if it is dead.
    pub fn bank(&self, slot: u64) -> Result<Arc<Bank>, BankError> {
        self.read().get(slot).map(Arc::clone)
    }

    /// Returns the root.
    #[must_use]
    pub fn root(&self) -> Arc<Bank> {
        Arc::clone(&self.read().root)
    }

    /// Returns the slots of the root and its descendants, in ascending order.
    #[must_use]
    pub fn slots(&self) -> Vec<u64> {
        self.read().alive.keys().copied().collect()
    }

    /// Returns the frozen bank with the highest slot.
    #[must_use]
    pub fn highest_frozen(&self) -> Arc<Bank> {
        let banks = self.read();
        let highest = banks.alive.values().rev().find(|bank| bank.is_frozen());
        Arc::clone(highest.unwrap_or(&banks.root))
    }

    /// Makes a frozen bank the root. Banks on other forks die; those before the root lose their own
    /// state. Returns the slots of the banks that died.
    ///
    /// # Errors
    /// If there is no such bank, or if it is dead or not frozen. Setting the current root again is
    /// no error.
    pub fn set_root(&self, slot: u64) -> Result<Vec<u64>, BankError> {
        let mut banks = self.write();
        let root = Arc::clone(banks.get(slot)?);
        if !root.is_frozen() {
            return Err(BankError::NotFrozen(slot));
        }
        let before = banks.root.id();
        let is_chain = |bank: &Bank| root.ancestors.contains(bank.id());
        let (chain, others): (Vec<_>, Vec<_>) =
            banks.alive.values().cloned().partition(|bank| is_chain(bank));
        let dead: Vec<Arc<Bank>> =
            others.into_iter().filter(|bank| !bank.ancestors.contains(root.id())).collect();
        let of = |banks: &[Arc<Bank>]| banks.iter().map(|bank| bank.slot()).collect::<Vec<u64>>();
        let (chain_slots, dead_slots) = (of(&chain), of(&dead));
        self.tree.set_root(slot, &chain_slots, &dead_slots);
        // From here on readers of these banks get an error, so their state can go.
        dead.iter().for_each(|bank| bank.enter_phase(Phase::Dead));
        let before_root = chain.iter().filter(|bank| bank.id() != root.id());
        before_root.for_each(|bank| bank.enter_phase(Phase::Rooted));
        // Dead banks first: squashing assumes that all versions up to the root belong to its chain.
        dead.iter().for_each(|bank| bank.drop_state());
        let new = chain.iter().filter(|bank| bank.id() > before);
        new.for_each(|bank| bank.squash(root.id()));
        for gone in chain_slots.iter().chain(&dead_slots).filter(|gone| **gone != slot) {
            banks.alive.remove(gone);
        }
        banks.dead.extend(dead_slots.iter().copied());
        banks.dead = banks.dead.split_off(&slot.saturating_add(1));
        banks.root = Arc::clone(&root);
        drop(banks);
        self.shared.programs.prune(slot, root.features());
        Ok(dead_slots)
    }

    /// Marks a bank and its descendants as dead and drops their state. Returns the slots of the
    /// banks that died.
    ///
    /// # Errors
    /// If there is no such bank, if it is dead already, or if it is the root.
    pub fn mark_dead(&self, slot: u64) -> Result<Vec<u64>, BankError> {
        let mut banks = self.write();
        let id = banks.get(slot)?.id();
        if id == banks.root.id() {
            return Err(BankError::IsRoot(slot));
        }
        let is_dead = |bank: &Bank| bank.ancestors.contains(id);
        let dead: Vec<Arc<Bank>> =
            banks.alive.values().filter(|bank| is_dead(bank)).cloned().collect();
        let dead_slots: Vec<u64> = dead.iter().map(|bank| bank.slot()).collect();
        self.tree.remove(&dead_slots);
        dead.iter().for_each(|bank| bank.enter_phase(Phase::Dead));
        dead.iter().for_each(|bank| bank.drop_state());
        dead_slots.iter().for_each(|slot| {
            banks.alive.remove(slot);
        });
        banks.dead.extend(dead_slots.iter().copied());
        Ok(dead_slots)
    }

    /// Returns whether the bank of a slot after the root is dead and was not replaced.
    #[must_use]
    pub fn is_dead(&self, slot: u64) -> bool {
        self.read().dead.contains(&slot)
    }

    /// Returns the number of account versions on all forks. Each bank adds one per account that it
    /// changes; rooting and dying remove them.
    #[must_use]
    pub fn account_versions(&self) -> usize {
        self.shared.accounts.versions()
    }

    /// Returns the number of processed transactions in the status cache, on all forks.
    #[must_use]
    pub fn status_cache_len(&self) -> usize {
        self.root().statuses_len()
    }

    /// Returns the cache of loaded programs, which all banks share.
    #[must_use]
    pub fn programs(&self) -> &Arc<ProgramCache> {
        &self.shared.programs
    }

    fn read(&self) -> RwLockReadGuard<'_, Banks> {
        self.banks.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Banks> {
        self.banks.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Banks {
    fn get(&self, slot: u64) -> Result<&Arc<Bank>, BankError> {
        self.alive.get(&slot).ok_or(match slot {
            _ if self.dead.contains(&slot) => BankError::Dead(slot),
            _ => BankError::NotFound(slot),
        })
    }
}

impl ForkGraph for Forks {
    fn relationship(&self, first: u64, second: u64) -> BlockRelation {
        self.tree.relationship(first, second)
    }
}
