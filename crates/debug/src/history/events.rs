//! What happens in a run: log lines, traps, errors, changes of accounts.

use core::ops::ControlFlow;

use selkie::{AccountSharedData, InstructionError, InvokeContext};
use selkie_replay::{ReachedStep, Timeline, Visitor};

use super::{Event, EventKind, accounts::change};

/// Reads the events of a timeline.
pub(super) fn read(timeline: &Timeline) -> Vec<Event> {
    let mut reader = Reader::default();
    timeline.visit(&mut reader);
    // What was logged after the last instruction.
    reader.add_logs(&timeline.receipt().logs, timeline.steps().saturating_sub(1));
    reader.events
}

#[derive(Default)]
struct Reader {
    events: Vec<Event>,
    lines: usize,
    /// The number of instructions so far.
    steps: u64,
    /// The accounts when last seen.
    accounts: Vec<AccountSharedData>,
}

impl Reader {
    fn add_logs(&mut self, lines: &[String], position: u64) {
        let new = lines.iter().skip(self.lines);
        let event = |text: &String| Event { position, kind: EventKind::Log, text: text.clone() };
        self.events.extend(new.map(event));
        self.lines = lines.len();
    }

    fn add_changes(&mut self, context: &InvokeContext<'_>) {
        let position = self.steps.saturating_sub(1);
        let accounts = context.accounts().iter();
        for (index, now) in accounts.enumerate() {
            match self.accounts.get_mut(index) {
                None => self.accounts.push(now.account.clone()),
                Some(before) => {
                    let Some(text) = change(&now.key, before, &now.account) else { continue };
                    *before = now.account.clone();
                    self.events.push(Event { position, kind: EventKind::Account, text });
                }
            }
        }
    }
}

impl Visitor for Reader {
    fn enter(&mut self, _: usize, context: &InvokeContext<'_>) {
        self.add_changes(context);
    }

    fn leave(
        &mut self,
        _: usize,
        context: &InvokeContext<'_>,
        result: &Result<(), InstructionError>,
    ) {
        let position = self.steps.saturating_sub(1);
        self.add_logs(context.log_lines(), position);
        self.add_changes(context);
        let Err(error) = result else { return };
        // Callers fail with their callee, at the same instruction.
        let is_failure = |it: &Event| it.kind.is_failure() && it.position == position;
        if !self.events.iter().rev().take_while(|it| it.position == position).any(is_failure) {
            self.events.push(Event { position, kind: kind(error), text: error.to_string() });
        }
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if moment.context.log_lines().len() > self.lines {
            self.add_logs(moment.context.log_lines(), self.steps.saturating_sub(1));
        }
        self.steps = moment.step + 1;
        ControlFlow::Continue(())
    }
}

fn kind(error: &InstructionError) -> EventKind {
    match error {
        InstructionError::ProgramFailedToComplete
        | InstructionError::ComputationalBudgetExceeded => EventKind::Trap,
        _ => EventKind::Error,
    }
}
