//! Entries of the program cache: the versions of each program.

use core::fmt;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use solana_pubkey::Pubkey;

use super::{source::Source, target::Target};
use crate::{
    chain::{account::Loader, features::FeatureSet},
    programs::{program::Program, usage::Usage},
};

/// The state of a program in the cache (agave: `ProgramCacheEntryType`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EntryKind {
    /// Verified and ready to run.
    Loaded,
    /// A builtin program. The cache contains none of these.
    Builtin,
    /// Verified and evicted since. The next look-up loads it without verifying it again.
    Unloaded,
    /// The loader or the verifier rejected the file under the current features.
    FailedVerification,
    /// The account belongs to a loader, but no program was deployed, or it was closed.
    Closed,
    /// The program was deployed in the current slot and can be invoked from the next slot on. Never
    /// stored: look-ups in later slots find the program loaded.
    DelayVisibility,
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Loaded => "loaded",
            Self::Builtin => "builtin",
            Self::Unloaded => "unloaded",
            Self::FailedVerification => "failed verification",
            Self::Closed => "closed",
            Self::DelayVisibility => "visible from the next slot on",
        })
    }
}

/// A description of a cached program, for display.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachedProgram {
    /// The program's address.
    pub id: Pubkey,
    /// The state in the cache.
    pub kind: EntryKind,
    /// The loader that owns the program.
    pub loader: Loader,
    /// The slot of the deployment; 0 for loaders whose accounts do not record it.
    pub deployed: u64,
    /// The first slot in which the program can be invoked.
    pub effective: u64,
    /// The number of look-ups of this deployment.
    pub uses: u64,
    /// The slot of the last look-up.
    pub last_access: u64,
    /// The size of the file in bytes.
    pub file_bytes: usize,
    /// The memory that the loaded program uses, in bytes: decoded instructions and machine code.
    pub loaded_bytes: usize,
}

/// A program under one deployment and one target.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) target: Arc<Target>,
    /// The frozen program (see [`Program::frozen`]), if it was loaded before.
    pub(super) frozen: Option<Vec<u8>>,
    /// Empty until the first look-up; `None` if the file was rejected. Look-ups wait while another one
    /// loads the program.
    pub(super) program: OnceLock<Option<Arc<Program>>>,
    /// Look-ups that did not find the program loaded, and those from before it was evicted. Look-ups of
    /// a loaded program are counted in the program, which they access anyway.
    pub(super) others: Usage,
}

/// The file of a program, and the program once it is loaded.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The features of the last look-up through the slow path. They determine the target, and are
    /// compared first.
    pub(super) features: FeatureSet,
    pub(super) source: Source<'static>,
    pub(super) body: Arc<Body>,
    /// A copy of `body.program` once it is loaded, which saves a pointer dereference.
    pub(super) program: Option<Arc<Program>>,
}

/// The versions of a program. Nearly all programs have one, which is stored inline.
pub(super) type Versions = SmallVec<[Version; 1]>;

impl Body {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self { target, frozen: None, program: OnceLock::new(), others: Usage::default() }
    }

    /// Returns the count of all look-ups.
    pub(super) fn usage(&self) -> Usage {
        match self.program.get() {
            Some(Some(program)) => self.others.with(&program.usage),
            Some(None) | None => self.others.with(&Usage::default()),
        }
    }

    /// Returns the body of the evicted program.
    pub(super) fn unloaded(&self, file: &[u8]) -> Self {
        let program = self.program.get().and_then(Option::as_ref);
        Self {
            target: Arc::clone(&self.target),
            frozen: program.map(|program| program.frozen(file)),
            program: OnceLock::new(),
            others: self.usage(),
        }
    }

    pub(super) fn is_loaded(&self) -> bool {
        matches!(self.program.get(), Some(Some(_)))
    }
}

impl Version {
    pub(super) fn new(features: FeatureSet, source: Source<'static>, body: Arc<Body>) -> Self {
        Self { features, source, body, program: None }
    }

    /// Returns whether both are of the same deployment, according to their accounts, and the same target.
    pub(super) fn is_in_place_of(&self, other: &Self) -> bool {
        self.source.loader == other.source.loader
            && self.source.deployed == other.source.deployed
            && Arc::ptr_eq(&self.body.target, &other.body.target)
    }

    pub(super) fn describe(&self, id: Pubkey) -> CachedProgram {
        let Source { loader, deployed, .. } = self.source;
        let program = self.body.program.get();
        let usage = self.body.usage();
        CachedProgram {
            id,
            kind: match program {
                Some(Some(_)) => EntryKind::Loaded,
                Some(None) => EntryKind::FailedVerification,
                None => EntryKind::Unloaded,
            },
            loader,
            deployed,
            effective: self.source.effective(),
            uses: usage.uses(),
            last_access: usage.last_access(),
            file_bytes: self.source.file().len(),
            loaded_bytes: program.into_iter().flatten().map(|it| it.loaded_bytes()).sum(),
        }
    }
}
