//! Lock files that hold versions which exclude ours.
//!
//! `cargo update -p NAME` changes one package and those that only it needs. A crate that others need as well stays
//! as it is, and if ours need a later one, cargo refuses and names it.

use std::collections::BTreeSet;

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

/// Returns the packages of a lock file, as `NAME@VERSION`, with which others of it do not compile: `solana-*` packages
/// that encode by an earlier `wincode` than a package that they need, and `five8_core` before 1.0 under later packages.
#[must_use]
pub fn outdated(text: &str) -> Vec<String> {
    let Ok(lock) = text.parse::<toml::Table>() else { return Vec::new() };
    let all = lock.get("package").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut ids = outdated_encoders(all);
    ids.extend(outdated_cores(all));
    ids
}

/// The versions of `five8_core` before 1.0 that a later `five8` needs: their errors are none of the standard library's
/// without a feature, which the peers' crates switch on.
fn outdated_cores(all: &[toml::Value]) -> BTreeSet<String> {
    let is_five8 =
        |it: &&toml::Value| text_of(it, "name").is_some_and(|it| it.starts_with("five8"));
    let is_later =
        |it: &&toml::Value| !text_of(it, "version").unwrap_or_default().starts_with("0.");
    let needed = all.iter().filter(is_five8).filter(is_later).flat_map(needs);
    let versions = all.iter().filter(|it| text_of(it, "name") == Some("five8_core"));
    let locked = versions.filter_map(|it| text_of(it, "version")).next().unwrap_or_default();
    let used = needed.filter_map(|it| it.strip_prefix("five8_core"));
    // Where there is one version alone, it is not named.
    let used = used.map(|it| if it.is_empty() { locked } else { it.trim() });
    used.filter(|it| it.starts_with("0.")).map(|it| format!("five8_core@{it}")).collect()
}

fn outdated_encoders(all: &[toml::Value]) -> Vec<String> {
    let encoders: Vec<Encoder<'_>> = all.iter().filter_map(Encoder::read).collect();
    let newest = encoders.iter().map(|it| it.wincode).max();
    let is_new = |needed: &str| {
        let (name, version) = needed.split_once(' ').unwrap_or((needed, ""));
        encoders.iter().any(|it| {
            it.name == name
                && (version.is_empty() || it.version == version)
                && Some(it.wincode) == newest
        })
    };
    let is_outdated = |it: &&Encoder<'_>| {
        it.name.starts_with("solana-")
            && Some(it.wincode) < newest
            && it.needs.iter().any(|it| is_new(it))
    };
    let id = |it: &Encoder<'_>| format!("{}@{}", it.name, it.version);
    encoders.iter().filter(is_outdated).map(id).collect()
}

/// A locked package that encodes by `wincode`.
struct Encoder<'a> {
    name: &'a str,
    version: &'a str,
    /// The numbers of the version that other versions may not be compatible with.
    wincode: (u64, u64),
    /// What it needs: names, with their versions where the lock file has several.
    needs: Vec<&'a str>,
}

impl<'a> Encoder<'a> {
    fn read(package: &'a toml::Value) -> Option<Self> {
        let needs: Vec<&str> = needs(package).collect();
        // Where there is one version alone, it is not named.
        let wincode = needs.iter().find_map(|it| it.strip_prefix("wincode "))?;
        let mut numbers = wincode.split('.').map_while(|it| it.parse().ok());
        let wincode = (numbers.next()?, numbers.next()?);
        let (name, version) = (text_of(package, "name")?, text_of(package, "version")?);
        Some(Self { name, version, wincode, needs })
    }
}

fn text_of<'a>(package: &'a toml::Value, key: &str) -> Option<&'a str> {
    package.get(key)?.as_str()
}

/// What a locked package needs.
fn needs(package: &toml::Value) -> impl Iterator<Item = &str> {
    let all = package.get("dependencies").and_then(toml::Value::as_array);
    all.into_iter().flatten().filter_map(toml::Value::as_str)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_between_two_versions_of_wincode_are_outdated() {
        let package = |name: &str, version: &str, needs: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [{needs}]\n"
            )
        };
        let lock = [
            package("solana-hash", "4.7.0", "\"wincode 0.6.3\""),
            package("solana-nonce", "3.2.0", "\"solana-hash 4.7.0\", \"wincode 0.5.4\""),
            // Its hash is one of before.
            package("solana-fee", "3.0.0", "\"solana-hash 2.3.0\", \"wincode 0.5.4\""),
            package("own", "1.0.0", "\"solana-hash 4.7.0\", \"wincode 0.5.4\""),
            package("other", "1.0.0", "\"solana-nonce\""),
        ];
        assert_eq!(outdated(&lock.concat()), ["solana-nonce@3.2.0"]);
        let one = lock[1].replace("wincode 0.5.4", "wincode");
        assert_eq!(outdated(&one), [""; 0]);
        assert_eq!(outdated("not a lock file"), [""; 0]);
    }

    #[test]
    fn a_core_of_before_is_outdated_where_later_packages_need_it() {
        let package = |name: &str, version: &str, needs: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [{needs}]\n"
            )
        };
        let old = package("five8_const", "0.1.4", "\"five8_core 0.1.2\"");
        let new = package("five8", "1.0.0", "\"five8_core 0.1.2\"");
        let cores = ["0.1.2", "1.0.0"].map(|it| package("five8_core", it, "")).concat();
        assert_eq!(outdated(&format!("{old}{new}{cores}")), ["five8_core@0.1.2"]);
        let updated = new.replace("five8_core 0.1.2", "five8_core 1.0.0");
        assert_eq!(outdated(&format!("{old}{updated}{cores}")), [""; 0]);
        let alone = package("five8_core", "0.1.1", "");
        let new = new.replace("five8_core 0.1.2", "five8_core");
        assert_eq!(outdated(&format!("{alone}{new}")), ["five8_core@0.1.1"]);
    }
}
