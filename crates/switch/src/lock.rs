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

/// Returns the `solana-*` packages of a lock file, as `NAME@VERSION`, that encode by an earlier `wincode` than a
/// package that they need: they do not compile with its types.
#[must_use]
pub fn outdated(text: &str) -> Vec<String> {
    let Ok(lock) = text.parse::<toml::Table>() else { return Vec::new() };
    let all = lock.get("package").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
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
        let text = |key: &str| package.get(key)?.as_str();
        let needs = package.get("dependencies")?.as_array()?;
        let needs: Vec<&str> = needs.iter().filter_map(toml::Value::as_str).collect();
        // Where there is one version alone, it is not named.
        let wincode = needs.iter().find_map(|it| it.strip_prefix("wincode "))?;
        let mut numbers = wincode.split('.').map_while(|it| it.parse().ok());
        let wincode = (numbers.next()?, numbers.next()?);
        Some(Self { name: text("name")?, version: text("version")?, wincode, needs })
    }
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
}
