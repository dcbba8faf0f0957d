//! Which moments are a stop: breakpoints, watches, filters.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, HashMap};

use super::{Model, Session, Stop};
use crate::{
    breakpoint::{Breakpoint, BreakpointId, LogText},
    history::{Event, EventKind, Moment},
};

/// The lines that log points may write at a time.
const OUTPUT_LINES_MAX: usize = 10_000;

/// The moments that are searched at a time, going back. Each time there are four times as many.
pub(super) const WINDOW: u64 = 4096;

/// A stop, and the position to stop at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) position: u64,
    pub(super) stop: Stop,
}

/// Checks moments, which are given in order.
pub(super) struct Checker<'m> {
    model: &'m Model,
    /// The breakpoints at each instruction.
    at: HashMap<(usize, u32), Vec<&'m Breakpoint>>,
    /// How often each breakpoint was reached.
    hits: HashMap<BreakpointId, u64>,
    /// The bytes of each watch when last seen, and the position then.
    watched: Vec<Option<(u64, Vec<u8>)>>,
    /// Happenings that are a stop.
    events: BTreeMap<u64, Stop>,
    units_before: Option<u64>,
    is_backward: bool,
    /// What log points have written.
    pub(super) output: Vec<String>,
}

impl<'m> Checker<'m> {
    pub(super) fn new(model: &'m Model, events: &[Event], is_backward: bool) -> Self {
        let mut at: HashMap<_, Vec<_>> = HashMap::new();
        for breakpoint in &model.breakpoints {
            for &pc in &breakpoint.pcs {
                at.entry(pc).or_default().push(breakpoint);
            }
        }
        let events = events.iter().filter_map(|it| Some((it.position, model.filtered(it)?)));
        Self {
            model,
            at,
            hits: HashMap::new(),
            watched: vec![None; model.watches.len()],
            events: events.collect(),
            units_before: None,
            is_backward,
            output: Vec::new(),
        }
    }

    /// Returns whether the decision on a moment depends on those before it, from the start of the run.
    fn depends_on_past(&self) -> bool {
        !self.watched.is_empty() || self.model.breakpoints.iter().any(|it| it.hits.is_some())
    }

    /// Decides on the next moment. `is_counted` tells whether it may be a stop, or is only passed.
    pub(super) fn check(&mut self, moment: &dyn Moment, is_counted: bool) -> Option<Found> {
        let position = moment.position();
        let breakpoint = self.breakpoint(moment, is_counted);
        let units = self.units(moment);
        let watch = self.watch(moment);
        if !is_counted {
            return None;
        }
        let here = |stop| Found { position, stop };
        let event = || self.events.get(&position).cloned();
        watch.or_else(|| breakpoint.or_else(event).or(units).map(here))
    }

    fn breakpoint(&mut self, moment: &dyn Moment, is_counted: bool) -> Option<Stop> {
        let here = self.at.get(&(moment.program(), moment.pc()))?.clone();
        let stops: Vec<Stop> =
            here.iter().filter_map(|it| self.reach(it, moment, is_counted)).collect();
        stops.into_iter().next()
    }

    /// Counts that a breakpoint is reached, and returns the stop if its conditions are met.
    fn reach(
        &mut self,
        breakpoint: &Breakpoint,
        moment: &dyn Moment,
        is_counted: bool,
    ) -> Option<Stop> {
        if let Some(condition) = &breakpoint.condition {
            match self.model.is_true(moment, condition) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    return Some(Stop::Exception("condition", error.explain(condition.source())));
                }
            }
        }
        let hits = self.hits.entry(breakpoint.id).or_default();
        *hits += 1;
        if breakpoint.hits.is_some_and(|count| !count.is_met(*hits)) {
            return None;
        }
        let Some(log) = &breakpoint.log else { return Some(Stop::Breakpoint(breakpoint.id)) };
        if is_counted && !self.is_backward && self.output.len() < OUTPUT_LINES_MAX {
            self.output.push(self.model.log_line(moment, log));
        }
        None
    }

    /// Returns the stop of the units filter: at the first moment below the limit.
    fn units(&mut self, moment: &dyn Moment) -> Option<Stop> {
        let limit = self.model.filters.units_below?;
        let left = moment.units_left();
        let before = self.units_before.replace(left);
        let is_crossed = left < limit && before.is_some_and(|it| it >= limit);
        is_crossed.then(|| Stop::Exception("units", format!("{left} compute units are left")))
    }

    /// Compares the watched bytes with those of the last moment of the same instruction.
    fn watch(&mut self, moment: &dyn Moment) -> Option<Found> {
        let (instruction, position) = (moment.frame().instruction, moment.position());
        let mut found = None;
        for (watch, seen) in self.model.watches.iter().zip(&mut self.watched) {
            if watch.instruction != instruction {
                continue;
            }
            let len = usize::try_from(watch.range.end - watch.range.start).unwrap_or(0);
            let mut new = vec![0; len];
            if moment.read(watch.height, watch.range.start, &mut new).is_err() {
                continue;
            }
            if let Some((before, old)) = seen.replace((position, new.clone()))
                && old != new
                && found.is_none()
            {
                // Going back, the change is undone: the moment is before the instruction that wrote.
                let position = if self.is_backward { before } else { position };
                let (id, name) = (watch.id, watch.name.clone());
                found = Some(Found { position, stop: Stop::Watch { id, name, old, new } });
            }
        }
        found
    }
}

