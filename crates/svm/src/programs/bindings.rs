//! Bindings: the handlers of a loaded program's syscalls.
//!
//! Handlers belong to the runtime, which runs programs. A binding refers to a row of the protocol's
//! table, whose handler the runtime finds by index, or holds a custom syscall, whose type only the
//! runtime knows.

use core::{any::Any, fmt};
use std::{collections::BTreeMap, sync::Arc};

use selkie_elf::Syscalls;
use selkie_protocol::syscalls::{self, Syscall};

use crate::programs::file::LoadError;

/// Bound syscalls by their id. Programs that were loaded for the same environment share them.
pub(crate) type Bindings = Arc<[Bound]>;

/// A syscall of a program.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    /// A syscall of the protocol.
    Row(&'static Syscall),
    /// A syscall that a tool has added.
    Custom(CustomSyscall),
}

impl Bound {
    /// Returns the syscall's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Row(syscall) => syscall.name,
            Self::Custom(syscall) => &syscall.name,
        }
    }
}

/// Binds the syscalls of an environment to custom syscalls and the protocol's, in this order.
///
/// # Errors
/// If one has the name of neither.
pub(crate) fn bind_syscalls(
    syscalls: &Syscalls,
    custom: &CustomSyscalls,
) -> Result<Bindings, LoadError> {
    let bind = |name: &str| {
        let custom = custom.get(name).cloned().map(Bound::Custom);
        let bound = custom.or_else(|| syscalls::find(name).map(Bound::Row));
        bound.ok_or_else(|| LoadError::UnknownSyscall(name.to_owned()))
    };
    syscalls.names().map(bind).collect()
}

/// A syscall that a tool has added.
#[derive(Clone)]
pub(crate) struct CustomSyscall {
    name: Arc<str>,
    handler: Arc<dyn Any + Send + Sync>,
}

impl CustomSyscall {
    /// Returns its handler, which the runtime knows the type of.
    pub(crate) fn handler(&self) -> &(dyn Any + Send + Sync) {
        &*self.handler
    }
}

impl fmt::Debug for CustomSyscall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The syscalls that a tool has added, by name. They come before those of the protocol.
#[derive(Clone, Default, Debug)]
pub struct CustomSyscalls(BTreeMap<Arc<str>, CustomSyscall>);

impl CustomSyscalls {
    /// Adds a syscall; it replaces one of the same name.
    pub(crate) fn insert_handler(&mut self, name: &str, handler: Arc<dyn Any + Send + Sync>) {
        let name: Arc<str> = name.into();
        self.0.insert(Arc::clone(&name), CustomSyscall { name, handler });
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    fn get(&self, name: &str) -> Option<&CustomSyscall> {
        self.0.get(name)
    }
}
