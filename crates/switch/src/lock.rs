//! Lock files that hold versions which exclude ours.
//!
//! `cargo update -p NAME` changes one package and those that only it needs. A crate that others need as well stays
//! as it is, and if ours need a later one, cargo refuses and names it.

/// Returns the packages, as `NAME@VERSION`, of which `cargo update` must change one first, from the text of its
/// error: the one that was selected already, and the one for which no version is left, if it is locked.
///
/// ```
/// let text = "error: failed to select a version for `a`.\n  versions that meet the requirements `^3.2` (locked to \
///             3.4.0) are: 3.4.0\n  previously selected package `a v3.6.0`\n    ... which satisfies dependency";
/// assert_eq!(selkie_switch::lock::conflicts(text), ["a@3.6.0", "a@3.4.0"]);
/// assert_eq!(selkie_switch::lock::conflicts("error: no matching package"), [""; 0]);
/// ```
#[must_use]
pub fn conflicts(text: &str) -> Vec<String> {
    [selected(text), locked(text)].into_iter().flatten().collect()
}

fn selected(text: &str) -> Option<String> {
    let (name, version) = between(text, "previously selected package `", "`")?.split_once(" v")?;
    // A package of a folder has its path behind the version.
    let version = version.split(' ').next().unwrap_or(version);
    Some(format!("{name}@{version}"))
}

fn locked(text: &str) -> Option<String> {
    let name = between(text, "failed to select a version for `", "`")?;
    let line = between(text, "versions that meet the requirements ", "\n")?;
    Some(format!("{name}@{}", between(line, "(locked to ", ")")?))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    Some(text.split_once(start)?.1.split_once(end)?.0)
}
