//! A build without the feature `node` has no HTTP.

use selkie_isa::failure::{Failure, OrFailure as _, Result};

#[derive(Debug)]
pub(super) struct Http;

impl Http {
    pub(super) fn new() -> Result<Self> {
        Err(Failure::new("this build of selkie has no network"))
            .advise("build it with the feature `node`")
    }

    pub(super) fn post(&self, _: &str, _: String, _: u64) -> Result<Vec<u8>> {
        Self::new().map(|_| Vec::new())
    }
}

pub(super) fn is_too_large(_: &Failure) -> bool {
    false
}
