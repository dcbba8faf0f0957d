//! Lock files of the other workspaces and projects: each knows what the product's crates depend on.
//!
//! Cargo brings a stale one up to date with the next build, which then has changed a file of the repository.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::files::Files;

/// The packages that a crate depends on: those that it always has, and all.
#[derive(Default)]
struct Uses {
    always: BTreeSet<String>,
    all: BTreeSet<String>,
}

/// Packages of the product in lock files whose dependencies are not those of their manifests.
pub(crate) fn findings(files: &Files) -> Vec<String> {
    let parse = |text: &str| text.parse::<Table>().ok();
    let root = files.get("Cargo.toml").and_then(parse).unwrap_or_default();
    let shared = table(&root, &["workspace", "dependencies"]);
    let manifests = files.iter().filter(|(path, _)| is_crate(path));
    let crates: BTreeMap<String, Uses> = manifests
        .filter_map(|(_, text)| {
            let manifest = parse(text)?;
            let name = manifest.get("package")?.get("name")?.as_str()?.to_owned();
            Some((name, uses(&manifest, shared)))
        })
        .collect();
    let locks = files.iter().filter(|(path, _)| path.ends_with("/Cargo.lock"));
    let stale = locks.flat_map(|(path, text)| {
        let lock = parse(text).unwrap_or_default();
        let stale = stale(&lock, &crates);
        stale.into_iter().map(move |it| {
            let folder = path.trim_end_matches("/Cargo.lock");
            format!("{path}: not what {it} depends on; build once in {folder}, or `cargo metadata` there")
        })
    });
    stale.collect()
}

fn is_crate(path: &str) -> bool {
    path.strip_prefix("crates/").is_some_and(|it| it.ends_with("/Cargo.toml"))
}

fn table<'a>(from: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(from, |table, name| table.get(*name)?.as_table())
}

/// What a manifest names, by the names of packages. Lock files of others have no development dependencies.
fn uses(manifest: &Table, shared: Option<&Table>) -> Uses {
    let targets = table(manifest, &["target"]).into_iter().flat_map(Table::values);
    let sections = [manifest].into_iter().chain(targets.filter_map(Value::as_table));
    let named = sections.flat_map(|section| {
        let of = |name| table(section, &[name]).into_iter().flatten();
        of("dependencies").chain(of("build-dependencies"))
    });
    let mut uses = Uses::default();
    for (name, value) in named {
        let is = |flag| value.get(flag).and_then(Value::as_bool).unwrap_or(false);
        let shared = shared.and_then(|it| it.get(name));
        let renamed = shared.into_iter().chain([value]).find_map(|it| it.get("package")?.as_str());
        let package = renamed.unwrap_or(name).to_owned();
        if !is("optional") {
            uses.always.insert(package.clone());
        }
        uses.all.insert(package);
    }
    uses
}

/// The crates whose dependencies a lock file does not know.
fn stale(lock: &Table, crates: &BTreeMap<String, Uses>) -> Vec<String> {
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    let stale = packages.filter_map(|package| {
        let name = package.get("name")?.as_str()?;
        let known = crates.get(name).filter(|_| package.get("source").is_none())?;
        let locked = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        // A name that several versions have is followed by one of them.
        let locked: BTreeSet<String> =
            locked.filter_map(|it| Some(it.as_str()?.split(' ').next()?.to_owned())).collect();
        let is_current = known.always.is_subset(&locked) && locked.is_subset(&known.all);
        (!is_current).then(|| name.to_owned())
    });
    stale.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = 'a'\n[dependencies]\nb.workspace = true\n\
                            c = { version = '1', optional = true }\n[dev-dependencies]\nd = '1'\n\
                            [target.'cfg(unix)'.dependencies]\ne = '1'\n";

    fn found(dependencies: &str) -> Vec<String> {
        let lock = format!("[[package]]\nname = 'a'\ndependencies = [{dependencies}]\n");
        let root = "[workspace.dependencies]\nb = { package = 'real-b', version = '1' }\n";
        findings(&Files::from([
            ("Cargo.toml", root),
            ("crates/a/Cargo.toml", MANIFEST),
            ("other/Cargo.lock", &lock),
        ]))
    }

    #[test]
    fn a_lock_file_knows_all_that_a_crate_always_uses() {
        assert_eq!(found("'e 1.0.0', 'real-b'"), Vec::<String>::new());
        assert_eq!(found("'c', 'e', 'real-b'"), Vec::<String>::new());
        for stale in ["'real-b'", "'e'", "'e', 'real-b', 'd'"] {
            let found = found(stale);
            assert!(
                found.iter().any(|it| it.starts_with("other/Cargo.lock: not what a")),
                "{stale}"
            );
        }
    }
}
