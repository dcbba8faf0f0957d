//! The run that is debugged, as the debugger sees it: any of its moments, in any order.

mod accounts;
mod events;
mod now;

use core::{
    fmt,
    ops::{ControlFlow, Range},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use selkie::{
    ErrorPlace, InstructionError, Pubkey,
    programs::errors::{self, ErrorName},
};
use selkie_inspect::{Labels, instruction_text};
use selkie_isa::input;
use selkie_isa::layout::SLOT_BYTES;
use selkie_replay::{DebugFiles, Edit, EditError, ProgramView, Timeline, Write};

use self::now::Visit;
use crate::guest::{Guest, Unreadable};

/// The opcode of `lddw`, whose second slot has the opcode 0.
const LDDW: u8 = 0x18;

/// A program of a run.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// Its name, or its address.
    pub name: String,
    /// Its address in base58.
    pub address: String,
    /// The file with its debug information; the one that runs if there is no other.
    pub debug: Arc<[u8]>,
    /// Whether that is another file than the one that was deployed, built on this machine.
    pub is_built_here: bool,
    /// The names of its functions by first slot: those without a symbol are called after the program and
    /// the offset in its code.
    pub functions: BTreeMap<u32, String>,
}

/// Where an activation is among all of a moment. A greater one is called, directly or not, by a
/// smaller one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FrameId {
    /// The number of the instruction in the order in which instructions of the transaction start.
    pub instruction: u32,
    /// Its stack height: 1 for a top-level instruction.
    pub height: u32,
    /// The functions of the program that have called.
    pub depth: u32,
}

impl FrameId {
    /// Returns stack height and call depth, by which activations are nested.
    #[must_use]
    pub fn nesting(self) -> (u32, u32) {
        (self.height, self.depth)
    }
}

/// A function that was called and has not returned, inlined calls apart.
#[derive(Clone, Debug)]
pub struct Activation {
    /// Where it is.
    pub frame: FrameId,
    /// The index of its program.
    pub program: usize,
    /// The instruction to be executed, or the call that has not returned.
    pub pc: u32,
    /// The registers; those that are not known are `None`.
    pub registers: [Option<u64>; 11],
}

/// The moment before an instruction is executed.
pub trait Moment {
    /// Returns its number: the instructions that were executed before it.
    fn position(&self) -> u64;

    /// Returns the index of the program that runs.
    fn program(&self) -> usize;

    /// Returns the slot of the instruction.
    fn pc(&self) -> u32;

    /// Returns the innermost activation's place.
    fn frame(&self) -> FrameId;

    /// Returns the compute units that are left.
    fn units_left(&self) -> u64;

    /// Returns the activations, the innermost one first.
    fn activations(&self) -> Vec<Activation>;

    /// Fills `bytes` with those at an address of the memory of the instruction at a stack height.
    ///
    /// # Errors
    /// If not all of them are in its memory.
    fn read(&self, height: u32, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable>;
}

/// Something that happened in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The moment before the instruction with which it happened.
    pub position: u64,
    /// What happened.
    pub kind: EventKind,
    /// The log line, the trap, the error, the change.
    pub text: String,
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A line was logged.
    Log,
    /// A program was ended by the machine.
    Trap,
    /// A program returned an error.
    Error,
    /// An account changed: when the program ended that had changed it, or invoked another one.
    Account,
}

impl EventKind {
    /// Returns the name of the filter for such events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Trap => "trap",
            Self::Error => "error",
            Self::Account => "account",
        }
    }

    /// Returns whether a run fails by such events.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Trap | Self::Error)
    }
}

/// A run whose moments can be visited in any order: the timeline of a replay, with the programs in it.
pub struct History {
    timeline: Timeline,
    programs: Vec<ProgramFile>,
    views: Vec<ProgramView>,
    /// The index of the program of each invocation.
    program_of: Vec<usize>,
    events: Vec<Event>,
    result: String,
}

impl History {
    /// Finds the programs of a timeline. Their debug information is in `files`, or in themselves.
    #[must_use]
    pub fn new(timeline: Timeline, files: &DebugFiles) -> Self {
        let mut history = Self {
            timeline,
            programs: Vec::new(),
            views: Vec::new(),
            program_of: Vec::new(),
            events: Vec::new(),
            result: String::new(),
        };
        history.find_programs(files);
        history.read();
        history
    }

    fn find_programs(&mut self, files: &DebugFiles) {
        let invoked: BTreeSet<Pubkey> =
            self.timeline.invocations().iter().map(|it| it.program).collect();
        for id in invoked {
            let elf = self.timeline.program_file(&id);
            let given = self.timeline.svm().name_of(&id);
            let Some(view) = elf.and_then(|elf| ProgramView::open(id, elf, files, given)) else {
                continue;
            };
            self.programs.push(ProgramFile::new(&view));
            self.views.push(view);
        }
    }

    /// Reads what depends on edits: invocations, events, the result.
    fn read(&mut self) {
        let index = |id: &Pubkey| self.views.iter().position(|it| it.id == *id);
        // A builtin program executes no instructions, so no moment is in it.
        let programs = self.timeline.invocations().iter().map(|it| index(&it.program));
        self.program_of = programs.map(|it| it.unwrap_or(usize::MAX)).collect();
        self.events = events::read(&self.timeline);
        self.name_errors();
        let receipt = self.timeline.receipt();
        let units = receipt.compute_units;
        self.result = match &receipt.result {
            Ok(()) => format!("success, {units} compute units"),
            Err(error) => {
                let name = self.error_name().map_or_else(String::new, |name| format!(" {name}"));
                format!("{error}{name}, {units} compute units")
            }
        };
    }

