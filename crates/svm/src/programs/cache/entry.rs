//! What the cache knows of a program.

use core::fmt;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use solana_pubkey::Pubkey;

use super::{source::Source, target::Target};
use crate::{
    chain::{account::Loader, features::FeatureSet},
    programs::{program::Program, usage::Usage},
};

/// What a program is to whoever looks it up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EntryKind {
    /// Verified, and ready to run.
    Loaded,
    /// A part of the runtime. The cache keeps none of these.
    Builtin,
    /// It passed the verifier and was dropped since, to make room. It is loaded again when it is
    /// looked up, without being verified again.
    Unloaded,
    /// Its file was refused under these features. Others may let it pass.
    FailedVerification,
    /// It was closed, or never deployed: the account belongs to a loader, and no program is there.
    Closed,
    /// It was deployed in this very slot and can be called from the next one on. Never kept: who
    /// looks in a later slot finds it loaded.
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

/// A cached program, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachedProgram {
    /// Its address.
    pub id: Pubkey,
    /// What it is to whoever looks it up.
    pub kind: EntryKind,
    /// The loader that owns it.
    pub loader: Loader,
    /// The slot that it was deployed in; 0 if its account does not tell.
    pub deployed: u64,
    /// The slot that it can be called from.
    pub effective: u64,
    /// How many look-ups have found it, under this deployment.
    pub uses: u64,
    /// The slot of the last of them.
    pub last_access: u64,
    /// Bytes of its file.
    pub file_bytes: usize,
    /// Bytes that it takes while it is loaded: decoded, and as machine code.
    pub loaded_bytes: usize,
}

/// A program under one deployment and one target.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) target: Arc<Target>,
    /// How it differs from its file, if it was loaded before.
    pub(super) frozen: Option<Vec<u8>>,
    /// Empty until it is first asked for; `None` if the file was refused. Whoever comes while one
    /// loads it waits for that one.
    pub(super) program: OnceLock<Option<Arc<Program>>>,
    /// Look-ups that did not find it loaded, and those from before it was dropped. A program that
    /// is loaded counts by itself: whoever looks it up touches it in any case.
    pub(super) others: Usage,
}

/// A file that a program was made of, or will be.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// Features that stand for the target, compared first.
    pub(super) features: FeatureSet,
    pub(super) source: Source<'static>,
    pub(super) body: Arc<Body>,
    /// The body's, once it is loaded: close at hand.
    pub(super) program: Option<Arc<Program>>,
}

/// The versions of a program. Nearly all have one, which is then found at once.
pub(super) type Versions = SmallVec<[Version; 1]>;

impl Body {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self { target, frozen: None, program: OnceLock::new(), others: Usage::default() }
    }

    /// All look-ups.
    pub(super) fn usage(&self) -> Usage {
        match self.program.get() {
            Some(Some(program)) => self.others.with(&program.usage),
            Some(None) | None => self.others.with(&Usage::default()),
        }
    }

    /// The same program, dropped.
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

    /// Whether this is of the same deployment, as far as accounts tell, and the same target.
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
            effective: match loader {
                Loader::V1 | Loader::V2 => deployed,
                Loader::V3 | Loader::V4 => deployed.saturating_add(super::VISIBILITY_DELAY),
            },
            uses: usage.uses(),
            last_access: usage.last_access(),
            file_bytes: self.source.file().len(),
            loaded_bytes: program.into_iter().flatten().map(|it| it.loaded_bytes()).sum(),
        }
    }
}
