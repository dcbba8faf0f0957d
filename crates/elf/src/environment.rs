//! What programs are loaded against: versions, syscalls and rules.

use core::ops::RangeInclusive;
use std::sync::Arc;

use selkie_isa::{Version, symbol::murmur3};

/// The versions, syscalls and rules that files are loaded against.
///
/// Everything that affects how a file is loaded belongs here, so that a loaded program can be
/// cached under its environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Environment {
    /// The sBPF versions that are enabled.
    pub versions: RangeInclusive<Version>,
    /// The syscalls that programs may call.
    pub syscalls: Arc<Syscalls>,
    /// Refuse files with unresolved symbols, or sections whose address is not their file offset.
    /// Set for deployment, not for execution of programs that were deployed long ago.
    pub reject_broken_elfs: bool,
    /// Use read-only sections in place if they are contiguous. The validator does not.
    pub optimize_rodata: bool,
    /// Keep the names of functions, which only tools need.
    pub labels: bool,
    /// Accept code at the start address of the stack region, as anza sbpf did before 0.24. Such a
    /// file is refused in either case, but by a later check and with another error.
    pub text_at_stack: bool,
}

impl Default for Environment {
    /// Enables every version, without syscalls, rejection of broken files or names.
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

/// The index of a syscall in the [`Syscalls`] that a program was loaded against.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SyscallId(
    /// The index, in the order of registration.
    pub u16,
);

/// A registry of syscalls by the Murmur3 hash of their name.
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
    /// If two names share a hash, or if there are more than 65,536 names. Both are mistakes of the
    /// host, since programs do not choose the names.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let ids = (0..=u16::MAX).map(SyscallId);
        assert!(names.len() <= ids.len(), "more syscalls than a `SyscallId` can number");
        let mut by_key: Vec<_> = names.iter().map(|it| murmur3(it.as_bytes())).zip(ids).collect();
        by_key.sort_unstable();
        let shared = by_key.windows(2).find(|pair| matches!(pair, [a, b] if a.0 == b.0));
        assert!(shared.is_none(), "the names of two syscalls have the same hash: {shared:?}");
        Self { names, by_key }
    }

    /// Returns the syscall whose name hashes to `key`.
    #[must_use]
    pub fn find(&self, key: u32) -> Option<SyscallId> {
        let index = self.by_key.binary_search_by_key(&key, |&(other, _)| other).ok()?;
        self.by_key.get(index).map(|&(_, id)| id)
    }

    /// Returns the name of a syscall; `None` if `id` is not of this registry.
    #[must_use]
    pub fn name(&self, id: SyscallId) -> Option<&str> {
        self.names.get(usize::from(id.0)).map(String::as_str)
    }

    /// Returns the names in the order of registration.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}
