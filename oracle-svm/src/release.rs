//! The release of agave that Selkie is compared with: mainnet's, or with the feature `next` the one after it.

use selkie_svm::Release;

/// The release, whose rules Selkie follows beside it.
pub(crate) const RELEASE: Release =
    if cfg!(feature = "next") { Release::V4_5 } else { Release::V4_4 };

/// The gates that this release no longer reads: it behaves as if they were active.
pub(crate) const ALWAYS_ON: &[&str] = if cfg!(feature = "next") {
    &[
        "EDGMC5kxFxGk4ixsNkGt8bW7QL5hDMXnbwaZvYMwNfzF",
        "LTDSzjZKFJMKHYpNycG1FrWwGGTaFFwqEFjB5GGLNVD",
        "5xXZc66h4UdB6Yq7FzdBxBiRAFMMScMLwHxk2QZDaNZL",
        "YbbRLkvenrocjGPGyoQE4wjnvYzTgfsk38NFmcYK7a5",
        "txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL",
    ]
} else {
    &["EDGMC5kxFxGk4ixsNkGt8bW7QL5hDMXnbwaZvYMwNfzF"]
};

/// The gates of its own and of those before it, which are not active on mainnet.
pub(crate) const NEW_GATES: &[&str] = if cfg!(feature = "next") {
    &[
        "EhisBfVtGvEA8bVCVN5VMaYEaX6iTfoUrmcDi8LY7Kxy",
        "HeqqMQXVqavmiJsGTEXgCMydzMEWiiQTAgbs9KVKJVww",
        "UPbPFtaUVoKZuMEJsDxLfvCNuKavoVapghnzepr1e26",
        "r3r5hXFhEZLB2VCDXmUysuDZj4oMbtW8JRVUqvQSgqE",
    ]
} else {
    &["EhisBfVtGvEA8bVCVN5VMaYEaX6iTfoUrmcDi8LY7Kxy"]
};
