//! Objects and archives, linked, loaded as a deployment would, verified and run.

mod broken;
mod committed;
mod machine;
mod mixed;
mod object;
mod parts;
mod random;
mod refused;
mod torture;

use std::path::PathBuf;

/// `testdata/link`.
fn testdata() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/link"))
}
mod wide;