    /// Adds the name of the transaction's error to the events of it.
    fn name_errors(&mut self) {
        let Some(name) = self.error_name() else { return };
        let failed = self.timeline.receipt().failed_instruction.as_ref();
        let Some(text) = failed.map(|it| it.error.to_string()) else { return };
        for event in self.events.iter_mut().filter(|it| it.kind.is_failure() && it.text == text) {
            event.text = format!("{text} {name}");
        }
    }

    /// Returns what the custom error means that made the transaction fail, if that is known.
    fn error_name(&self) -> Option<ErrorName> {
        let receipt = self.timeline.receipt();
        let failed = receipt.failed_instruction.as_ref()?;
        let InstructionError::Custom(code) = failed.error else { return None };
        match self.views.iter().find(|it| it.id == failed.program_id) {
            Some(view) => view.error_name(code, &receipt.logs),
            None => errors::decode(&failed.program_id, code, &receipt.logs),
        }
    }

    /// Returns the programs that run in it.
    #[must_use]
    pub fn programs(&self) -> &[ProgramFile] {
        &self.programs
    }

    /// Returns the name of a program for people: its address if there is none.
    #[must_use]
    pub fn name_of(&self, program: &Pubkey) -> String {
        let view = self.views.iter().find(|it| it.id == *program);
        let given = || selkie::programs::by_id(program).map(|it| it.name.to_owned());
        view.and_then(|it| it.name.clone()).or_else(given).unwrap_or_else(|| program.to_string())
    }

    /// Returns the timeline.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the number of moments, and so the position of the end.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.timeline.steps()
    }

    /// Returns what happened, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns how the run ended, as text.
    #[must_use]
    pub fn result(&self) -> &str {
        &self.result
    }

    /// Returns the number of instruction slots of a program.
    #[must_use]
    pub fn slots(&self, program: usize) -> u32 {
        let slots = self
            .views
            .get(program)
            .map_or(0, |it| it.program.executable().text().len() / SLOT_BYTES);
        u32::try_from(slots).unwrap_or(u32::MAX)
    }

    /// Returns instructions of a program as text.
    #[must_use]
    pub fn instructions(&self, program: usize, pcs: Range<u32>) -> Vec<String> {
        let Some(view) = self.views.get(program) else { return Vec::new() };
        let labels = Labels::new(&view.program, &view.graph);
        let pcs = pcs.start..pcs.end.min(self.slots(program));
        let executable = view.program.executable();
        let text = |pc: u32| match is_second_slot(executable.text(), pc as usize) {
            true => "(second slot of lddw)".to_owned(),
            false => instruction_text(executable, &labels, pc as usize),
        };
        pcs.map(text).collect()
    }

    /// Visits the moments of a range in order, until the visitor breaks.
    pub fn visit(
        &self,
        range: Range<u64>,
        visitor: &mut dyn FnMut(&dyn Moment) -> ControlFlow<()>,
    ) {
        self.timeline.visit_range(range, &mut Visit { history: self, visitor });
    }

    /// Returns where the error was decided that a program returned: the moment before the instruction,
    /// in the user's own code. `None` if no program returned an error, or it has no lines.
    #[must_use]
    pub fn error_place(&self) -> Option<ErrorPlace> {
        let error = self.timeline.returned_error()?;
        let view = self.views.iter().find(|it| it.id == error.program_id)?;
        error.locate(&view.map)
    }

    /// Returns the last write, before a moment, to any of the bytes at an address of an instruction's
    /// memory, also by another program if they are an account's.
    #[must_use]
    pub fn last_write(&self, before: u64, instruction: u32, range: Range<u64>) -> Option<Write> {
        let len = range.end.saturating_sub(range.start);
        self.timeline.last_write_anywhere(before, instruction as usize, range.start, len)
    }

    /// Changes a register or memory of the instruction that runs at a position. The run goes on from
    /// there with the change.
    ///
    /// # Errors
    /// If the program may not make the change itself.
    pub fn edit(&mut self, position: u64, edit: Edit) -> Result<(), EditError> {
        self.timeline.edit(position, edit)?;
        self.read();
        Ok(())
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("timeline", &self.timeline).finish_non_exhaustive()
    }
}

impl ProgramFile {
    /// Describes a program. Its name is that of the file with its debug information.
    fn new(view: &ProgramView) -> Self {
        let address = view.id.to_string();
        let debug =
            view.debug_file.as_ref().and_then(|path| input::read(path, input::FILE_BYTES_MAX).ok());
        let debug = debug.unwrap_or_else(|| view.elf.clone()).into();
        Self {
            name: view.name.clone().unwrap_or_else(|| address.clone()),
            debug,
            is_built_here: view.debug_file.is_some(),
            address,
            functions: view.graph.functions.clone(),
        }
    }
}

/// Returns whether a slot is the second one of an instruction that has two.
fn is_second_slot(text: &[u8], pc: usize) -> bool {
    let opcode = |pc: usize| text.get(pc * SLOT_BYTES).copied();
    opcode(pc) == Some(0) && pc.checked_sub(1).and_then(opcode) == Some(LDDW)
}

/// An activation of a moment, as values are read from it.
pub(crate) struct ActivationGuest<'a> {
    pub(crate) moment: &'a dyn Moment,
    pub(crate) activation: &'a Activation,
}

impl Guest for ActivationGuest<'_> {
    fn register(&self, index: u16) -> Option<u64> {
        self.activation.registers.get(usize::from(index)).copied().flatten()
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        self.moment.read(self.activation.frame.height, address, bytes)
    }
}
