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
/// that encode by an earlier `wincode` than a package that they need, or that needs them, and `five8_core` before 1.0
/// under later packages.
#[must_use]
pub fn outdated(text: &str) -> Vec<String> {
    let all = packages(text);
    let mut ids = outdated_encoders(&all);
    ids.extend(outdated_cores(&all));
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
    let encoders = Encoders::of(all);
    let is_outdated = |it: &&Encoder<'_>| {
        it.name.starts_with("solana-")
            && it.wincode < encoders.newest
            && (encoders.newer(it).is_some() || encoders.newest().any(|newer| newer.needs(it)))
    };
    let outdated = encoders.all.iter().filter(is_outdated);
    outdated.map(|it| format!("{}@{}", it.name, it.version)).collect()
}

/// A package of the project's own that encodes by an earlier `wincode` than one that it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Behind {
    /// Its name.
    pub package: String,
    /// Its `wincode`, as `0.5`.
    pub wincode: String,
    /// The package that it needs, as `NAME VERSION`.
    pub needed: String,
    /// The `wincode` of that.
    pub newest: String,
}

/// Returns the packages in folders, not of a registry, that encode by an earlier `wincode` than one that they need.
#[must_use]
pub fn behind(text: &str) -> Vec<Behind> {
    let all = packages(text);
    let encoders = Encoders::of(&all);
    let behind = |it: &Encoder<'_>| {
        let needed = encoders.newer(it).filter(|_| it.is_own && it.wincode < encoders.newest)?;
        Some(Behind {
            package: it.name.to_owned(),
            wincode: shown(it.wincode),
            needed: format!("{} {}", needed.name, needed.version),
            newest: shown(encoders.newest),
        })
    };
    encoders.all.iter().filter_map(behind).collect()
}

/// Returns the packages of a lock file; none if it cannot be read.
fn packages(text: &str) -> Vec<toml::Value> {
    let lock = text.parse::<toml::Table>().ok();
    let all = lock.and_then(|mut it| it.remove("package"));
    match all {
        Some(toml::Value::Array(all)) => all,
        _ => Vec::new(),
    }
}

fn shown((major, minor): (u64, u64)) -> String {
    format!("{major}.{minor}")
}

/// The locked packages that encode by `wincode`.
struct Encoders<'a> {
    all: Vec<Encoder<'a>>,
    /// The newest `wincode` of them.
    newest: (u64, u64),
}

impl<'a> Encoders<'a> {
    fn of(packages: &'a [toml::Value]) -> Self {
        let all: Vec<Encoder<'_>> = packages.iter().filter_map(Encoder::read).collect();
        let newest = all.iter().map(|it| it.wincode).max().unwrap_or_default();
        Self { all, newest }
    }

    /// Returns those that encode by the newest one.
    fn newest(&self) -> impl Iterator<Item = &Encoder<'a>> {
        self.all.iter().filter(|it| it.wincode == self.newest)
    }

    /// Returns one of these that a package needs.
    fn newer(&self, package: &Encoder<'a>) -> Option<&Encoder<'a>> {
        self.newest().find(|it| package.needs(it))
    }
}

/// A locked package that encodes by `wincode`.
struct Encoder<'a> {
    name: &'a str,
    version: &'a str,
    /// Whether it is in a folder.
    is_own: bool,
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
        let is_own = package.get("source").is_none();
        let (name, version) = (text_of(package, "name")?, text_of(package, "version")?);
        Some(Self { name, version, is_own, wincode, needs })
    }

    fn needs(&self, other: &Self) -> bool {
        self.needs.iter().any(|it| {
            let (name, version) = it.split_once(' ').unwrap_or((it, ""));
            other.name == name && (version.is_empty() || other.version == version)
        })
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
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [{needs}]\n{}",
                if name == "own" { "" } else { "source = \"registry+x\"\n" }
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
        let expected = Behind {
            package: "own".to_owned(),
            wincode: "0.5".to_owned(),
            needed: "solana-hash 4.7.0".to_owned(),
            newest: "0.6".to_owned(),
        };
        assert_eq!(behind(&lock.concat()), [expected], "cargo cannot update it");
        // It was raised, and needs a package that was not.
        let raised = [
            package("solana-zero-copy", "1.1.1", "\"wincode 0.5.4\""),
            package("own", "1.0.0", "\"solana-zero-copy\", \"wincode 0.6.3\""),
        ];
        assert_eq!(outdated(&raised.concat()), ["solana-zero-copy@1.1.1"]);
        assert_eq!(behind(&raised.concat()), []);
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
