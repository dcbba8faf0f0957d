//! Traces: the call tree of a transaction, with the compute units, log lines and account changes of
//! each call.

use core::mem;
use std::collections::VecDeque;

use selkie_ledger::{AccountDiff, Landed, Meta};
use solana_account::AccountSharedData;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    node::Node,
    view::{SimulateOptions, Simulation, View},
};

/// What a transaction did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The result of the transaction.
    pub result: Result<(), TransactionError>,
    /// The compute units of all instructions.
    pub compute_units: u64,
    /// The compute unit limit.
    pub compute_unit_limit: u64,
    /// The top-level instructions.
    pub frames: Vec<ProgramCall>,
    /// The log lines of no instruction.
    pub logs: Vec<String>,
    /// The addresses of the transaction, to which the changes refer.
    pub accounts: Vec<Pubkey>,
    /// How the data and owners of accounts changed.
    pub account_diffs: Vec<AccountDiff>,
    /// The same accounts before and afterwards, in the same order; empty if their state is not kept any longer.
    pub changed: Vec<Changed>,
    /// The balances before, in lamports.
    pub pre_balances: Vec<u64>,
    /// The balances afterwards, in lamports.
    pub post_balances: Vec<u64>,
    /// Explanations for people of a failure, beside the log.
    pub notes: Vec<String>,
}

/// An account whose data or owner a transaction changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// The account before; `None` if it did not exist.
    pub before: Option<AccountSharedData>,
    /// The account afterwards.
    pub after: Option<AccountSharedData>,
}

/// The call of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramCall {
    /// The program.
    pub program: Pubkey,
    /// The accounts that it was given.
    pub accounts: Vec<Pubkey>,
    /// The instruction data.
    pub data: Vec<u8>,
    /// The stack height, 1 for a top-level instruction.
    pub stack_height: u8,
    /// The compute units, those of inner instructions included.
    pub compute_units: u64,
    /// The compute units without those of inner instructions.
    pub self_compute_units: u64,
    /// Its log lines, without those of inner instructions.
    pub logs: Vec<String>,
    /// The instructions that it invoked, in the order of execution.
    pub inner: Vec<ProgramCall>,
}

impl Node {
    /// Returns the trace of a landed transaction; `None` if it is not in the history.
    #[must_use]
    pub fn trace(&self, signature: &Signature) -> Option<Trace> {
        let landed: &Landed = &*self.transaction(signature)?;
        let Landed { transaction, result, meta, .. } = landed;
        let mut trace = trace(&transaction.message, result.clone(), meta);
        let recordings = self.shared().recordings();
        if let Some(kept) = recordings.find(signature, landed.slot) {
            let after = |wanted: &Pubkey| {
                let found = kept.after.iter().find(|(key, _)| key == wanted);
                found.map(|(_, account)| account.clone())
            };
            trace.find_changed(&|key| kept.case.accounts.get(key).cloned(), &after);
        }
        Some(trace)
    }
}

impl View {
    /// Simulates a transaction and traces it.
    #[must_use]
    pub fn profile(
        &self,
        transaction: &VersionedTransaction,
        options: &SimulateOptions,
    ) -> (Simulation, Trace) {
        let simulation = self.simulate(transaction, options);
        let mut trace = trace(&transaction.message, simulation.result.clone(), &simulation.meta);
        let after = |wanted: &Pubkey| {
            let found = simulation.accounts.iter().find(|(key, _)| key == wanted);
            found.and_then(|(_, account)| account.clone())
        };
        trace.find_changed(&|key| self.account(key), &after);
        (simulation, trace)
    }
}

impl Trace {
    /// Keeps the accounts of the changes.
    fn find_changed(
        &mut self,
        before: &dyn Fn(&Pubkey) -> Option<AccountSharedData>,
        after: &dyn Fn(&Pubkey) -> Option<AccountSharedData>,
    ) {
        let keys = self.account_diffs.iter();
        let keys = keys.map(|it| self.accounts.get(usize::from(it.account_index)));
        let changed =
            keys.map(|key| Changed { before: key.and_then(before), after: key.and_then(after) });
        self.changed = changed.collect();
    }
}

fn trace(message: &VersionedMessage, result: Result<(), TransactionError>, meta: &Meta) -> Trace {
    let loaded = &meta.loaded_addresses;
    let keys = [message.static_account_keys(), &loaded.writable, &loaded.readonly].concat();
    let mut frames = frames(message, meta, &keys);
    let logs = distribute_logs(&mut frames, &meta.logs);
    Trace {
        result,
        compute_units: meta.compute_units,
        compute_unit_limit: meta.compute_unit_limit,
        frames,
        logs,
        accounts: keys,
        account_diffs: meta.account_diffs.clone(),
        changed: Vec::new(),
        pre_balances: meta.pre_balances.clone(),
        post_balances: meta.post_balances.clone(),
        notes: meta.notes.clone(),
    }
}

