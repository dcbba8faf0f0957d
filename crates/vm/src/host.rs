//! The traits that connect a running program with its surroundings: `Host` and `Observer`.

use core::{fmt, ops::ControlFlow};

use selkie_elf::SyscallId;

use crate::{
    machine::{Machine, Meter},
    memory::{MemoryMap, Region, Violation},
    trap::{Access, SyscallError, Trap},
};

/// The runtime that executes the syscalls of a program.
pub trait Host {
    /// Executes a syscall with the values of r1 to r5, and returns the value for r0.
    ///
    /// The instructions up to and including the call are already charged. The syscall consumes its
    /// own cost from `meter`.
    ///
    /// # Errors
    /// The error ends the program as [`Trap::Syscall`].
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError>;

    /// Handles a refused access of an instruction. The host may change the region that refused it
    /// (grow it, make it writable, replace its buffer); then the access is tried once more. Does
    /// nothing by default.
    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        let _ = (violation, region);
    }
}

/// Forwards to the referenced host.
impl<H: Host + ?Sized> Host for &mut H {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        (**self).syscall(id, arguments, memory, meter)
    }

    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        (**self).access_violation(violation, region);
    }
}

impl MemoryMap<'_> {
    /// Prepares a region for a store by a syscall: lets `host` change it as for a store of the
    /// program, if it refuses the store.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`], or
    /// [`Trap::InvalidMemoryRegion`] if the changed region overlaps the next one.
    pub fn prepare_store(
        &mut self,
        host: &mut (impl Host + ?Sized),
        vaddr: u64,
        len: u64,
    ) -> Result<(), Trap> {
        if self.locate(Access::Store, vaddr, len).is_err() {
            self.reconsider(Access::Store, vaddr, len, |violation, region| {
                host.access_violation(violation, region);
            })?;
        }
        self.locate(Access::Store, vaddr, len).map(|_| ())
    }
}

/// A host on which every syscall does nothing and returns 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn syscall(
        &mut self,
        _: SyscallId,
        _: [u64; 5],
        _: &mut MemoryMap<'_>,
        _: &mut Meter,
    ) -> Result<u64, SyscallError> {
        Ok(0)
    }
}

/// An observer of every instruction.
pub trait Observer {
    /// Called before the machine executes the instruction at [`Machine::pc`], which is there and can
    /// be paid for, but is not charged yet. May change registers, memory and meter.
    ///
    /// `Break` ends the run before the instruction, with [`Interrupted`] as [`Trap::Syscall`]. The
    /// machine can be run on from there.
    fn instruction(&mut self, machine: &mut Machine<'_>) -> ControlFlow<()>;
}

/// Observes nothing, at no cost.
impl Observer for () {
    #[inline(always)]
    fn instruction(&mut self, _: &mut Machine<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The error of a run that its observer has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted by an observer")
    }
}

impl core::error::Error for Interrupted {}

impl From<Interrupted> for Trap {
    fn from(interrupted: Interrupted) -> Self {
        Self::Syscall(interrupted.into())
    }
}
