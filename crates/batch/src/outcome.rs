//! The result of an item.

use core::mem;

use crate::{
    Sha256,
    effects::{self, Written},
    item::{Expectation, Item},
    sha256,
};

/// How an item ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// The transaction succeeded.
    Success,
    /// It failed, and paid its fee.
    Failed,
    /// Its accounts could not be loaded; it paid its fee only.
    FeesOnly,
    /// It was dropped: it pays no fee and writes nothing.
    Dropped,
    /// A search found inputs that make a program fail.
    Found,
    /// The row is invalid.
    MalformedItem,
    /// The engine panicked: a bug in Selkie.
    EngineCrash,
}

impl Status {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Failed => "Failed",
            Self::FeesOnly => "FeesOnly",
            Self::Dropped => "Dropped",
            Self::Found => "Found",
            Self::MalformedItem => "MalformedItem",
            Self::EngineCrash => "EngineCrash",
        }
    }
}

/// A row of the result table, but for the item's id.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ended: Ended,
    pub(crate) matches: Option<bool>,
    pub(crate) bytes_in: u64,
}

/// How the work of an item ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) error: Option<String>,
    /// What a search found, in JSON.
    pub(crate) findings: Option<String>,
    pub(crate) error_index: Option<u8>,
    /// `None` if nothing was executed.
    pub(crate) executed: Option<Executed>,
    pub(crate) post: Vec<Written>,
    pub(crate) effects_hash: Sha256,
}

/// What was executed.
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) compute_units: u64,
    /// The fee in lamports.
    pub(crate) fee: u64,
    pub(crate) return_data: Option<Vec<u8>>,
    /// What a search or blocks took, in JSON.
    pub(crate) effort: Option<String>,
    pub(crate) logs: Logs,
}

/// The log lines of an item.
#[derive(Debug)]
pub(crate) struct Logs {
    pub(crate) hash: Sha256,
    /// The lines, if the results hold them.
    pub(crate) kept: Option<Vec<String>>,
}

impl Logs {
    /// Hashes lines, and takes them if the results hold them.
    pub(crate) fn of(lines: &mut Vec<String>, is_kept: bool) -> Self {
        Self { hash: effects::logs_hash(lines), kept: is_kept.then(|| mem::take(lines)) }
    }
}

impl Outcome {
    pub(crate) fn of(item: &Item<'_>, ended: Ended) -> Self {
        let matches = item.expect.as_ref().map(|expected| ended.is_as(expected));
        Self { ended, matches, bytes_in: item.bytes() }
    }

    /// Returns the result of an item that could not be executed. Its effects are a hash of its status
    /// and of the row's id, so that a digest tells it from other results.
    pub(crate) fn unusable(stated: &[u8], status: Status, why: String) -> Self {
        let ended = Ended {
            status,
            error: Some(why),
            findings: None,
            error_index: None,
            executed: None,
            post: Vec::new(),
            effects_hash: sha256(&[status.name().as_bytes(), stated].concat()),
        };
        Self { ended, matches: None, bytes_in: 0 }
    }
}

impl Ended {
    fn is_as(&self, expected: &Expectation<'_>) -> bool {
        let units = self.executed.as_ref().map_or(0, |it| it.compute_units);
        // Expectations recorded from results of version 1 have findings as the error.
        let error = self.error.as_deref().or(self.findings.as_deref());
        expected.status.is_none_or(|status| status == self.status.name() && expected.error == error)
            && expected.compute_units.is_none_or(|it| it == units)
            && expected.effects_hash.is_none_or(|it| it == self.effects_hash)
    }
}
