//! Custom syscalls: those that a tool adds to a cluster's, or puts in the place of one of them.
//!
//! The programs of one [`ProgramCache`](crate::programs::cache::ProgramCache) have them. They are bound
//! when a program is loaded, as those of the table are.

use core::fmt;
use std::sync::Arc;

pub use selkie_vm::SyscallError as SyscallFailure;

pub use crate::programs::bindings::CustomSyscalls;
use crate::{
    programs::bindings::CustomSyscall,
    runtime::{context::InvokeContext, syscalls::Call},
};

/// A custom syscall: what it does with its arguments. What it returns is in r0 afterwards.
pub type Handler =
    dyn Fn(&mut SyscallContext<'_, '_, '_>, [u64; 5]) -> Result<u64, SyscallFailure> + Send + Sync;

/// A call of a custom syscall.
pub struct SyscallContext<'c, 'e, 'm>(Call<'c, 'e, 'm>);

impl<'e> SyscallContext<'_, 'e, '_> {
    /// Returns what the instructions of the transaction share.
    #[must_use]
    pub fn context(&self) -> &InvokeContext<'e> {
        self.0.context
    }

    /// Consumes compute units.
    ///
    /// # Errors
    /// If fewer remain; they are consumed then.
    pub fn consume(&mut self, compute_units: u64) -> Result<(), SyscallFailure> {
        self.0.charge(compute_units)
    }

    /// Returns `len` bytes of guest memory.
    ///
    /// # Errors
    /// If the program cannot read them.
    pub fn read(&self, addr: u64, len: u64) -> Result<&[u8], SyscallFailure> {
        self.0.memory.bytes(addr, len)
    }

    /// Writes to guest memory.
    ///
    /// # Errors
    /// If the program cannot write there.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), SyscallFailure> {
        let Call { context, memory, .. } = &mut self.0;
        memory.check_output(context, addr, bytes.len() as u64)?;
        memory.write(addr, bytes)
    }

    /// Appends a line to the log, without any prefix.
    pub fn log(&mut self, line: impl Into<String>) {
        self.0.context.log(line);
    }
}

impl fmt::Debug for SyscallContext<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.context.fmt(f)
    }
}

/// Runs a custom syscall.
///
/// # Errors
/// What its handler returns.
pub(crate) fn run(
    syscall: &CustomSyscall,
    call: Call<'_, '_, '_>,
    arguments: [u64; 5],
) -> Result<u64, SyscallFailure> {
    let handler = syscall.handler().downcast_ref::<Box<Handler>>();
    let handler = handler.expect("`insert` adds handlers of this type alone");
    handler(&mut SyscallContext(call), arguments)
}

impl CustomSyscalls {
    /// Adds a syscall; it replaces one of the same name.
    pub fn insert(
        &mut self,
        name: &str,
        handler: impl Fn(&mut SyscallContext<'_, '_, '_>, [u64; 5]) -> Result<u64, SyscallFailure>
        + Send
        + Sync
        + 'static,
    ) {
        let handler: Box<Handler> = Box::new(handler);
        self.insert_handler(name, Arc::new(handler));
    }
}
