//! Commands that go to another moment.

use super::{Answer, Console, Outcome, explained};
use crate::session::{Direction, Granularity, Motion, Reply, Word};

impl Console {
    fn go(&mut self, motion: Motion, direction: Direction, granularity: Granularity) -> Answer {
        self.session.go(motion, direction, granularity);
        let text = self.session.describe();
        Ok(self.moved(&text))
    }

    /// Tells where the session begins.
    pub fn begin(&mut self) -> Outcome {
        let text = self.session.describe();
        self.moved(&text)
    }

    /// Goes to the frame that the session is about, since it has moved.
    pub(crate) fn forget_place(&mut self) {
        self.frame = self.session.selected_frame();
        self.listed = None;
    }

    /// Tells where the session is, with the line of the source, and what log points have written.
    pub(super) fn moved(&mut self, text: &str) -> Outcome {
        self.forget_place();
        let mut lines = self.session.take_output();
        lines.push(text.to_owned());
        lines.extend(self.present_line());
        Outcome::Text(lines.join("\n"))
    }

    /// Returns the present line of the source, or the instruction in programs without one.
    pub(super) fn present_line(&self) -> Option<String> {
        let frame = self.session.frames().into_iter().nth(self.frame)?;
        let source = frame.location.as_ref().and_then(|location| {
            let text = (self.read_source)(&location.file)?;
            let index = usize::try_from(location.line).ok()?.checked_sub(1)?;
            Some(format!("{:>5}  {}", location.line, text.lines().nth(index)?))
        });
        source.or_else(|| {
            let texts = self.session.instructions(frame.program, frame.pc..frame.pc + 1);
            texts.first().map(|text| format!("{:>5}  {text}", frame.pc))
        })
    }

    pub(super) fn resume(&mut self, _: &str) -> Answer {
        self.go(Motion::Continue, Direction::Forward, Granularity::Line)
    }

    pub(super) fn next(&mut self, _: &str) -> Answer {
        self.go(Motion::Over, Direction::Forward, Granularity::Line)
    }

    pub(super) fn step(&mut self, _: &str) -> Answer {
        self.go(Motion::In, Direction::Forward, Granularity::Line)
    }

    pub(super) fn finish(&mut self, _: &str) -> Answer {
        self.go(Motion::Out, Direction::Forward, Granularity::Line)
    }

    pub(super) fn next_instruction(&mut self, _: &str) -> Answer {
        self.go(Motion::Over, Direction::Forward, Granularity::Instruction)
    }

    pub(super) fn step_instruction(&mut self, _: &str) -> Answer {
        self.go(Motion::In, Direction::Forward, Granularity::Instruction)
    }

    pub(super) fn reverse_continue(&mut self, _: &str) -> Answer {
        self.go(Motion::Continue, Direction::Backward, Granularity::Line)
    }

    pub(super) fn reverse_next(&mut self, _: &str) -> Answer {
        self.go(Motion::Over, Direction::Backward, Granularity::Line)
    }

    pub(super) fn reverse_step(&mut self, _: &str) -> Answer {
        self.go(Motion::In, Direction::Backward, Granularity::Line)
    }

    pub(super) fn reverse_finish(&mut self, _: &str) -> Answer {
        self.go(Motion::Out, Direction::Backward, Granularity::Line)
    }

    pub(super) fn reverse_next_instruction(&mut self, _: &str) -> Answer {
        self.go(Motion::Over, Direction::Backward, Granularity::Instruction)
    }

    pub(super) fn reverse_step_instruction(&mut self, _: &str) -> Answer {
        self.go(Motion::In, Direction::Backward, Granularity::Instruction)
    }

    pub(super) fn go_to(&mut self, argument: &str) -> Answer {
        if argument == "failure" {
            let position = self.session.failure().ok_or("the run has not failed")?;
            return self.say(&Word::GoTo(position));
        }
        let word = Word::parse(&format!("goto {argument}"));
        let word = word.ok_or("expected a number of steps, `start`, `end` or `failure`")?;
        self.say(&word)
    }

    pub(super) fn who(&mut self, source: &str) -> Answer {
        let word = Word::Who(source.to_owned());
        match self.session.say(self.frame, &word).map_err(explained(source))? {
            Reply::Text(text) => Ok(Outcome::Text(text)),
            Reply::Moved(text) => Ok(self.moved(&text)),
        }
    }
}
