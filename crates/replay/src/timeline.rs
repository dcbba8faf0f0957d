//! [`Timeline`]: a transaction as a sequence of steps.

use core::ops::{ControlFlow, Range};
use std::path::PathBuf;

use selkie::{AccountSharedData, Case, Pubkey, Receipt, Replay, ReplayError, ReturnData, Svm};

use crate::{
    drive::{Driver, Waypoint},
    edit::{Edit, EditError},
    index::{Index, Invocation},
    state::{Level, State},
    visit::{ReachedStep, Visitor},
};

/// A transaction as a sequence of steps: the instructions that programs execute, those of inner
/// invocations in their order.
///
/// A position is a step, from 0. At position `n`, `n` instructions have been executed; at
/// [`Timeline::steps`], the transaction has ended.
#[derive(Debug)]
pub struct Timeline {
    id: String,
    svm: Svm,
    case: Case,
    receipt: Receipt,
    differences: Vec<String>,
    index: Index,
    edits: Vec<(u64, Edit)>,
    /// Files that may have debug information of the programs.
    pub(crate) symbols: Vec<PathBuf>,
}

impl Timeline {
    /// Runs a replay once, and indexes its steps. `blob` returns account data that it refers to by name.
    ///
    /// # Errors
    /// If the replay is malformed.
    pub fn new(
        replay: &Replay,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, ReplayError> {
        let (svm, case) = Svm::of_replay(replay, blob)?;
        let mut index = Index::default();
        let receipt = svm.run(&case, &mut Driver::new(&mut index, Vec::new(), &[]));
        let differences = replay.differences(receipt.ended(), blob)?;
        let id = replay.id().to_owned();
        Ok(Self {
            id,
            svm,
            case,
            receipt,
            differences,
            index,
            edits: Vec::new(),
            symbols: Vec::new(),
        })
    }

    /// Returns the replay's name: of a recording that of the test, or else the signature.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the files that may have debug information of the programs: those that the replay names,
    /// and those beside it.
    #[must_use]
    pub fn symbols(&self) -> &[PathBuf] {
        &self.symbols
    }

    /// Returns the result of the transaction, with all edits.
    #[must_use]
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Returns how the result differs from the recorded one: a sentence for each difference. A replay
    /// of another cluster's transaction differs if its state is incomplete.
    #[must_use]
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.index.steps
    }

    /// Returns the invocations in the order in which they began.
    #[must_use]
    pub fn invocations(&self) -> &[Invocation] {
        &self.index.invocations
    }

    /// Returns the index of the invocation that executes a step; `None` at the end.
    #[must_use]
    pub fn invocation_at(&self, step: u64) -> Option<usize> {
        self.index.invocation_at(step)
    }

    /// Returns the chain before the transaction.
    #[must_use]
    pub fn svm(&self) -> &Svm {
        &self.svm
    }

    /// Returns the transaction with the state before it.
    #[must_use]
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Returns the ELF file of a program; `None` if it is builtin or does not exist.
    #[must_use]
    pub fn program_file(&self, program: &Pubkey) -> Option<Vec<u8>> {
        self.svm.program_elf(program)
    }

    /// Runs the whole transaction for a visitor.
    pub fn visit(&self, visitor: &mut impl Visitor) {
        let edits = self.edits.iter().map(|(step, _)| *step);
        debug_assert!(edits.is_sorted(), "edits are kept in order");
        self.svm.run(&self.case, &mut Driver::new(visitor, Vec::new(), &self.edits));
    }

    /// Runs the transaction for a visitor, which sees each of these steps until it breaks off. Before
    /// the first of them it sees invocations and those syscalls that machine code does not replace, but
    /// no writes.
    pub fn visit_range(&self, range: Range<u64>, visitor: &mut impl Visitor) {
        if range.start < range.end.min(self.steps()) {
            self.run(self.waypoints([range.start]), range, visitor);
        }
    }

    /// Returns the state at a position, or at the end for any position behind it.
    #[must_use]
    pub fn state_at(&self, step: u64) -> State {
        if step >= self.steps() {
            return self.end();
        }
        let mut callers = Vec::new();
        let mut next = self.invocation_at(step).and_then(|it| self.invocations().get(it));
        while let Some(invocation) = next {
            callers.extend(invocation.call);
            next = invocation.caller.and_then(|it| self.invocations().get(it));
        }
        let waypoints = callers.iter().map(|call| call.step).chain([step]);
        let waypoints = self.waypoints(waypoints);
        let callers = callers.iter().map(|call| call.step).collect();
        let mut capture = Capture { callers, step, levels: Vec::new(), state: None };
        self.run(waypoints, 0..u64::MAX, &mut capture);
        capture.state.unwrap_or_else(|| self.end())
    }

