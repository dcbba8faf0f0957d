//! What a running program asks of the runtime: syscalls, and stores beyond an account's data.

use selkie_elf::SyscallId;
use selkie_vm::{Access, Host, MemoryMap, Meter, Region, SyscallError, Trap, Violation};

use crate::{
    programs::bindings::Bound,
    runtime::{
        context::InvokeContext,
        syscalls::{self, Call},
    },
};

impl Host for InvokeContext<'_> {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        let program = self.frame().program.as_ref();
        let syscall =
            program.and_then(|program| program.syscall(id)).ok_or(Trap::UnsupportedInstruction)?;
        match syscall {
            Bound::Row(syscall) => {
                syscalls::run(syscall, &mut Call::new(self, memory, meter), arguments)
            }
            Bound::Custom(syscall) => {
                let syscall = syscall.clone();
                syscalls::custom::run(&syscall, Call::new(self, memory, meter), arguments)
            }
        }
    }

    /// Lets an account grow as far as a store reaches beyond its data (SIMD-0460). Regions of
    /// accounts that the program may change have their place in the transaction attached.
    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        let Some(index) = region.payload() else { return };
        let end = violation.vaddr.saturating_add(violation.len).saturating_sub(region.vaddr());
        if violation.access == Access::Load || end > violation.len_max {
            return;
        }
        self.accounts.touch(usize::from(index));
        if end > region.len() {
            let reserved = usize::try_from(violation.len_max).unwrap_or(usize::MAX);
            if let Some(len) = self.accounts.grow_for_store(usize::from(index), reserved) {
                region.grow(len as u64);
            }
        }
        region.make_writable();
    }
}
