//! Commands about the present state.

use super::{Answer, CommandError, Console, Outcome, explained};
use crate::{breakpoint::Place, session::Frame};

/// The bytes of memory on a line.
const BYTES_PER_LINE: usize = 16;

/// The bytes that `x` prints, if it is not said how many.
const BYTES_SHOWN: usize = 64;

impl Console {
    pub(super) fn print(&mut self, source: &str) -> Answer {
        let shown = self.session.evaluate(self.frame, source).map_err(explained(source))?;
        Ok(Outcome::Text(shown.text))
    }

    pub(super) fn memory(&mut self, arguments: &str) -> Answer {
        let (count, source) = match arguments.split_once(' ') {
            Some((count, source)) if count.parse::<usize>().is_ok() => {
                (count.parse().unwrap_or(BYTES_SHOWN), source.trim())
            }
            _ => (BYTES_SHOWN, arguments),
        };
        let shown = self.session.evaluate(self.frame, source).map_err(explained(source))?;
        let address = self.session.number_of(self.frame, &shown.value);
        let address = address.ok_or("expected an address")?;
        let bytes = self.session.memory(self.frame, address, count.min(4096));
        if bytes.is_empty() {
            return Err(format!("the program has no memory at {address:#x}").into());
        }
        let line = |(index, bytes): (usize, &[u8])| {
            let at = address.wrapping_add((index * BYTES_PER_LINE) as u64);
            let hex: Vec<String> = bytes.iter().map(|it| format!("{it:02x}")).collect();
            let visible = |it: &u8| if (b' '..=b'~').contains(it) { char::from(*it) } else { '.' };
            let text: String = bytes.iter().map(visible).collect();
            format!("{at:#013x}  {:<47}  {text}", hex.join(" "))
        };
        let lines: Vec<String> = bytes.chunks(BYTES_PER_LINE).enumerate().map(line).collect();
        Ok(Outcome::Text(lines.join("\n")))
    }

    pub(super) fn set(&mut self, arguments: &str) -> Answer {
        let message = "expected `$REGISTER = EXPR` or `VALUE = EXPR`";
        let (target, source) = arguments.split_once('=').ok_or(message)?;
        let (target, source) = (target.trim(), source.trim());
        self.session.assign(self.frame, target, source).map_err(explained(arguments))?;
        let result = self.session.result().to_owned();
        Ok(Outcome::Text(format!("{target} is changed, and the run now ends with: {result}")))
    }

    pub(super) fn backtrace(&mut self, _: &str) -> Answer {
        let frames = self.session.frames();
        let line = |(index, frame): (usize, &Frame)| {
            let mark = if index == self.frame { '>' } else { ' ' };
            let place = match &frame.place {
                Some(place) => format!(" at {place}"),
                None => format!(" at slot {}", frame.pc),
            };
            let program = self.session.programs().get(frame.program).map(|it| &it.file.name);
            let is_other = index == 0 || frames[index - 1].program != frame.program;
            let program = program.filter(|_| is_other).map(|it| format!(" of {it}"));
            let inlined = if frame.is_inlined { " (inlined)" } else { "" };
            let program = program.unwrap_or_default();
            format!("{mark}#{index:<3} {}{inlined}{program}{place}", frame.name)
        };
        let lines: Vec<String> = frames.iter().enumerate().map(line).collect();
        match lines.is_empty() {
            true => Ok(Outcome::Text(format!("end of the run: {}", self.session.result()))),
            false => Ok(Outcome::Text(lines.join("\n"))),
        }
    }

    pub(super) fn choose_frame(&mut self, argument: &str) -> Answer {
        let index = match argument {
            "" => self.frame,
            text => text.parse().map_err(|_| "expected the number of a frame")?,
        };
        self.choose(index)
    }

    fn choose(&mut self, index: usize) -> Answer {
        let frames = self.session.frames();
        let frame =
            frames.get(index).ok_or_else(|| format!("there are {} frames", frames.len()))?;
        (self.frame, self.listed) = (index, None);
        let place = frame.place.as_ref().map(|it| format!(" at {it}")).unwrap_or_default();
        let mut lines = vec![format!("#{index} {}{place}", frame.name)];
        lines.extend(self.present_line());
        Ok(Outcome::Text(lines.join("\n")))
    }

    pub(super) fn up(&mut self, _: &str) -> Answer {
        self.choose(self.frame.saturating_add(1))
    }

    pub(super) fn down(&mut self, _: &str) -> Answer {
        let index = self.frame.checked_sub(1).ok_or("this is the innermost frame")?;
        self.choose(index)
    }

    pub(super) fn info(&mut self, argument: &str) -> Answer {
        let lines = match argument.trim() {
            "b" | "break" | "breakpoints" | "watchpoints" => self.breakpoints(),
            "l" | "locals" | "args" | "variables" => {
                let locals = self.session.locals(self.frame);
                locals
                    .iter()
                    .map(|it| format!("{}: {} = {}", it.name, it.type_name, it.text))
                    .collect()
            }
            "r" | "registers" => {
                let registers = self.session.registers(self.frame);
                registers
                    .iter()
                    .map(|(name, value)| format!("{name:<4} {value:#018x}  {value}"))
                    .collect()
            }
            "p" | "programs" => {
                let programs = self.session.programs().iter().enumerate();
                programs
                    .map(|(index, it)| {
                        let has = if it.info.has_lines() { "with" } else { "without" };
                        format!("{index} {} {} ({has} lines)", it.file.address, it.file.name)
                    })
                    .collect()
            }
            "e" | "events" | "logs" => {
                let events = self.session.events().iter();
                let shown = |it| self.session.model.shown(it);
                events.map(|it| format!("{:>8}  {}", it.position, shown(it))).collect()
            }
            "accounts" => {
                let accounts = self.session.accounts();
                accounts.iter().map(|it| format!("{}: {}", it.name, it.text)).collect()
            }
            "run" => {
                let facts = self.session.run_facts();
                facts.iter().map(|it| format!("{}: {}", it.name, it.text)).collect()
            }
            _ => {
                let known = "breakpoints, locals, registers, accounts, programs, events or run";
                return Err(CommandError(format!("expected {known}")));
            }
        };
        Ok(Outcome::Text(lines.join("\n")))
    }

    fn breakpoints(&self) -> Vec<String> {
        let breakpoints = self.session.breakpoints().iter().map(|it| {
            let place = match &it.place {
                Place::Line(file, line) => format!("{file}:{}", it.line.unwrap_or(*line)),
                Place::Function(name) => name.clone(),
                Place::Instruction(program, pc) => format!("*{program}:{pc}"),
            };
            format!("{} {place}: {} places", it.id, it.pcs.len())
        });
        let watches =
            self.session.watches().iter().map(|it| format!("{} watch {}", it.id, it.name));
        breakpoints.chain(watches).collect()
    }
}
