//! Which step wrote to an address last: an instruction, or a syscall, which may be a CPI whose callee
//! changed an account.

use core::ops::ControlFlow;

use selkie::{Detail, InstructionError, InvokeContext, Pubkey, SyscallCall};

use crate::{
    account_bytes::AccountBytes,
    search::windows_back,
    timeline::Timeline,
    visit::{ReachedStep, Visitor},
};

/// A write to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// The step that wrote.
    pub step: u64,
    /// The invocation whose memory it is.
    pub invocation: usize,
    /// The slot of the instruction; 0 if a builtin program wrote.
    pub pc: usize,
    /// What wrote.
    pub writer: Writer,
    /// The bytes before.
    pub old: Vec<u8>,
    /// The bytes after.
    pub new: Vec<u8>,
    /// The bytes of an account that these are, if they were looked for in other invocations too.
    pub account: Option<AccountBytes>,
}

/// What wrote to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Writer {
    /// The instruction itself.
    Instruction,
    /// The syscall that it called.
    Syscall(String),
    /// A builtin program, which has no steps: the step is that of its caller's call, or the first one
    /// after it if the transaction called it.
    Builtin(Pubkey),
}

impl Timeline {
    /// Returns the last write to any of `len` bytes at an address of an invocation's memory, before
    /// `step`. `None` if they are as they were when the invocation began: zeros, constants of the
    /// program, or its input.
    #[must_use]
    pub fn last_write(&self, step: u64, invocation: usize, vaddr: u64, len: u64) -> Option<Write> {
        let steps = self.invocations().get(invocation)?.steps.clone();
        let range = steps.start..step.min(steps.end);
        // What is written between two steps of the invocation is seen at the second one, so that both
        // belong to one window.
        let own = |step| self.last_own_step(invocation, step);
        windows_back(range, own).find_map(|window| {
            let mut watch = Watch {
                until: window.end,
                invocation,
                span: (vaddr, len),
                bytes: Vec::new(),
                in_progress: Vec::new(),
                found: None,
            };
            self.visit_range(window.start..window.end.saturating_add(1), &mut watch);
            watch.found
        })
    }

    /// Returns a step of an invocation itself: this one, or the call of the CPI in which it is.
    fn last_own_step(&self, invocation: usize, step: u64) -> u64 {
        let mut callees = self.invocations().iter().filter(|it| it.caller == Some(invocation));
        let callee = callees.find(|it| it.steps.contains(&step));
        callee.and_then(|it| it.call).map_or(step, |call| call.step)
    }
}

/// The last step of an invocation in progress.
#[derive(Default)]
struct Last {
    step: u64,
    pc: usize,
    syscall: Option<String>,
}

struct Watch {
    until: u64,
    invocation: usize,
    span: (u64, u64),
    /// The watched bytes as they were when last looked at.
    bytes: Vec<u8>,
    in_progress: Vec<Last>,
    found: Option<Write>,
}

impl Watch {
    fn read(&self, moment: &ReachedStep<'_, '_, '_>) -> Vec<u8> {
        let (vaddr, len) = self.span;
        let bytes = (0..len).map_while(|offset| moment.read(vaddr.checked_add(offset)?, 1));
        bytes.flatten().copied().collect()
    }

    /// Looks at what was written since the last step of the invocation.
    fn look(&mut self, moment: &mut ReachedStep<'_, '_, '_>) {
        let (vaddr, len) = self.span;
        let end = vaddr.saturating_add(len);
        let overlaps =
            |(start, len): &(u64, u64)| *start < end && vaddr < start.saturating_add(*len);
        let log = moment.machine.memory.writes_mut();
        let is_written = log.is_some_and(|log| log.iter().any(overlaps));
        let Some(last) = self.in_progress.last_mut() else { return };
        let (step, pc, syscall) = (last.step, last.pc, last.syscall.take());
        if !is_written {
            return;
        }
        let new = self.read(moment);
        let old = core::mem::replace(&mut self.bytes, new.clone());
        // A syscall reports a whole buffer as written, even if it has left it as it was.
        if syscall.is_some() && old == new {
            return;
        }
        let writer = syscall.map_or(Writer::Instruction, Writer::Syscall);
        self.found =
            Some(Write { step, invocation: self.invocation, pc, writer, old, new, account: None });
    }
}

impl Visitor for Watch {
    fn detail(&self) -> Detail {
        Detail::Writes
    }

    fn enter(&mut self, _: usize, _: &InvokeContext<'_>) {
        self.in_progress.push(Last { step: u64::MAX, ..Last::default() });
    }

    fn leave(&mut self, _: usize, _: &InvokeContext<'_>, _: &Result<(), InstructionError>) {
        self.in_progress.pop();
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if moment.invocation == self.invocation {
            match self.in_progress.last().map(|last| last.step) {
                Some(u64::MAX) | None => self.bytes = self.read(moment),
                Some(_) => self.look(moment),
            }
        }
        if moment.step >= self.until {
            return ControlFlow::Break(());
        }
        if let Some(last) = self.in_progress.last_mut() {
            (last.step, last.pc) = (moment.step, moment.pc());
        }
        ControlFlow::Continue(())
    }

    fn syscall(&mut self, _: &InvokeContext<'_>, call: &SyscallCall<'_>) {
        if let Some(last) = self.in_progress.last_mut() {
            last.syscall = Some(call.name.to_owned());
        }
    }
}
