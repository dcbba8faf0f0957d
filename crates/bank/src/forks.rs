//! The banks of all forks, and the root that they have in common.

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
    bank::{Bank, Ledger, Options},
    error::BankError,
    life::Life,
    state::State,
    statuses::Statuses,
    tree::Tree,
};

/// Banks by slot: the root, and all that descend from it.
///
/// Banks are used from many threads; so is this. A root that is set moves on what is on its fork
/// and ends all others, whose state is dropped.
#[derive(Debug)]
pub struct Forks {
    ledger: Arc<Ledger>,
    tree: Arc<Tree>,
    banks: RwLock<Banks>,
}

#[derive(Debug)]
struct Banks {
    alive: BTreeMap<u64, Arc<Bank>>,
    root: Arc<Bank>,
    /// Slots after the root whose banks have died, and have not been made again.
    dead: BTreeSet<u64>,
    made: u64,
}

impl Forks {
    /// Forks whose root is what a state describes. Programs that are ready are kept in a cache that
    /// all banks share; it heeds these forks from here on, unless it does others.
    #[must_use]
    pub fn new(state: State, programs: Arc<ProgramCache>, options: Options) -> Self {
        let ledger = Arc::new(Ledger {
            accounts: Accounts::default(),
            statuses: RwLock::new(Statuses::default()),
            programs,
            workspaces: WorkspacePool::default(),
            batch_workspaces: WorkspacePool::default(),
            options,
        });
        let root = Arc::new(Bank::import(Arc::clone(&ledger), BankId(1), state));
        let tree = Arc::new(Tree::new(root.slot(), root.ancestors.clone()));
        let weak: Weak<Tree> = Arc::downgrade(&tree);
        // A cache of other forks still finds no wrong program, as it compares files.
        let _ = ledger.programs.set_fork_graph(weak);
        let banks = Banks {
            alive: BTreeMap::from([(root.slot(), Arc::clone(&root))]),
            root,
            dead: BTreeSet::new(),
            made: 1,
        };
        Self { ledger, tree, banks: RwLock::new(banks) }
    }

    /// Makes a bank after a frozen one. Whatever happens before the first transaction has happened:
    /// sysvars are those of the slot, and an epoch has begun if this is its first bank.
    ///
    /// # Errors
    /// If the parent is not there, dead or not frozen, if the slot is not after it, or taken. The
    /// slot of a dead bank is free.
    pub fn new_bank(&self, parent: u64, slot: u64) -> Result<Arc<Bank>, BankError> {
        self.new_bank_for(parent, slot, None)
    }

    /// The same, and whoever collects the fees: without anybody all are burned.
    ///
    /// # Errors
    /// As [`Forks::new_bank`].
    pub fn new_bank_for(
        &self,
        parent: u64,
        slot: u64,
        collector: Option<Pubkey>,
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
        let bank = Arc::new(parent.child(id, banks.root.id(), slot, collector)?);
        banks.made = id.0;
        banks.dead.remove(&slot);
        banks.alive.insert(slot, Arc::clone(&bank));
        self.tree.insert(slot, bank.ancestors.clone());
        drop(banks);
        bank.prepare_programs();
        Ok(bank)
    }

    /// The bank of a slot.
    ///
    /// # Errors
    /// If there is none, or if it is dead.
    pub fn bank(&self, slot: u64) -> Result<Arc<Bank>, BankError> {
        self.read().get(slot).map(Arc::clone)
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> Arc<Bank> {
        Arc::clone(&self.read().root)
    }

    /// The slots of the root and of all that descend from it.
    #[must_use]
    pub fn slots(&self) -> Vec<u64> {
        self.read().alive.keys().copied().collect()
    }

    /// The frozen bank with the highest slot.
    #[must_use]
    pub fn highest_frozen(&self) -> Arc<Bank> {
        let banks = self.read();
        let highest = banks.alive.values().rev().find(|bank| bank.is_frozen());
        Arc::clone(highest.unwrap_or(&banks.root))
    }

    /// Makes a frozen bank the root: all that is not on its fork dies, and what came before it has
    /// no state of its own any more. Gives the slots that died.
    ///
    /// # Errors
    /// If there is no such bank, if it is dead or not frozen. The root of now is no error.
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
        // From here on nobody reads what is taken away below.
        dead.iter().for_each(|bank| bank.enter(Life::Dead));
        let before_root = chain.iter().filter(|bank| bank.id() != root.id());
        before_root.for_each(|bank| bank.enter(Life::Rooted));
        // The dead first: what is left of versions up to the root is the root's.
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
        self.ledger.programs.prune(slot, root.features());
        Ok(dead_slots)
    }

    /// Marks a bank dead, and all that descend from it: their state is dropped. Gives the slots
    /// that died.
    ///
    /// # Errors
    /// If there is no such bank, if it is dead already, or the root.
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
        dead.iter().for_each(|bank| bank.enter(Life::Dead));
        dead.iter().for_each(|bank| bank.drop_state());
        dead_slots.iter().for_each(|slot| {
            banks.alive.remove(slot);
        });
        banks.dead.extend(dead_slots.iter().copied());
        Ok(dead_slots)
    }

    /// Whether the bank of a slot after the root has died, and was not made again.
    #[must_use]
    pub fn is_dead(&self, slot: u64) -> bool {
        self.read().dead.contains(&slot)
    }

    /// How many versions of accounts there are on all forks together. Each bank adds one for each
    /// account that it changes; rooting and dying take them away again.
    #[must_use]
    pub fn account_versions(&self) -> usize {
        self.ledger.accounts.versions()
    }

    /// How many processed transactions are remembered on all forks together.
    #[must_use]
    pub fn transactions_remembered(&self) -> usize {
        self.root().statuses_len()
    }

    /// The programs that are ready to run, which all banks share.
    #[must_use]
    pub fn programs(&self) -> &Arc<ProgramCache> {
        &self.ledger.programs
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
