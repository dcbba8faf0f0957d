//! Register traces of a replay as files, in [the form](selkie::registers) of `SBF_TRACE_DIR`. Besides,
//! `program_ids.map` has a line `address=hash` for each program.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

pub use selkie::registers::{RegisterTrace, STEP_WORDS, TraceError};
use selkie::{InstructionError, InvokeContext, Pubkey};
use selkie_replay::{ReachedStep, Timeline, Visitor};

use crate::{symbolize::Programs, text::hash};

/// Returns the registers of each invocation that executed instructions, innermost first, in the order
/// in which they ended.
#[must_use]
pub fn register_traces(timeline: &Timeline) -> Vec<RegisterTrace> {
    let mut collector = Collector::default();
    timeline.visit(&mut collector);
    collector.ended
}

/// Returns names and contents of the files of a transaction.
#[must_use]
pub fn files(timeline: &Timeline, programs: &mut Programs) -> BTreeMap<String, Vec<u8>> {
    programs.add(timeline);
    let mut files = BTreeMap::new();
    let mut hashes: BTreeMap<Pubkey, String> = BTreeMap::new();
    for trace in register_traces(timeline) {
        let symbols = programs.get(&trace.program);
        let text = symbols.map_or(&[][..], |it| it.view.program.executable().text());
        let elf = hashes.entry(trace.program);
        let elf = elf.or_insert_with(|| symbols.map_or_else(String::new, |it| hash(&it.view.elf)));
        files.extend(trace.files(text, elf));
    }
    let map: String = hashes.iter().map(|(id, hash)| format!("{id}={hash}\n")).collect();
    files.insert("program_ids.map".to_owned(), map.into_bytes());
    files
}

#[derive(Default)]
struct Collector {
    active: Vec<RegisterTrace>,
    ended: Vec<RegisterTrace>,
}

impl Visitor for Collector {
    fn enter(&mut self, _: usize, context: &InvokeContext<'_>) {
        self.active.push(RegisterTrace::new(context.instruction().program_id));
    }

    fn leave(&mut self, _: usize, _: &InvokeContext<'_>, _: &Result<(), InstructionError>) {
        self.ended.extend(self.active.pop().filter(|trace| !trace.steps.is_empty()));
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if let Some(trace) = self.active.last_mut() {
            trace.add(moment.registers(), moment.pc());
        }
        ControlFlow::Continue(())
    }
}
