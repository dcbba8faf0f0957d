//! A debugging session: a position in a run, breakpoints, and the ways to another position.
//!
//! The session never holds a machine. It asks the [`History`] for moments, in both directions alike: a
//! motion backwards visits the moments before the position and takes the last one that is a stop.

mod accounts;
mod code;
mod edit;
mod frames;
mod motion;
mod spots;
mod start;
mod stops;
mod words;

use core::ops::{ControlFlow, RangeInclusive};
use std::{borrow::Cow, cell::RefCell, collections::HashMap, sync::Arc};

use selkie_inspect::{demangle, dwarf::Refusal};
use selkie_isa::plain;

use crate::{
    breakpoint::{Breakpoint, BreakpointId, Filters, HitCount, LogText, Place, Request, Watch},
    expr::{Expr, ExprError},
    history::{Event, FrameId, History, Moment, ProgramFile},
    info::{DebugInfo, PathMap},
};

use self::spots::Spot;
pub use self::{
    frames::{Frame, Shown},
    motion::{Direction, Granularity, Motion},
    start::StartAt,
    words::{Reply, Word},
};

/// Why a session is where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The start of the run.
    Entry,
    /// A step or a jump is done.
    Step,
    /// A breakpoint was reached.
    Breakpoint(BreakpointId),
    /// Watched memory is about to change, or has just changed.
    Watch {
        /// The watch.
        id: BreakpointId,
        /// What is watched.
        name: String,
        /// The value before.
        old: Vec<u8>,
        /// The value now.
        new: Vec<u8>,
    },
    /// A filter matched: its name, and the log line, trap or error.
    Exception(&'static str, String),
    /// The end of the run.
    End,
}

/// A program with its debug information.
#[derive(Debug)]
pub struct DebuggedProgram {
    /// The program's files and name.
    pub file: ProgramFile,
    /// Its debug information.
    pub info: DebugInfo,
}

impl DebuggedProgram {
    /// Returns the name of the function that contains an instruction, inlined calls apart.
    pub(crate) fn function_at(&self, pc: u32) -> String {
        let found = self.file.functions.range(..=pc).next_back();
        match (self.info.symbol_at(pc), found) {
            // Symbols of a stripped program are those that it exports: others lie between them.
            (Some((start, name)), found) if found.is_none_or(|(at, _)| start >= *at) => name,
            (_, Some((_, name))) => demangle(name),
            (Some((_, name)), None) => name,
            (None, None) => format!("slot {pc}"),
        }
    }
}

/// What does not change while moments are visited: programs, breakpoints, settings.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) programs: Vec<DebuggedProgram>,
    pub(crate) paths: PathMap,
    pub(crate) breakpoints: Vec<Breakpoint>,
    pub(crate) watches: Vec<Watch>,
    pub(crate) filters: Filters,
    /// Whether steps stop in libraries as well.
    pub(crate) steps_into_libraries: bool,
    /// Whether log lines are shown as they are.
    is_raw: bool,
    /// Spots of instructions that were asked for before.
    spots: RefCell<HashMap<(usize, u32), Arc<Spot>>>,
}

/// A debugging session.
pub struct Session {
    history: History,
    pub(crate) model: Model,
    position: u64,
    stop: Stop,
    /// Whether the last motion was one by instructions, which leads into libraries.
    is_by_instruction: bool,
    next_id: BreakpointId,
    /// Lines of log points that were passed.
    output: Vec<String>,
    /// The positions from the line of the failure that the session began at to the instruction with
    /// which the program failed then: that is no stop of its own.
    begun_at: Option<RangeInclusive<u64>>,
    /// Source files that are on no disk, by their names in debug information.
    sources: HashMap<String, String>,
}

impl Model {
    /// Returns the text of a happening as it is shown: one line, without control characters.
    pub(crate) fn shown<'a>(&self, event: &'a Event) -> Cow<'a, str> {
        if self.is_raw { Cow::Borrowed(&event.text) } else { plain::line(&event.text) }
    }
}

