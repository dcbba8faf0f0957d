//! A session as gdb sees it: registers, memory, motion, breakpoints.

use gdbstub::{
    common::Signal,
    stub::SingleThreadStopReason,
    target::ext::{base::reverse_exec::ReplayLogPosition, breakpoints::WatchKind},
};
use selkie_isa::failure::Failure;
use selkie_isa::layout::SLOT_BYTES;

use super::{
    image::Image,
    layout::{self, FRAMES, RECORD_BYTES, RUNTIME_RETURN},
    registers::Values,
};
use crate::{
    breakpoint::{BreakpointId, Place, Request},
    console::{Console, Outcome},
    history::Activation,
    session::{Direction, Granularity, Motion, Session, Stop},
};

/// The words at the start of a record that fill it up.
const UNUSED_WORDS: usize = 2;

const _: () = assert!(RECORD_BYTES == (UNUSED_WORDS as u64 + 6) * 8, "a record has eight words");

/// A session as gdb sees it.
pub(super) struct Machine {
    console: Console,
    /// What is outside of programs.
    pub(super) runtime: Image,
    /// The programs, in the order of the session.
    pub(super) programs: Vec<Image>,
}

impl Machine {
    pub(super) fn new(mut console: Console) -> Self {
        let programs = console.session().programs().iter();
        let programs = programs.map(|it| Image::of_program(&it.file.debug)).collect();
        Self { console, runtime: Image::of_runtime(), programs }
    }

    fn session(&mut self) -> &mut Session {
        self.console.session()
    }

    /// Returns the names of the programs' files.
    pub(super) fn names(&mut self) -> Vec<String> {
        let programs = self.session().programs().iter().enumerate();
        programs.map(|(index, it)| format!("/{index}/{}.so", it.file.name)).collect()
    }

    /// Returns the address of an instruction.
    fn code_address(&self, program: usize, pc: u32) -> u64 {
        let text = self.programs.get(program).map_or(0, |it| it.text_addr);
        layout::base(program) + text + u64::from(pc) * SLOT_BYTES as u64
    }

    /// Returns the program and slot of the instruction at an address.
    fn instruction_at(&self, address: u64) -> Option<(usize, u32)> {
        let (program, address) = layout::program_at(address)?;
        let image = self.programs.get(program)?;
        let offset = address.checked_sub(image.text_addr)?;
        let is_code = offset < image.text.len() as u64;
        is_code.then(|| u32::try_from(offset / SLOT_BYTES as u64).ok().map(|pc| (program, pc)))?
    }

    /// Returns the functions of the program that runs that have not returned, innermost first. None
    /// at the end. The callers of the program have a memory of their own, which gdb could not tell
    /// from this one.
    fn activations(&mut self) -> Vec<Activation> {
        let mut all = self.session().now(|_, moment| moment.activations()).unwrap_or_default();
        let height = all.first().map(|it| it.frame.height);
        all.retain(|it| Some(it.frame.height) == height);
        all
    }

    /// Returns the registers.
    pub(super) fn registers(&mut self) -> Values {
        let units = self.session().now(|_, moment| moment.units_left());
        let step = self.session().position();
        let all = self.activations();
        let Some(innermost) = all.first() else { return Values { step, ..Values::default() } };
        let words = innermost.registers.map(Option::unwrap_or_default);
        Values {
            integers: words,
            record: layout::record_end(all.len() - 1),
            pc: self.code_address(innermost.program, innermost.pc),
            words,
            units: units.unwrap_or_default(),
            step,
        }
    }

    /// Sets registers that differ from the present ones. The run goes on with them.
    pub(super) fn set_registers(&mut self, values: &Values) -> Result<(), Failure> {
        let now = self.registers();
        for index in 0..now.words.len() {
            let (word, integer) = (values.words[index], values.integers[index]);
            let changed = if word == now.words[index] { integer } else { word };
            if changed != now.words[index] {
                self.session().set_register(index, changed)?;
            }
        }
        Ok(())
    }

    /// Reads memory, code or the window of frames: up to the first byte that is not there.
    pub(super) fn read(&mut self, address: u64, bytes: &mut [u8]) -> usize {
        let found = match self.code(address) {
            Some(code) => code.get(..bytes.len()).unwrap_or(code).to_vec(),
            None if FRAMES.contains(&address) => self.frame_records(address),
            None => match self.session().memory(0, address, bytes.len()) {
                // Programs may have data at the address of the function, which is never read as such.
                found if found.is_empty() => self.runtime.code_from(address).to_vec(),
                found => found,
            },
        };
        let len = found.len().min(bytes.len());
        bytes[..len].copy_from_slice(&found[..len]);
        len
    }

