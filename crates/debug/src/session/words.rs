//! The words for time travel, which clients without buttons for it send as expressions.

use selkie_replay::{Write, Writer};

use super::{Direction, Frame, Granularity, Motion, Session, Stop};
use crate::{
    expr::ExprError,
    info::Scalar,
    value::{Format, Number, Value},
};

/// The bytes of which the last write is searched.
const WRITE_BYTES_MAX: u64 = 4096;

/// A word with its argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// Steps or continues.
    Go(Motion, Direction, Granularity),
    /// Goes to a position: `goto 1234`, `goto start`, `goto end`.
    GoTo(u64),
    /// Goes to the last write to a value.
    Who(String),
    /// Tells compute units and position.
    Units,
}

/// What a word or an expression results in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The session is at another moment; what there is to say of it.
    Moved(String),
    /// A text.
    Text(String),
}

/// The words without argument.
const WORDS: &[(&str, Motion, Direction, Granularity)] = &[
    ("back", Motion::In, Direction::Backward, Granularity::Line),
    ("back over", Motion::Over, Direction::Backward, Granularity::Line),
    ("back out", Motion::Out, Direction::Backward, Granularity::Line),
    ("back i", Motion::In, Direction::Backward, Granularity::Instruction),
    ("rc", Motion::Continue, Direction::Backward, Granularity::Line),
];

impl Word {
    /// Parses a word. `None` if the text is none: it may be an expression.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(&(_, motion, direction, granularity)) = WORDS.iter().find(|it| it.0 == text) {
            return Some(Self::Go(motion, direction, granularity));
        }
        match text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim())) {
            ("cu", "") => Some(Self::Units),
            ("goto", "start") => Some(Self::GoTo(0)),
            ("goto", "end") => Some(Self::GoTo(u64::MAX)),
            ("goto", number) => number.replace('_', "").parse().ok().map(Self::GoTo),
            ("who", expr) if !expr.is_empty() => Some(Self::Who(expr.to_owned())),
            _ => None,
        }
    }
}

impl Session {
    /// Does what a word says.
    ///
    /// # Errors
    /// If its expression has no value, or the run cannot be repeated.
    pub fn say(&mut self, frame: usize, word: &Word) -> Result<Reply, ExprError> {
        match word {
            Word::Go(motion, direction, granularity) => {
                self.go(*motion, *direction, *granularity);
                Ok(Reply::Moved(self.describe()))
            }
            Word::GoTo(position) => {
                self.go_to(*position);
                Ok(Reply::Moved(self.describe()))
            }
            Word::Who(expr) => self.who(frame, expr),
            Word::Units => {
                let left = self.now(|_, moment| moment.units_left());
                let left = left.map_or_else(String::new, |it| format!("{it} compute units left, "));
                let (position, end) = (self.position(), self.end());
                Ok(Reply::Text(format!("{left}step {position} of {end}")))
            }
        }
    }

    /// Goes to the last write to a value, and tells what it was.
    fn who(&mut self, frame: usize, source: &str) -> Result<Reply, ExprError> {
        let whole = 0..source.len();
        let shown = self.evaluate(frame, source)?;
        let Some(address) = shown.value.address() else {
            let message = "the value is in a register: `who` needs one in memory, as *pointer";
            return Err(ExprError::new(whole, message));
        };
        let len = self.size_of(frame, &shown.value).clamp(1, WRITE_BYTES_MAX);
        let before = self.position();
        let instruction = self.frames().get(frame).map_or(0, |it| it.frame.instruction);
        let range = address..address.saturating_add(len);
        let write = self.history.last_write(before, instruction, range);
        let Some(write) = write else {
            let text = format!("{source}: not written before, since the instruction began");
            return Ok(Reply::Text(text));
        };
        let timeline = self.history.timeline();
        let writer = timeline.invocations().get(write.invocation).cloned();
        let is_other = write.invocation != instruction as usize;
        let Some(writer) = writer.filter(|_| is_other) else {
            self.go_to(write.step);
            let place = self.describe();
            return Ok(Reply::Moved(format!(
                "{}{place}\n(`goto {before}` returns)",
                told(source, &write)
            )));
        };
        let mut text = told(source, &write);
        text += &format!(
            "in instruction {} of the transaction, stack height {}: {}\n",
            writer.instruction_index, writer.stack_height, writer.program
        );
        if writer.steps.is_empty() && writer.call.is_none() {
            return Ok(Reply::Text(format!("{text}before step {}", write.step)));
        }
        self.go_to(write.step);
        text += &self.describe();
        for caller in self.callers() {
            text += &format!("\ninvoked by {caller}");
        }
        Ok(Reply::Moved(format!("{text}\n(`goto {before}` returns)")))
    }

    /// Returns where the programs are that have invoked the one that runs, the innermost first.
    fn callers(&mut self) -> Vec<String> {
        let frames = self.frames();
        let pairs = frames.iter().zip(frames.iter().skip(1));
        let others = pairs.filter(|(inner, outer)| inner.frame.height != outer.frame.height);
        let place = |frame: &Frame| {
            let location = frame.place.as_ref().map(|it| format!(" at {it}"));
            let location = location.unwrap_or_else(|| format!(" at slot {}", frame.pc));
            let program =
                self.programs().get(frame.program).map(|it| format!(" of {}", it.file.name));
            format!("{}{}{location}", frame.name, program.unwrap_or_default())
        };
        others.map(|(_, outer)| place(outer)).collect()
    }

    /// Returns the size of a value of a frame in bytes.
    pub fn size_of(&self, frame: usize, value: &Value) -> u64 {
        let frames = self.frames();
        let program = frames.get(frame).and_then(|it| self.programs().get(it.program));
        program.map_or(8, |it| it.info.type_of(&value.ty).size)
    }

    /// Returns where the session is, and why, in a sentence.
    pub fn describe(&self) -> String {
        let reason = match self.stop() {
            Stop::Step => String::new(),
            Stop::Entry => "start of the run: ".to_owned(),
            Stop::End => return format!("end of the run: {}", self.result()),
            Stop::Breakpoint(id) => format!("breakpoint {id}: "),
            Stop::Exception(name, text) => format!("{name}: {text}\n"),
            Stop::Watch { id, name, old, new } => {
                format!("watch {id}: {name}: {} → {}\n", bytes(old), bytes(new))
            }
        };
        let position = self.position();
        let frames = self.frames();
        let place = frames.get(self.selected_frame()).map_or_else(String::new, |frame| {
            let location = frame.place.as_ref().map(|it| format!(" at {it}"));
            format!(
                " in {}{}",
                frame.name,
                location.unwrap_or_else(|| format!(" at slot {}", frame.pc))
            )
        });
        format!("{reason}step {position}{place}")
    }
}

fn told(source: &str, write: &Write) -> String {
    let by = match &write.writer {
        Writer::Instruction => String::new(),
        Writer::Syscall(name) => format!(" by the syscall {name}"),
        Writer::Builtin(_) => " by a builtin program".to_owned(),
    };
    let account = write.account.map(|it| format!(", the {} of {}", it.part.name(), it.account));
    let account = account.unwrap_or_default();
    format!("{source}: {} → {}{by}{account}\n", bytes(&write.old), bytes(&write.new))
}

/// Writes bytes as a number if they are few, and in hexadecimal otherwise.
fn bytes(bytes: &[u8]) -> String {
    match bytes.len() {
        0..=8 => {
            let size = bytes.len() as u64;
            Number::from_bytes(Scalar::Unsigned, bytes).text(Format::Natural, size)
        }
        _ => bytes.iter().take(32).map(|it| format!("{it:02x}")).collect(),
    }
}
