//! The release of agave whose bank Selkie's is compared with: mainnet's, or with the feature `next` the one
//! after it. The modules have what of its crates' interface is not that of the other.

use selkie_svm::Release;

#[cfg(not(feature = "next"))]
mod v4_4;
#[cfg(feature = "next")]
mod v4_5;

#[cfg(not(feature = "next"))]
pub(crate) use v4_4::*;
#[cfg(feature = "next")]
pub(crate) use v4_5::*;

/// The release, whose rules Selkie follows beside it.
pub(crate) const RELEASE: Release =
    if cfg!(feature = "next") { Release::V4_5 } else { Release::V4_4 };
