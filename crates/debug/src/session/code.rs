//! Questions about code, and about the run as a whole.

use core::ops::{ControlFlow, Range};
use std::collections::{BTreeSet, HashSet};

use selkie_inspect::Location;

use super::{Direction, Session, Shown};
use crate::{breakpoint::Place, value::Value};

/// The names that are suggested.
const COMPLETIONS_MAX: usize = 100;

/// The words that are suggested besides names.
const WORDS: &[&str] = &["back", "back over", "back out", "back i", "rc", "who", "goto", "cu"];

impl Session {
    /// Returns the number of slots of a program.
    #[must_use]
    pub fn slots(&self, program: usize) -> u32 {
        self.history.slots(program)
    }

    /// Returns instructions of a program as text.
    #[must_use]
    pub fn instructions(&self, program: usize, pcs: Range<u32>) -> Vec<String> {
        self.history.instructions(program, pcs)
    }

    /// Returns the position of an instruction, with the path as it is on this machine.
    #[must_use]
    pub fn location(&self, program: usize, pc: u32) -> Option<Location> {
        let location = self.model.programs.get(program)?.info.location(pc)?;
        Some(Location { file: self.model.paths.local(&location.file), ..location })
    }

    /// Returns the name of the function that begins at an instruction.
    #[must_use]
    pub fn function_start(&self, program: usize, pc: u32) -> Option<String> {
        let (start, name) = self.model.programs.get(program)?.info.symbol_at(pc)?;
        (start == pc).then_some(name)
    }

    /// Returns the lines of a source file that the run executes, those of inlined calls too. `path` is one
    /// on this machine.
    #[must_use]
    pub fn executed_lines(&self, path: &str) -> BTreeSet<u32> {
        let path = self.model.paths.recorded(path);
        let mut executed = BTreeSet::new();
        self.history.visit(0..self.history.end(), &mut |moment| {
            executed.insert((moment.program(), moment.pc()));
            ControlFlow::Continue(())
        });
        let lines = executed.into_iter().filter_map(|(program, pc)| {
            let info = &self.model.programs.get(program)?.info;
            let calls = info.scopes_at(pc).into_iter().filter_map(|it| it.call);
            let places = info.location(pc).into_iter().chain(calls);
            Some(places.filter(|it| it.file == path).map(|it| it.line).collect::<Vec<_>>())
        });
        lines.flatten().collect()
    }

    /// Returns the lines of a source file that have instructions.
    #[must_use]
    pub fn lines_of(&self, path: &str) -> BTreeSet<u32> {
        let path = self.model.paths.recorded(path);
        self.model.programs.iter().flat_map(|it| it.info.lines_of(&path)).collect()
    }

    /// Returns the next or the last position at which a place is reached.
    pub fn find(&self, place: &Place, direction: Direction) -> Option<u64> {
        let (_, pcs) = self.model.resolve(place);
        let pcs: HashSet<(usize, u32)> = pcs.into_iter().collect();
        let (now, end) = (self.position, self.history.end());
        let is_forward = direction == Direction::Forward;
        let range = if is_forward { now.saturating_add(1)..end } else { 0..now };
        let mut found = None;
        self.history.visit(range, &mut |moment| {
            if pcs.contains(&(moment.program(), moment.pc())) {
                found = Some(moment.position());
            }
            match is_forward && found.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        found
    }

    /// Returns what there is to say of the run as a whole.
    pub fn run_facts(&self) -> Vec<Shown> {
        let units = self.now(|_, moment| moment.units_left());
        let (position, end) = (self.position, self.end());
        let mut facts = vec![
            ("step", position.to_string()),
            ("steps", end.to_string()),
            ("result", self.result().to_owned()),
        ];
        facts.extend(units.map(|it| ("cu", it.to_string())));
        let shown = |(name, text): (&str, String)| Shown {
            name: name.to_owned(),
            type_name: String::new(),
            text,
            children: 0,
            is_parameter: false,
            value: Value::word(0),
        };
        facts.into_iter().map(shown).collect()
    }

    /// Returns what the last word of a text may be the start of: names of the frame, and words.
    pub fn completions(&self, frame: usize, typed: &str) -> Vec<String> {
        let is_name = |it: char| it == '_' || it == '$' || it.is_alphanumeric();
        let start = typed
            .rfind(|it| !is_name(it))
            .map_or(0, |at| at + typed[at..].chars().next().map_or(1, char::len_utf8));
        let (before, last) = typed.split_at(start);
        let names = self.locals(frame).into_iter().map(|it| it.name);
        let registers = self.registers(frame).into_iter().map(|(name, _)| format!("${name}"));
        let words = WORDS.iter().filter(|_| before.trim().is_empty()).map(|&it| it.to_owned());
        let all: BTreeSet<String> = names.chain(registers).chain(words).collect();
        all.into_iter().filter(|it| it.starts_with(last)).take(COMPLETIONS_MAX).collect()
    }
}