impl Model {
    /// Returns the stop of a happening, if a filter asks for it.
    fn filtered(&self, event: &Event) -> Option<Stop> {
        let filters = &self.filters;
        let is_asked = match event.kind {
            EventKind::Trap => filters.trap,
            EventKind::Error => filters.error,
            EventKind::Log => filters.log.as_ref().is_some_and(|text| event.text.contains(text)),
            EventKind::Account => {
                filters.account.as_ref().is_some_and(|key| event.text.starts_with(key))
            }
        };
        is_asked.then(|| Stop::Exception(event.kind.name(), self.shown(event).into_owned()))
    }

    /// Returns the line that a log point writes.
    fn log_line(&self, moment: &dyn Moment, log: &LogText) -> String {
        let values = log.exprs.iter().map(|expr| self.text(moment, expr));
        let values = values.chain(core::iter::once(String::new()));
        log.texts.iter().zip(values).flat_map(|(text, value)| [text.clone(), value]).collect()
    }
}

impl Session {
    /// Goes forward to the next moment that `is_done` accepts or that is a stop, or to the end.
    pub(super) fn run_forward(&mut self, is_done: &mut dyn FnMut(&Model, &dyn Moment) -> bool) {
        let mut events = self.history.events().to_vec();
        if let Some(failure) = self.begun_at.as_ref().filter(|it| it.contains(&self.position)) {
            events.retain(|it| !it.kind.is_failure() || it.position != *failure.end());
        }
        let mut checker = Checker::new(&self.model, &events, false);
        let (now, end) = (self.position, self.history.end());
        let start = if checker.depends_on_past() { 0 } else { now };
        let mut found = None;
        self.history.visit(start..end, &mut |moment| {
            let is_ahead = moment.position() > now;
            found = checker.check(moment, is_ahead);
            if found.is_none() && is_ahead && is_done(&self.model, moment) {
                found = Some(Found { position: moment.position(), stop: Stop::Step });
            }
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.output.append(&mut checker.output);
        let found = found.unwrap_or(Found { position: end, stop: Stop::End });
        (self.position, self.stop) = (found.position, found.stop);
    }

    /// Goes back to the last stop before the position, or to the start.
    pub(super) fn run_backward(&mut self) {
        let events = self.history.events().to_vec();
        let now = self.position;
        let mut window = WINDOW;
        let mut end = now;
        let mut found = None;
        while end > 0 && found.is_none() {
            let mut checker = Checker::new(&self.model, &events, true);
            let all = checker.depends_on_past();
            let start = if all { 0 } else { end.saturating_sub(window) };
            // The moment before is passed to see what changes with the first one.
            // The present one shows what the last instruction before it has changed.
            let after = if end == now { now.saturating_add(1) } else { end };
            self.history.visit(start.saturating_sub(1)..after, &mut |moment| {
                let next = checker.check(moment, moment.position() >= start);
                found = next.filter(|it| it.position < now).or(found.take());
                ControlFlow::Continue(())
            });
            if all && found.is_none() {
                break;
            }
            (end, window) = (start, window.saturating_mul(4));
        }
        let found = found.unwrap_or(Found { position: 0, stop: Stop::Entry });
        (self.position, self.stop) = (found.position, found.stop);
    }
}
