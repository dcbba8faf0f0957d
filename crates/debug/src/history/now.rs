//! Moments of a replay.

use core::{cell::OnceCell, ops::ControlFlow};

use selkie_replay::{Level, State, Visitor};

use super::{Activation, FrameId, History, Moment};
use crate::guest::Unreadable;

/// Shows a visitor's moments to a function.
pub(super) struct Visit<'h, 'f> {
    pub(super) history: &'h History,
    pub(super) visitor: &'f mut dyn FnMut(&dyn Moment) -> ControlFlow<()>,
}

impl Visitor for Visit<'_, '_> {
    fn step(&mut self, moment: &mut selkie_replay::ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        (self.visitor)(&Now { history: self.history, inner: moment, state: OnceCell::new() })
    }
}

/// A moment of a replay.
struct Now<'v, 'a, 'm, 'e> {
    history: &'v History,
    inner: &'v selkie_replay::ReachedStep<'a, 'm, 'e>,
    /// The whole state, for callers by CPI.
    state: OnceCell<State>,
}

impl Now<'_, '_, '_, '_> {
    fn height(&self) -> u32 {
        u32::try_from(self.inner.stack_height()).unwrap_or(u32::MAX)
    }

    /// Returns the callers by CPI, the innermost one first, with their stack heights.
    fn callers(&self) -> impl Iterator<Item = (u32, &Level)> {
        let timeline = &self.history.timeline;
        let callers = (self.inner.stack_height() > 1)
            .then(|| self.state.get_or_init(|| timeline.state_at(self.inner.step)));
        let levels = callers.map_or(&[][..], |state| &state.levels).iter().rev().skip(1);
        levels.map(|level| {
            let invocation = timeline.invocations().get(level.invocation);
            let height = invocation.map_or(0, |it| it.stack_height);
            (u32::try_from(height).unwrap_or(u32::MAX), level)
        })
    }

    fn program_of(&self, invocation: usize) -> usize {
        self.history.program_of.get(invocation).copied().unwrap_or(usize::MAX)
    }

    /// Returns the activations of a program: those of its functions, the innermost one first.
    fn level(
        &self,
        (invocation, height): (usize, u32),
        pc: usize,
        registers: &[u64; 11],
        frames: &[([u64; 5], usize)],
    ) -> Vec<Activation> {
        let program = self.program_of(invocation);
        let instruction = u32::try_from(invocation).unwrap_or(u32::MAX);
        let depths = (0..=u32::try_from(frames.len()).unwrap_or(u32::MAX)).rev();
        let callers = frames.iter().rev().map(|([r6, r7, r8, r9, r10], return_pc)| {
            let saved = [*r6, *r7, *r8, *r9, *r10].map(Some);
            let mut registers = [None; 11];
            registers[6..].copy_from_slice(&saved);
            (return_pc.saturating_sub(1), registers)
        });
        let all = core::iter::once((pc, registers.map(Some))).chain(callers);
        let activation = |((pc, registers), depth)| Activation {
            frame: FrameId { instruction, height, depth },
            program,
            pc: u32::try_from(pc).unwrap_or(u32::MAX),
            registers,
        };
        all.zip(depths).map(activation).collect()
    }
}

impl Moment for Now<'_, '_, '_, '_> {
    fn position(&self) -> u64 {
        self.inner.step
    }

    fn program(&self) -> usize {
        self.program_of(self.inner.invocation)
    }

    fn pc(&self) -> u32 {
        u32::try_from(self.inner.pc()).unwrap_or(u32::MAX)
    }

    fn frame(&self) -> FrameId {
        FrameId {
            instruction: u32::try_from(self.inner.invocation).unwrap_or(u32::MAX),
            height: self.height(),
            depth: u32::try_from(self.inner.call_depth()).unwrap_or(u32::MAX),
        }
    }

    fn units_left(&self) -> u64 {
        self.inner.units_left()
    }

    fn activations(&self) -> Vec<Activation> {
        let frames: Vec<_> = self.inner.machine.saved_frames().collect();
        let place = (self.inner.invocation, self.height());
        let mut all = self.level(place, self.inner.pc(), self.inner.registers(), &frames);
        for (height, level) in self.callers() {
            let frames: Vec<_> = level.frames.iter().map(|it| (it.saved, it.return_pc)).collect();
            let place = (level.invocation, height);
            all.extend(self.level(place, level.pc, &level.registers, &frames));
        }
        all
    }

    fn read(&self, height: u32, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        let unreadable = Unreadable { address, len: bytes.len() as u64 };
        let found = match height == self.height() {
            true => self.inner.read(address, unreadable.len),
            false => {
                let caller = self.callers().find(|it| it.0 == height);
                caller.map(|(_, level)| level.memory.read(address, bytes.len()))
            }
        };
        let found = found.filter(|it| it.len() == bytes.len()).ok_or(unreadable)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}
