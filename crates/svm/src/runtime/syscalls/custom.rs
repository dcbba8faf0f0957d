//! Syscalls that tools add: what no cluster has, or what one has, done otherwise.
//!
//! They are known to the programs of one [`ProgramCache`](crate::programs::cache::ProgramCache), and
//! bound when a program is loaded, as those of the table are.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

pub use selkie_vm::SyscallError as SyscallFailure;

use crate::runtime::{context::InvokeContext, syscalls::Call};

/// What a syscall does with its arguments; what it gives is in r0 afterwards.
pub type Handler =
    dyn Fn(&mut SyscallContext<'_, '_, '_>, [u64; 5]) -> Result<u64, SyscallFailure> + Send + Sync;

/// A call of such a syscall.
pub struct SyscallContext<'c, 'e, 'm>(Call<'c, 'e, 'm>);

impl<'c, 'e, 'm> SyscallContext<'c, 'e, 'm> {
    pub(crate) fn new(call: Call<'c, 'e, 'm>) -> Self {
        Self(call)
    }

    /// What the instructions of the transaction share.
    #[must_use]
    pub fn context(&self) -> &InvokeContext<'e> {
        self.0.context
    }

    /// Takes compute units.
    ///
    /// # Errors
    /// If fewer are left, which are then gone.
    pub fn consume(&mut self, units: u64) -> Result<(), SyscallFailure> {
        self.0.charge(units)
    }

    /// Memory of the program.
    ///
    /// # Errors
    /// If the program cannot read there.
    pub fn read(&self, addr: u64, len: u64) -> Result<&[u8], SyscallFailure> {
        self.0.memory.bytes(addr, len)
    }

    /// Writes to memory of the program.
    ///
    /// # Errors
    /// If the program cannot write there.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), SyscallFailure> {
        let Call { context, memory, .. } = &mut self.0;
        memory.check_output(context, addr, bytes.len() as u64)?;
        memory.write(addr, bytes)
    }

    /// Adds a line to the log, as it stands.
    pub fn log(&mut self, line: impl Into<String>) {
        self.0.context.log(line);
    }
}

impl fmt::Debug for SyscallContext<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.context.fmt(f)
    }
}

/// A syscall that a tool adds.
#[derive(Clone)]
pub(crate) struct CustomSyscall {
    name: Arc<str>,
    handler: Arc<Handler>,
}

impl CustomSyscall {
    pub(crate) fn run(
        &self,
        context: &mut SyscallContext<'_, '_, '_>,
        arguments: [u64; 5],
    ) -> Result<u64, SyscallFailure> {
        (self.handler)(context, arguments)
    }
}

impl fmt::Debug for CustomSyscall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The syscalls that a tool adds, by name. They come before those of the table.
#[derive(Clone, Default, Debug)]
pub struct CustomSyscalls(BTreeMap<Arc<str>, CustomSyscall>);

impl CustomSyscalls {
    /// Adds a syscall, in place of one of the same name.
    pub fn insert(
        &mut self,
        name: &str,
        handler: impl Fn(&mut SyscallContext<'_, '_, '_>, [u64; 5]) -> Result<u64, SyscallFailure>
        + Send
        + Sync
        + 'static,
    ) {
        let name: Arc<str> = name.into();
        let syscall = CustomSyscall { name: Arc::clone(&name), handler: Arc::new(handler) };
        self.0.insert(name, syscall);
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&CustomSyscall> {
        self.0.get(name)
    }
}
