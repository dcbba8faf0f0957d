//! Commands about breakpoints and sources.

use super::{Answer, CommandError, Console, Outcome, explained};
use crate::breakpoint::{Filters, Place, Request};

/// The lines that are listed at a time.
const LINES_SHOWN: u32 = 11;

/// The instructions that are listed at a time.
const INSTRUCTIONS_SHOWN: u32 = 11;

impl Console {
    pub(super) fn add_break(&mut self, arguments: &str) -> Answer {
        let (place, condition) = match arguments.split_once(" if ") {
            Some((place, condition)) => (place.trim(), Some(condition.trim().to_owned())),
            None => (arguments, None),
        };
        let request = Request { condition, ..Request::at(self.place(place)?) };
        self.add(place, request)
    }

    pub(super) fn add_log(&mut self, arguments: &str) -> Answer {
        let (place, text) = arguments.split_once(' ').ok_or("expected a place and a text")?;
        let log = Some(text.trim().to_owned());
        let request = Request { log, ..Request::at(self.place(place)?) };
        self.add(place, request)
    }

    fn add(&mut self, shown: &str, request: Request) -> Answer {
        let source = request.condition.clone().or(request.log.clone()).unwrap_or_default();
        let breakpoint = self.session.add_breakpoint(&request).map_err(explained(&source))?;
        let (id, count) = (breakpoint.id, breakpoint.pcs.len());
        let line = breakpoint.line.map_or_else(String::new, |line| format!(", line {line}"));
        if count == 0 {
            self.session.retain_breakpoints(|it| it.id != id);
            return Err(CommandError(format!(
                "no instruction at {shown}: check the name, and that the program was built with debug \
                 information"
            )));
        }
        let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
        Ok(Outcome::Text(format!("breakpoint {id} at {shown}{line}: {places}")))
    }

    /// Parses a place: `file:line`, a line of the present file, a function, `*slot`, `*program:slot`.
    fn place(&self, text: &str) -> Result<Place, CommandError> {
        if let Some(slot) = text.strip_prefix('*') {
            let (program, slot) = slot.split_once(':').unwrap_or(("", slot));
            let pc = slot.parse().map_err(|_| "expected the number of a slot after `*`")?;
            let here = || self.session.frames().first().map_or(0, |it| it.program);
            let program = program.parse().unwrap_or_else(|_| here());
            return Ok(Place::Instruction(program, pc));
        }
        if let Some((file, line)) = text.rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            return Ok(Place::Line(file.to_owned(), line));
        }
        if let Ok(line) = text.parse() {
            let frame = self.session.frames().into_iter().nth(self.frame);
            let location = frame.and_then(|it| it.location);
            let file = location.ok_or("there is no present file: name it, as FILE:LINE")?.file;
            return Ok(Place::Line(file, line));
        }
        match text {
            "" => Err("expected a place: FILE:LINE, LINE, FUNCTION or *SLOT".into()),
            name => Ok(Place::Function(name.to_owned())),
        }
    }

    pub(super) fn add_watch(&mut self, source: &str) -> Answer {
        let shown = self.session.evaluate(self.frame, source).map_err(explained(source))?;
        let message = "the value is in a register: watch one in memory, as *pointer";
        let address = shown.value.address().ok_or(message)?;
        let len = self.session.size_of(self.frame, &shown.value);
        let frame = self.session.frame_id(self.frame);
        let id = self.session.add_watch(frame, source, address, len);
        Ok(Outcome::Text(format!("watch {id} of {source}: {len} bytes at {address:#x}")))
    }

    pub(super) fn catch(&mut self, arguments: &str) -> Answer {
        let (kind, rest) = arguments.split_once(' ').unwrap_or((arguments, ""));
        let mut filters = self.session.filters().clone();
        match kind {
            "trap" => filters.trap = true,
            "error" => filters.error = true,
            "log" => filters.log = Some(rest.trim().to_owned()),
            "account" => filters.account = Some(rest.trim().to_owned()),
            "units" => {
                let number = rest.trim().replace('_', "").parse();
                filters.units_below = Some(number.map_err(|_| "expected a number of units")?);
            }
            "none" => filters = Filters::default(),
            _ => {
                return Err(
                    "expected trap, error, log TEXT, account ADDRESS, units N or none".into()
                );
            }
        }
        self.session.set_filters(filters);
        Ok(Outcome::Text(String::new()))
    }

    pub(super) fn delete(&mut self, argument: &str) -> Answer {
        let id = match argument {
            "" => None,
            text => Some(text.parse::<u32>().map_err(|_| "expected the number of a breakpoint")?),
        };
        let is_kept = |other: u32| id.is_some_and(|id| id != other);
        self.session.retain_breakpoints(|it| is_kept(it.id));
        self.session.retain_watches(|it| is_kept(it.id));
        Ok(Outcome::Text(String::new()))
    }

    pub(super) fn list(&mut self, argument: &str) -> Answer {
        let (file, middle) = match (argument, self.listed.take()) {
            ("", Some((file, line))) => (file, line),
            ("", None) => {
                let frame = self.session.frames().into_iter().nth(self.frame);
                let location = frame.and_then(|it| it.location);
                let location = location.ok_or("there is no source here: try `disassemble`")?;
                (location.file, location.line)
            }
            (text, _) => match self.place(text)? {
                Place::Line(file, line) => (file, line),
                _ => return Err("expected FILE:LINE".into()),
            },
        };
        let text = (self.read_source)(&file);
        let text =
            text.ok_or_else(|| format!("{file} is not here: give `--source-map FROM=TO`"))?;
        let first = middle.saturating_sub(LINES_SHOWN / 2).max(1);
        let lines = (1_u32..).zip(text.lines()).skip_while(|(line, _)| *line < first);
        let executed = self.session.executed_lines(&file);
        let shown = lines.take(LINES_SHOWN as usize).map(|(number, line)| {
            let mark = if number == middle && argument.is_empty() { '>' } else { ' ' };
            let executed = if executed.contains(&number) { '+' } else { ' ' };
            format!("{mark}{number:>5}{executed} {line}")
        });
        let shown: Vec<String> = shown.collect();
        self.listed = Some((file, middle.saturating_add(LINES_SHOWN)));
        Ok(Outcome::Text(shown.join("\n")))
    }

    pub(super) fn disassemble(&mut self, argument: &str) -> Answer {
        let frames = self.session.frames();
        let frame = frames.get(self.frame).ok_or("the run has ended: try `goto start`")?;
        let count = argument.parse().unwrap_or(INSTRUCTIONS_SHOWN).min(10_000);
        let first = frame.pc.saturating_sub(count / 2);
        let texts = self.session.instructions(frame.program, first..first.saturating_add(count));
        let line = |(pc, text): (u32, String)| {
            let mark = if pc == frame.pc { '>' } else { ' ' };
            format!("{mark}{pc:>5}  {text}")
        };
        let lines: Vec<String> = (first..).zip(texts).map(line).collect();
        Ok(Outcome::Text(lines.join("\n")))
    }
}
