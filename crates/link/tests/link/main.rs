//! Objects and archives, linked, loaded as a deployment would, verified and run.

mod broken;
mod committed;
mod compilers;
mod folding;
mod frames;
mod machine;
mod mixed;
mod object;
mod parts;
mod random;
mod random_folding;
mod refused;
mod wide;

use std::{fmt::Write as _, path::PathBuf};

use selkie_link::LinkError;

/// `testdata/link`.
fn testdata() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/link"))
}

/// Renders errors as users see them, without colours and excerpts.
fn rendered(errors: &[LinkError]) -> String {
    let mut said = String::new();
    for it in errors {
        writeln!(said, "error: {}", it.message).unwrap();
        it.location().iter().for_each(|place| writeln!(said, " --> {place}").unwrap());
        it.help.iter().for_each(|help| writeln!(said, "help: {help}").unwrap());
    }
    said
}