    /// Returns the code of a program from an address on. `None` if no program is there.
    fn code(&self, address: u64) -> Option<&[u8]> {
        let (program, address) = layout::program_at(address)?;
        Some(self.programs.get(program)?.code_from(address))
    }

    /// Returns the window of frames from an address on.
    fn frame_records(&mut self, address: u64) -> Vec<u8> {
        let all = self.activations();
        let callers = all.iter().skip(1).map(Some).chain(all.first().map(|_| None));
        let window: Vec<u8> = callers.flat_map(|caller| self.frame_record(caller)).collect();
        let start = FRAMES.end - window.len() as u64;
        let skipped = address.checked_sub(start).and_then(|it| usize::try_from(it).ok());
        skipped.and_then(|it| window.get(it..)).unwrap_or_default().to_vec()
    }

    /// Returns the record of a frame: of its caller r10 to r6, and the address that it returns to.
    fn frame_record(&self, caller: Option<&Activation>) -> Vec<u8> {
        let saved = |register: usize| caller.and_then(|it| it.registers[register]);
        let saved = (6..=10).rev().map(|register| saved(register).unwrap_or_default());
        let address = caller.map(|it| self.code_address(it.program, it.pc.saturating_add(1)));
        let words = [0; UNUSED_WORDS].into_iter().chain(saved);
        let words = words.chain([address.unwrap_or(RUNTIME_RETURN)]);
        words.flat_map(u64::to_le_bytes).collect()
    }

    /// Writes memory of the program that runs. The run goes on with it.
    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.session().write_memory(0, address, bytes)
    }

    /// Goes to the next or the last stop, or by an instruction.
    pub(super) fn go(&mut self, motion: Motion, direction: Direction) {
        self.session().go(motion, direction, Granularity::Instruction);
        self.console.forget_place();
    }

    /// Returns why the session is where it is.
    pub(super) fn stop_reason(&mut self) -> SingleThreadStopReason<u64> {
        let replay = |pos| SingleThreadStopReason::ReplayLog { tid: None, pos };
        let session = self.session();
        match session.stop() {
            Stop::Entry => replay(ReplayLogPosition::Begin),
            Stop::End => replay(ReplayLogPosition::End),
            Stop::Step => SingleThreadStopReason::DoneStep,
            Stop::Breakpoint(_) => SingleThreadStopReason::SwBreak(()),
            Stop::Exception(..) => SingleThreadStopReason::Signal(Signal::SIGTRAP),
            Stop::Watch { id, .. } => {
                let watch = session.watches().iter().find(|it| it.id == *id);
                let addr = watch.map_or(0, |it| it.range.start);
                SingleThreadStopReason::Watch { tid: (), kind: WatchKind::Write, addr }
            }
        }
    }

    /// Adds a breakpoint. An address without code is never reached.
    pub(super) fn add_breakpoint(&mut self, address: u64) {
        let Some((program, pc)) = self.instruction_at(address) else { return };
        let request = Request::at(Place::Instruction(program, pc));
        let _ = self.session().add_breakpoint(&request).expect("it has no conditions");
    }

    pub(super) fn remove_breakpoint(&mut self, address: u64) {
        let Some((program, pc)) = self.instruction_at(address) else { return };
        let place = Place::Instruction(program, pc);
        self.session().retain_breakpoints(|it| it.place != place);
    }

    /// Watches memory of the program that runs.
    pub(super) fn add_watch(&mut self, address: u64, len: u64) -> BreakpointId {
        let session = self.session();
        session.add_watch(session.frame_id(0), &format!("{address:#x}"), address, len)
    }

    pub(super) fn remove_watch(&mut self, address: u64) {
        self.session().retain_watches(|it| it.range.start != address);
    }

    /// Does a command of the console.
    pub(super) fn command(&mut self, line: &str) -> String {
        let before = self.session().position();
        let mut text = match self.console.execute(line) {
            Ok(Outcome::Text(text)) => text,
            Ok(Outcome::Quit) => "`detach` ends the session".to_owned(),
            Err(error) => format!("error: {error}"),
        };
        if self.session().position() != before {
            text.push_str("\n(`maintenance flush register-cache` shows gdb the new place)");
        }
        text.push('\n');
        text
    }
}
