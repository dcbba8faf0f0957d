//! Reads what the user has named.

use std::path::Path;

use selkie_isa::{
    failure::{Context as _, OrFailure as _, Result},
    input,
};

/// Reads a file, or a pipe such as `/dev/stdin` to its end.
///
/// # Errors
/// If it cannot be read or has too many bytes. The help tells files that have a similar name.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let read = input::named(path).with_context(|| format!("cannot read {}", path.display()));
    read.or_else(|error| {
        let advice = selkie::path_hint(path).unwrap_or_else(|| match path.extension() {
            None => "check the name: programs end in .so, sources in .s".to_owned(),
            Some(_) => "check the path; it is relative to the current folder".to_owned(),
        });
        Err(error).advise(advice)
    })
}
