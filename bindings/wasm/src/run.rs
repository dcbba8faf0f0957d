//! Runs of a program: the result, changes of accounts, and compute units by line.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{AccountSharedData, Pubkey, ReadableAccount as _, Svm};
use selkie_debug::{History, PathMap, Session};
use selkie_inspect::SourceMap;
use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_layout::{account::Layout, place, program};
use selkie_replay::{DebugFiles, ReachedStep, ReplayFile, Timeline, Visitor};
use selkie_report::explain;
use serde_json::{Value, json};

use crate::{input::Input, program::NAME};

/// A program that was run.
pub(crate) struct Run {
    timeline: Timeline,
    map: SourceMap,
}

impl Run {
    /// Runs a program with an instruction.
    ///
    /// # Errors
    /// If the program is refused.
    pub(crate) fn new(svm: &Svm, elf: &[u8], input: &Input) -> Result<Self, Failure> {
        let id = input.instruction.program_id;
        let mut svm = svm.clone().with_instruction_budget(input.budget);
        svm.add_program(id, elf).or_failure()?;
        svm.set_name(id, &input.name);
        let own: Vec<_> = input.accounts.iter().filter(|(key, _)| *key != id).cloned().collect();
        let instructions = core::slice::from_ref(&input.instruction);
        let replay = svm.record_instructions(&input.name, instructions, &own);
        let timeline = ReplayFile::from(replay).timeline(0).or_failure()?;
        Ok(Self { timeline, map: SourceMap::load(elf) })
    }

    /// Returns result, logs, changes, and what each line took.
    pub(crate) fn as_json(&self, input: &Input) -> Value {
        let receipt = self.timeline.receipt();
        let changes = receipt.changes().map(|it| {
            json!({
                "after": it.after().map(account),
                "before": it.before.as_ref().map(account),
                "fields": fields(it.before.as_ref(), it.after()),
                "key": it.key.to_string(),
            })
        });
        json!({
            "changes": changes.collect::<Vec<_>>(),
            "error": receipt.result.as_ref().err().map(ToString::to_string),
            "explained": explain::explain_transaction(&self.timeline),
            "instructions": self.timeline.steps(),
            "limit": receipt.compute_unit_limit,
            "lines": self.lines(&input.instruction.program_id),
            "logs": receipt.logs,
            "returned": BASE64_STANDARD.encode(receipt.returned()),
            "trap": receipt.trap().map(|it| {
                json!({ "instruction": it.instruction, "message": it.message, "notes": it.notes, "place": it.place_line() })
            }),
            "units": receipt.compute_units,
        })
    }

    /// Returns how often each line of the program was executed, and the compute units that it took with
    /// what it called.
    fn lines(&self, program: &Pubkey) -> Vec<Value> {
        let mut counter = Counter { program, last: None, slots: BTreeMap::new() };
        self.timeline.visit(&mut counter);
        let receipt = self.timeline.receipt();
        if receipt.stopped.is_none() {
            counter.charge(receipt.compute_unit_limit.saturating_sub(receipt.compute_units));
        }
        let mut lines = BTreeMap::<u32, (u64, u64)>::new();
        for (pc, (count, units)) in counter.slots {
            let Some(location) = u32::try_from(pc).ok().and_then(|pc| self.map.own_line_at(pc))
            else {
                continue;
            };
            let line = lines.entry(location.line).or_default();
            *line = (line.0.max(count), line.1.saturating_add(units));
        }
        let lines = lines.into_iter();
        lines
            .map(|(line, (count, units))| json!({ "count": count, "line": line, "units": units }))
            .collect()
    }

    /// Returns the run to be stepped through, with the text of the source.
    pub(crate) fn into_session(self, source: Option<&str>) -> Session {
        let history = History::new(self.timeline, &DebugFiles::default());
        let session = Session::new(history, PathMap::default());
        match source {
            // Debug information names the folder too.
            Some(text) => session.with_source(format!("./{NAME}"), text.to_owned()),
            None => session,
        }
    }
}

fn account(it: &AccountSharedData) -> Value {
    json!({
        "data": BASE64_STANDARD.encode(it.data()),
        "executable": it.executable(),
        "lamports": it.lamports().to_string(),
        "owner": it.owner().to_string(),
    })
}

/// Returns the fields of an account that changed, if its program is a well-known one.
fn fields(before: Option<&AccountSharedData>, after: Option<&AccountSharedData>) -> Vec<Value> {
    fn side(account: Option<&AccountSharedData>) -> Option<(&Layout, &[u8])> {
        let account = account?;
        Some((program::account(account.owner(), account.data())?, account.data()))
    }
    let changed = place::changes(side(before), side(after)).into_iter();
    changed.map(|it| json!({ "after": it.after, "before": it.before, "path": it.path })).collect()
}

/// Counts the executions of each slot of a program, and the units until its next step.
struct Counter<'a> {
    program: &'a Pubkey,
    /// The slot of the last step, and the units that were left.
    last: Option<(usize, u64)>,
    slots: BTreeMap<usize, (u64, u64)>,
}

impl Counter<'_> {
    fn charge(&mut self, left: u64) {
        let Some((pc, before)) = self.last.take() else { return };
        let units = &mut self.slots.entry(pc).or_default().1;
        *units = units.saturating_add(before.saturating_sub(left));
    }
}

impl Visitor for Counter<'_> {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if moment.program() == *self.program {
            let left = moment.units_left();
            self.charge(left);
            let count = &mut self.slots.entry(moment.pc()).or_default().0;
            *count = count.saturating_add(1);
            self.last = Some((moment.pc(), left));
        }
        ControlFlow::Continue(())
    }
}