    /// Changes the machine at a position. Everything after it is computed anew.
    ///
    /// # Errors
    /// If no program runs there, or it may not make the change itself.
    pub fn edit(&mut self, step: u64, edit: Edit) -> Result<(), EditError> {
        let state = self.state_at(step);
        let level = state.levels.last().ok_or(EditError::NoSuchStep(step))?;
        match &edit {
            Edit::Register(register, _) if *register > 9 => {
                return Err(EditError::NoSuchRegister(*register));
            }
            Edit::Memory(vaddr, bytes) => {
                let regions = level.memory.regions.iter().rev();
                let region = regions.clone().find(|region| region.vaddr <= *vaddr);
                let is_writable = region.is_some_and(|region| region.is_writable);
                if !is_writable || level.memory.read(*vaddr, bytes.len()).len() < bytes.len() {
                    return Err(EditError::NotWritable(*vaddr, bytes.len()));
                }
            }
            Edit::Register(..) => {}
        }
        let at = self.edits.partition_point(|(other, _)| *other <= step);
        self.edits.insert(at, (step, edit));
        self.edits.truncate(at + 1);
        self.reindex();
        Ok(())
    }

    /// Returns to history as it was recorded.
    pub fn discard_edits(&mut self) {
        self.edits.clear();
        self.reindex();
    }

    fn reindex(&mut self) {
        let mut index = Index::default();
        self.receipt =
            self.svm.run(&self.case, &mut Driver::new(&mut index, Vec::new(), &self.edits));
        self.index = index;
    }

    fn run<V: Visitor>(&self, waypoints: Vec<Waypoint>, range: Range<u64>, visitor: &mut V) {
        let mut driver = Driver::new(visitor, waypoints, &self.edits);
        driver.range = range;
        self.svm.run(&self.case, &mut driver);
        debug_assert!(!driver.has_diverged, "a transaction goes the same way each time");
    }

    /// Returns the waypoints on the way to these steps: the marks before them, and the steps of edits.
    fn waypoints(&self, steps: impl IntoIterator<Item = u64>) -> Vec<Waypoint> {
        let steps: Vec<u64> = steps.into_iter().collect();
        let last = steps.iter().copied().max().unwrap_or_default();
        let edits = self.edits.iter().map(|(step, _)| *step).filter(|step| *step <= last);
        let mut waypoints: Vec<Waypoint> = Vec::new();
        for step in steps.iter().copied().chain(edits) {
            let mark = self.index.mark_before(step);
            let known = mark.filter(|mark| mark.step == step).map(|mark| mark.units_left);
            let calls = self.invocations().iter().filter_map(|it| it.call);
            let call = calls.into_iter().find(|call| call.step == step).map(|it| it.units_left);
            let units_left = known.or(call);
            waypoints.push(Waypoint { step, units_left });
            if units_left.is_none() {
                let mark = mark.map(|it| (it.step, it.units_left));
                let mark = mark.map(|(step, units)| Waypoint { step, units_left: Some(units) });
                waypoints.extend(mark);
            }
        }
        waypoints.sort_unstable();
        waypoints.dedup_by_key(|it| it.step);
        waypoints
    }

    fn end(&self) -> State {
        let accounts = self.receipt.accounts.iter();
        let after = accounts.map(|it| (it.key, it.after().cloned().unwrap_or_default()));
        State {
            step: self.steps(),
            levels: Vec::new(),
            logs: self.receipt.logs.clone(),
            accounts: after.collect(),
            return_data: self.receipt.return_data.clone().unwrap_or_default(),
        }
    }
}

/// Copies the state at a step, and on the way there that of the callers.
struct Capture {
    callers: Vec<u64>,
    step: u64,
    levels: Vec<Level>,
    state: Option<State>,
}

impl Visitor for Capture {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if self.callers.contains(&moment.step) {
            self.levels.push(Level::of(moment));
        }
        if moment.step != self.step {
            return ControlFlow::Continue(());
        }
        let mut levels = core::mem::take(&mut self.levels);
        levels.push(Level::of(moment));
        let accounts = moment.context.accounts().iter();
        let accounts: Vec<(Pubkey, AccountSharedData)> =
            accounts.map(|it| (it.key, it.account.clone())).collect();
        self.state = Some(State {
            step: moment.step,
            levels,
            logs: moment.context.log_lines().to_vec(),
            accounts,
            return_data: ReturnData::clone(moment.context.return_data()),
        });
        ControlFlow::Break(())
    }
}