/// Returns the call trees of the top-level instructions that were started.
fn frames(message: &VersionedMessage, meta: &Meta, keys: &[Pubkey]) -> Vec<ProgramCall> {
    let key = |index: u8| keys.get(usize::from(index)).copied().unwrap_or_default();
    let frame =
        |program: u8, accounts: &[u8], data: &[u8], stack_height, compute_units| ProgramCall {
            program: key(program),
            accounts: accounts.iter().map(|index| key(*index)).collect(),
            data: data.to_vec(),
            stack_height,
            compute_units,
            self_compute_units: compute_units,
            logs: Vec::new(),
            inner: Vec::new(),
        };
    let started = message.instructions().iter().zip(&meta.instruction_compute_units);
    let trees = (0_u8..).zip(started).map(|(index, (instruction, units))| {
        let top = frame(
            instruction.program_id_index,
            &instruction.accounts,
            &instruction.data,
            1,
            *units,
        );
        let inner = meta.inner_instructions.iter().find(|inner| inner.index == index);
        let inner = inner.map(|inner| inner.instructions.as_slice()).unwrap_or_default();
        let inner = inner.iter().map(|it| {
            frame(it.program_index, &it.accounts, &it.data, it.stack_height, it.compute_units)
        });
        tree(top, inner.collect())
    });
    trees.collect()
}

/// Hangs inner instructions, in the order of execution, below the ones that invoked them.
fn tree(mut parent: ProgramCall, mut following: VecDeque<ProgramCall>) -> ProgramCall {
    while let Some(next) = following.pop_front() {
        let is_below = |frame: &ProgramCall| frame.stack_height > next.stack_height;
        let count = following.iter().take_while(|frame| is_below(frame)).count();
        let rest = following.split_off(count);
        let below = mem::replace(&mut following, rest);
        let units = next.compute_units;
        parent.self_compute_units = parent.self_compute_units.saturating_sub(units);
        parent.inner.push(tree(next, below));
    }
    parent
}

/// Gives each frame its log lines. Returns the lines of none.
fn distribute_logs(frames: &mut [ProgramCall], logs: &[String]) -> Vec<String> {
    let mut others = Vec::new();
    let (mut lines, mut next) = (logs.iter(), 0);
    while let Some(line) = lines.next() {
        // Precompiles are verified without a line in the log, so frames may be passed over.
        let found = (next..frames.len()).find(|index| frames[*index].starts_with(line));
        match found {
            Some(index) => {
                frames[index].take_logs(line, &mut lines);
                next = index.saturating_add(1);
            }
            None => others.push(line.clone()),
        }
    }
    others
}

impl ProgramCall {
    /// Takes its log lines: the first one, and those up to the one that ends the call.
    fn take_logs(&mut self, first: &str, lines: &mut core::slice::Iter<'_, String>) {
        self.logs.push(first.to_owned());
        let mut inner = self.inner.iter_mut().peekable();
        while let Some(line) = lines.next() {
            if let Some(inner) = inner.next_if(|inner| inner.starts_with(line)) {
                inner.take_logs(line, lines);
                continue;
            }
            self.logs.push(line.clone());
            if is_end(line, &self.program) {
                return;
            }
        }
    }

    /// Returns whether a line is the one that begins this call.
    fn starts_with(&self, line: &str) -> bool {
        line == format!("Program {} invoke [{}]", self.program, self.stack_height)
    }
}

/// Returns whether a line is one that ends a call of a program.
fn is_end(line: &str, program: &Pubkey) -> bool {
    let rest = line.strip_prefix("Program ").and_then(|it| it.strip_prefix(&program.to_string()));
    rest.is_some_and(|rest| rest == " success" || rest.starts_with(" failed: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(program: u8, stack_height: u8, inner: Vec<ProgramCall>) -> ProgramCall {
        ProgramCall {
            program: Pubkey::new_from_array([program; 32]),
            accounts: Vec::new(),
            data: Vec::new(),
            stack_height,
            compute_units: 10,
            self_compute_units: 10,
            logs: Vec::new(),
            inner,
        }
    }

    #[test]
    fn inner_instructions_hang_below_their_callers() {
        let flat = [(2, 2), (3, 3), (4, 4), (5, 3), (6, 2)];
        let flat = flat.map(|(program, height)| frame(program, height, Vec::new()));
        let top = tree(ProgramCall { compute_units: 100, ..frame(1, 1, Vec::new()) }, flat.into());
        let shape =
            |frames: &[ProgramCall]| frames.iter().map(|it| it.inner.len()).collect::<Vec<_>>();
        assert_eq!(shape(&top.inner), [2, 0]);
        assert_eq!(shape(&top.inner[0].inner), [1, 0]);
    }

    #[test]
    fn log_lines_belong_to_their_calls() {
        let mut frames = [frame(1, 1, vec![frame(2, 2, vec![])]), frame(1, 1, vec![])];
        let [one, two] = [1, 2].map(|it| Pubkey::new_from_array([it; 32]));
        let logs = [
            format!("Program {one} invoke [1]"),
            format!("Program log: Program {two} invoke [2]"),
            format!("Program {two} invoke [2]"),
            "Program log: inner".to_owned(),
            format!("Program {two} success"),
            format!("Program {one} success"),
            format!("Program {one} invoke [1]"),
            format!("Program {one} failed: custom program error: 0x1"),
            "after all".to_owned(),
        ];
        assert_eq!(distribute_logs(&mut frames, &logs), logs[8..]);
        assert_eq!(frames[0].logs, [&logs[..2], &logs[5..6]].concat());
        assert_eq!(frames[0].inner[0].logs, logs[2..5]);
        assert_eq!(frames[1].logs, logs[6..8]);
    }
}