impl Session {
    /// Begins at the start of a run.
    #[must_use]
    pub fn new(history: History, paths: PathMap) -> Self {
        let programs = history
            .programs()
            .iter()
            .map(|file| DebuggedProgram { info: DebugInfo::load(&file.debug), file: file.clone() });
        let model = Model {
            programs: programs.collect(),
            paths,
            breakpoints: Vec::new(),
            watches: Vec::new(),
            filters: Filters::default(),
            steps_into_libraries: false,
            is_raw: false,
            spots: RefCell::default(),
        };
        let stop = Stop::Entry;
        let output = Vec::new();
        Self {
            history,
            model,
            position: 0,
            stop,
            is_by_instruction: false,
            next_id: 1,
            output,
            begun_at: None,
            sources: HashMap::new(),
        }
    }

    /// Gives the text of a source file that is on no disk, by its name in debug information.
    #[must_use]
    pub fn with_source(mut self, file: String, text: String) -> Self {
        self.sources.insert(file, text);
        self
    }

    /// Returns the text of a source file that was given.
    pub(crate) fn given_source(&self, file: &str) -> Option<&str> {
        self.sources.get(file).map(String::as_str)
    }

    /// Returns the names of the programs whose debug information is not used, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, Refusal)> {
        let programs = self.model.programs.iter();
        programs.filter_map(|it| Some((it.file.name.as_str(), it.info.refusal()?)))
    }

    /// Returns the run.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the number of instructions that were executed before the present moment.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the position of the end.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.history.end()
    }

    /// Returns whether the run has ended.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.position >= self.history.end()
    }

    /// Returns how the run ended, as text.
    #[must_use]
    pub fn result(&self) -> &str {
        self.history.result()
    }

    /// Returns what happened before the present moment.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        let events = self.history.events();
        &events[..events.partition_point(|it| it.position < self.position)]
    }

    /// Returns why the session is here.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the programs of the run.
    #[must_use]
    pub fn programs(&self) -> &[DebuggedProgram] {
        &self.model.programs
    }

    /// Returns the map from recorded paths to those here.
    #[must_use]
    pub fn paths(&self) -> &PathMap {
        &self.model.paths
    }

    /// Sets whether steps stop in the standard library and in other packages.
    pub fn step_into_libraries(&mut self, is_on: bool) {
        if core::mem::replace(&mut self.model.steps_into_libraries, is_on) != is_on {
            self.model.spots.borrow_mut().clear();
        }
    }

    /// Sets whether log lines are shown as they are, with their control characters and line breaks.
    pub fn show_raw(&mut self, is_raw: bool) {
        self.model.is_raw = is_raw;
    }

    /// Adds a line to those that log points have written.
    pub fn tell(&mut self, line: String) {
        self.output.push(line);
    }

    /// Takes the lines that log points have written.
    pub fn take_output(&mut self) -> Vec<String> {
        core::mem::take(&mut self.output)
    }

    /// Sets the happenings that are a stop.
    pub fn set_filters(&mut self, filters: Filters) {
        self.model.filters = filters;
    }

    /// Returns the happenings that are a stop.
    #[must_use]
    pub fn filters(&self) -> &Filters {
        &self.model.filters
    }

    /// Goes to a position, the end at most.
    pub fn go_to(&mut self, position: u64) {
        self.position = position.min(self.history.end());
        self.is_by_instruction = false;
        self.stop = if self.is_at_end() { Stop::End } else { Stop::Step };
    }

    /// Calls a function with the present moment; with none at the end.
    pub(crate) fn now<R>(&self, mut look: impl FnMut(&Model, &dyn Moment) -> R) -> Option<R> {
        let (model, mut result) = (&self.model, None);
        let range = self.position..self.position.saturating_add(1).min(self.history.end());
        self.history.visit(range, &mut |moment| {
            result = Some(look(model, moment));
            ControlFlow::Break(())
        });
        result
    }

    /// Adds a breakpoint. It may be at no instruction: then it never stops, and has no `pcs`.
    ///
    /// # Errors
    /// If condition, hit count or log text cannot be parsed.
    pub fn add_breakpoint(&mut self, request: &Request) -> Result<&Breakpoint, ExprError> {
        let condition = request.condition.as_deref().map(Expr::parse).transpose()?;
        let hits = request.hits.as_deref().map(|text| {
            let message = "expected a number of hits, as `5`, `>= 5` or `% 5`";
            HitCount::parse(text).ok_or_else(|| ExprError::new(0..text.len(), message))
        });
        let hits = hits.transpose()?;
        let log = request.log.as_deref().map(LogText::parse).transpose()?;
        let (line, pcs) = self.model.resolve(&request.place);
        let (id, place) = (self.new_id(), request.place.clone());
        self.model.breakpoints.push(Breakpoint { id, place, line, pcs, condition, hits, log });
        Ok(self.model.breakpoints.last().expect("it was just added"))
    }

    fn new_id(&mut self) -> BreakpointId {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Returns the breakpoints.
    #[must_use]
    pub fn breakpoints(&self) -> &[Breakpoint] {
        &self.model.breakpoints
    }

    /// Keeps the breakpoints for which the function returns `true`.
    pub fn retain_breakpoints(&mut self, keep: impl FnMut(&Breakpoint) -> bool) {
        self.model.breakpoints.retain(keep);
    }

    /// Watches memory of the instruction that a frame belongs to.
    pub fn add_watch(
        &mut self,
        frame: FrameId,
        name: &str,
        address: u64,
        len: u64,
    ) -> BreakpointId {
        let id = self.new_id();
        self.model.watches.push(Watch {
            id,
            name: name.to_owned(),
            range: address..address.saturating_add(len.clamp(1, WATCH_BYTES_MAX)),
            height: frame.height,
            instruction: frame.instruction,
        });
        id
    }

    /// Returns the watches.
    #[must_use]
    pub fn watches(&self) -> &[Watch] {
        &self.model.watches
    }

    /// Keeps the watches for which the function returns `true`.
    pub fn retain_watches(&mut self, keep: impl FnMut(&Watch) -> bool) {
        self.model.watches.retain(keep);
    }
}

