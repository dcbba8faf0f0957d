//! What a program is loaded against.

use core::ops::RangeInclusive;
use std::sync::Arc;

use selkie_isa::{Version, symbol::murmur3};

/// The versions, syscalls and rules under which files are loaded.
///
/// Whatever would change how a file is loaded belongs here, so that a loaded program can be cached
/// under the environment that it was loaded against.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Environment {
    /// The sBPF versions that are enabled.
    pub versions: RangeInclusive<Version>,
    /// The syscalls that programs may call.
    pub syscalls: Arc<Syscalls>,
    /// Refuse files with unresolved symbols or sections out of place. Deployment does, execution
    /// of what was deployed long ago does not.
    pub reject_broken_elfs: bool,
    /// Use the read-only sections in place when they lie together. The validator does not.
    pub optimize_rodata: bool,
    /// Keep the names of functions: for tools, never needed to run.
    pub labels: bool,
    /// Let code start at the very address of the stack, as anza sbpf did before 0.24. What starts
    /// there is refused all the same, but for the next reason that comes up.
    pub text_at_stack: bool,
}

impl Default for Environment {
    /// Every version, no syscalls, lenient, without names.
    fn default() -> Self {
        Self {
            versions: Version::V0..=Version::V4,
            syscalls: Arc::default(),
            reject_broken_elfs: false,
            optimize_rodata: false,
            labels: false,
            text_at_stack: false,
        }
    }
}

/// The place of a syscall in the [`Syscalls`] that a program was loaded against.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SyscallId(pub u16);

/// The syscalls that programs may call, by the hash of their name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Syscalls {
    names: Vec<String>,
    /// Sorted by key.
    by_key: Vec<(u32, SyscallId)>,
}

impl Syscalls {
    /// Registers names in order: the first gets [`SyscallId`] 0.
    ///
    /// # Panics
    /// If two names share a hash, or if there are more than 65,536: the host's own mistakes.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let ids = (0..=u16::MAX).map(SyscallId);
        assert!(names.len() <= ids.len(), "there are more syscalls than numbers for them");
        let mut by_key: Vec<_> = names.iter().map(|it| murmur3(it.as_bytes())).zip(ids).collect();
        by_key.sort_unstable();
        let shared = by_key.windows(2).find(|pair| matches!(pair, [a, b] if a.0 == b.0));
        assert!(shared.is_none(), "two syscalls share the hash of their names: {shared:?}");
        Self { names, by_key }
    }

    /// The syscall whose name hashes to `key`.
    #[must_use]
    pub fn find(&self, key: u32) -> Option<SyscallId> {
        let index = self.by_key.binary_search_by_key(&key, |&(other, _)| other).ok()?;
        self.by_key.get(index).map(|&(_, id)| id)
    }

    /// The name of a syscall.
    #[must_use]
    pub fn name(&self, id: SyscallId) -> Option<&str> {
        self.names.get(usize::from(id.0)).map(String::as_str)
    }

    /// Every name, in the order of registration.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}
