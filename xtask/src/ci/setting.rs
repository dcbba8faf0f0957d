//! What a check may use.

use std::{collections::BTreeSet, path::Path};

use crate::repository;

/// What a check may use.
#[derive(Default)]
pub(super) struct Setting {
    /// Whether the compilers for C and Rust programs are installed: tests that lack one fail then, instead
    /// of being ignored.
    pub(super) with_compilers: bool,
    /// The folders of the crates whose tests run; all without.
    pub(super) crates: Option<BTreeSet<String>>,
}

impl Setting {
    /// Whether the tests of the crate in a folder run.
    pub(super) fn has(&self, folder: &Path) -> bool {
        let folder = folder.strip_prefix(repository()).unwrap_or(folder);
        self.crates.as_ref().is_none_or(|it| it.iter().any(|it| Path::new(it) == folder))
    }
}
