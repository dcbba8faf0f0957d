//! Changes of registers and memory. The run goes on from the present moment with them.

use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_replay::Edit;

use super::{Model, Session};
use crate::{
    expr::ExprError,
    history::ActivationGuest,
    value::{Value, View},
};

/// Why no register of a calling function can be set.
const CALLER_WAITS: &str = "this frame's function waits for the one it called, so its registers \
    cannot be set now: step out to it first, or select the innermost frame";

/// Why nothing of a program that has invoked another can be set.
const INVOKER_WAITS: &str = "this frame's program waits for the one it invoked, so its registers and \
    memory cannot be set now: step out to it first, or select a frame of the program that runs";

impl Session {
    /// Sets a register, as `$r1`, or a value in memory to that of an expression.
    ///
    /// # Errors
    /// If one of them has no value, the frame is a caller's that waits, or the program may not make the
    /// change itself.
    pub fn assign(&mut self, frame: usize, target: &str, source: &str) -> Result<(), ExprError> {
        let fail = |message: &str| ExprError::new(0..target.len(), message);
        let value = self.evaluate(frame, source)?.value;
        let number = self.number_of(frame, &value);
        let edit = match target.strip_prefix("$r") {
            Some(register) => {
                let register = register.parse().map_err(|_| fail("registers are $r0 to $r9"))?;
                Edit::Register(register, number.ok_or_else(|| fail("the value is no number"))?)
            }
            None => {
                let place = self.evaluate(frame, target)?.value;
                let message = "the value is in a register or constant: set the register, as $r1";
                let address = place.address().ok_or_else(|| fail(message))?;
                let len = usize::try_from(self.size_of(frame, &place)).unwrap_or(usize::MAX);
                let number = number.ok_or_else(|| fail("the value is no number"))?;
                let bytes = number.to_le_bytes();
                let bytes =
                    bytes.get(..len).ok_or_else(|| fail("set its parts, of 8 bytes at most"))?;
                Edit::Memory(address, bytes.to_vec())
            }
        };
        self.edit(frame, edit).map_err(|error| fail(&error.chain()))
    }

    /// Changes bytes of the memory of a frame's program.
    ///
    /// # Errors
    /// If the program waits for one that it has invoked, or may not write there.
    pub fn write_memory(
        &mut self,
        frame: usize,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        self.edit(frame, Edit::Memory(address, bytes.to_vec()))
    }

    /// Sets a register of the program that runs, r0 to r9.
    ///
    /// # Errors
    /// If there is no such register, or no program runs.
    pub fn set_register(&mut self, register: usize, value: u64) -> Result<(), Failure> {
        self.edit(0, Edit::Register(register, value))
    }

    /// Makes a change that was asked for in a frame. Only what runs can be changed.
    fn edit(&mut self, frame: usize, edit: Edit) -> Result<(), Failure> {
        let frames = self.frames();
        if let (Some(innermost), Some(chosen)) = (frames.first(), frames.get(frame)) {
            let (running, chosen) = (innermost.frame, chosen.frame);
            if running.instruction != chosen.instruction {
                return Err(INVOKER_WAITS.to_owned().into());
            }
            if running != chosen && matches!(edit, Edit::Register(..)) {
                return Err(CALLER_WAITS.to_owned().into());
            }
        }
        self.history.edit(self.position, edit).or_failure()
    }

    /// Returns a value as a number of 64 bits, if it is a number or pointer.
    pub fn number_of(&self, frame: usize, value: &Value) -> Option<u64> {
        let look = |model: &Model, moment: &dyn crate::Moment| {
            let activations = moment.activations();
            let frames = model.frames(moment);
            let frame = frames.get(frame)?;
            let activation = activations.iter().find(|it| it.frame == frame.frame)?;
            let guest = ActivationGuest { moment, activation };
            let info = &model.programs.get(frame.program)?.info;
            let number = View { info, guest: &guest }.number(value).ok()?.integer();
            // The low bits, as a register would hold them.
            let [low, ..] = split(number.cast_unsigned());
            Some(low)
        };
        self.now(look).flatten()
    }
}

/// Splits a number into words, the low one first.
fn split(number: u128) -> [u64; 2] {
    let bytes = number.to_le_bytes();
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    [word(0), word(8)]
}
