//! What surrounds a running program: the runtime below, an observer beside.

use selkie_elf::SyscallId;

use crate::{
    machine::Meter,
    memory::{MemoryMap, Region, Violation},
    trap::{Access, SyscallError, Trap},
};

/// The runtime that a program calls into.
pub trait Host {
    /// Runs a syscall with the values of r1 to r5; the result goes to r0.
    ///
    /// The instructions up to and including the call are charged already. Whatever the syscall
    /// costs it takes from `meter` itself.
    ///
    /// # Errors
    /// An error ends the program with [`Trap::Syscall`].
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError>;

    /// An instruction's access was refused: the host may change the region that it was judged by
    /// (let it grow, make it writable, back it by another buffer), and the access is tried once
    /// more.
    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        let _ = (violation, region);
    }
}

/// A host that is known by reference only.
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
    /// Makes ready for a store by a syscall: what a store of the program may change of a region,
    /// this one may too.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`], or
    /// [`Trap::InvalidMemoryRegion`] if the region comes to reach into the next one.
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

/// A host without syscalls.
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

/// Sees every instruction before it is executed.
pub trait Observer {
    /// `registers` are r0 to r10 before the instruction at slot `pc`.
    fn instruction(&mut self, pc: usize, registers: &[u64; 11]);
}

/// Sees nothing, for free.
impl Observer for () {
    #[inline(always)]
    fn instruction(&mut self, _: usize, _: &[u64; 11]) {}
}