/// The bytes of one watch.
const WATCH_BYTES_MAX: u64 = 1024;

impl Model {
    /// Returns the line that a place is at, and its instructions in all programs.
    fn resolve(&self, place: &Place) -> (Option<u32>, Vec<(usize, u32)>) {
        match place {
            Place::Instruction(program, pc) => (None, vec![(*program, *pc)]),
            Place::Function(name) => (None, self.in_all(|info| Some(info.function_places(name)))),
            Place::Line(path, line) => {
                let path = self.paths.recorded(path);
                let places =
                    self.programs.iter().filter_map(|it| it.info.line_places(&path, *line));
                let best = places.max_by_key(|it| (it.common, core::cmp::Reverse(it.line)));
                let Some(best) = best else { return (None, Vec::new()) };
                let pcs = self.in_all(|info| {
                    let places = info.line_places(&path, *line)?;
                    let is_best = (places.common, places.line) == (best.common, best.line);
                    is_best.then_some(places.pcs)
                });
                (Some(best.line), pcs)
            }
        }
    }

    /// Returns the instructions that a function finds in each program.
    fn in_all(&self, find: impl Fn(&DebugInfo) -> Option<Vec<u32>>) -> Vec<(usize, u32)> {
        let found = self.programs.iter().map(|it| find(&it.info).unwrap_or_default());
        found
            .enumerate()
            .flat_map(|(index, pcs)| pcs.into_iter().map(move |pc| (index, pc)))
            .collect()
    }
}

impl core::fmt::Debug for Session {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Session").field("position", &self.position).finish_non_exhaustive()
    }
}
