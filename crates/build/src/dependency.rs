//! Advice about a dependency that does not compile for sBPF: what brought it in, and how to leave it
//! out.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    process::Command,
};

use serde_json::Value;

use crate::metadata::with_dependencies;

/// Returns what to do about the package with this ID of cargo's, unless it is one of the user's own.
pub(crate) fn advice(cargo: Command, manifest: &Path, id: &str) -> Option<String> {
    advice_of(&with_dependencies(cargo, manifest).ok()?, manifest, id)
}

/// Returns a warning about a package with this ID of cargo's, if it compiles but does not work as it did.
pub(crate) fn warning(id: &str) -> Option<String> {
    let (_, version) = id.rsplit_once("#solana-program@")?;
    let minor: u32 = version.strip_prefix("1.")?.split('.').next()?.parse().ok()?;
    // `StableInstruction` is there since 1.16.
    (minor < 16).then(|| {
        format!(
            "warning: solana-program {version} hands instructions to the runtime as compilers of its time \
             laid them out, which newer ones do not: calls of other programs fail with \"invalid program \
             argument\"\n\
             help: update it to 1.16 or newer, or build with `--toolchain official`\n"
        )
    })
}

fn advice_of(metadata: &Value, manifest: &Path, id: &str) -> Option<String> {
    let packages: BTreeMap<&str, &Value> = objects(&metadata["packages"], "id").collect();
    let is_program = |it: &&Value| it["manifest_path"].as_str().map(Path::new) == Some(manifest);
    let program = packages.values().find(|it| is_program(it))?["id"].as_str()?;
    // What has no source is of the workspace, or in a folder that the user named.
    let is_foreign = packages.get(id)?["source"].is_string();
    let path = path(&metadata["resolve"], program, id).filter(|it| it.len() > 1 && is_foreign)?;
    let named = |id: &&str| {
        let package = packages.get(id)?;
        Some(format!("{} {}", package["name"].as_str()?, package["version"].as_str()?))
    };
    let names: Vec<String> = path.iter().map(named).collect::<Option<_>>()?;
    let direct = packages.get(path[1])?["name"].as_str()?;
    let broken = packages.get(id)?["name"].as_str()?;
    let (chain, manifest) = (names.join(" → "), manifest.display());
    Some(format!(
        "`{broken}` does not compile. It is there because of {chain}\n      \
         if `cargo check` fails in the same way, cargo has chosen versions that do not fit together: \
         use a Cargo.lock with which the program has been built\n      \
         otherwise it needs what programs do not have, such as files, sockets or processes: leave out \
         the feature that brings it in, which `cargo tree --edges features --invert {broken}` shows, \
         or move `{direct}` to [target.'cfg(not(target_os = \"solana\"))'.dependencies] in {manifest}"
    ))
}

/// Returns the shortest path of dependencies from one package to another.
fn path<'a>(resolve: &'a Value, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let nodes: BTreeMap<&str, &Value> = objects(&resolve["nodes"], "id").collect();
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    while let Some(id) = open.pop_front() {
        if id == to {
            let mut path: Vec<&str> =
                std::iter::successors(Some(id), |it| before.get(it).copied()).collect();
            path.reverse();
            return Some(path);
        }
        for (dependency, edge) in objects(&nodes.get(id)?["deps"], "pkg") {
            let mut kinds = edge["dep_kinds"].as_array().into_iter().flatten();
            let is_compiled_in = kinds.any(|it| it["kind"].is_null());
            if is_compiled_in && dependency != from && !before.contains_key(dependency) {
                before.insert(dependency, id);
                open.push_back(dependency);
            }
        }
    }
    None
}

/// Returns a list's objects with the texts of a field.
fn objects<'a>(list: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(move |it| Some((it[key].as_str()?, it)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_whose_calls_fail_are_named() {
        let id = |version: &str| {
            format!(
                "registry+https://github.com/rust-lang/crates.io-index#solana-program@{version}"
            )
        };
        let warned = warning(&id("1.10.41")).expect("its calls fail");
        assert!(warned.contains("solana-program 1.10.41") && warned.contains("1.16"), "{warned}");
        for version in ["1.16.0", "1.18.26", "2.3.0", "4.0.0"] {
            assert_eq!(warning(&id(version)), None, "{version}");
        }
        assert_eq!(warning("path+file:///p/solana-program-test#1.9.0"), None);
    }

    fn metadata() -> Value {
        let package = |name: &str, source: Value| {
            let manifest = format!("/{name}/Cargo.toml");
            json!({
                "id": name, "name": name, "version": "1.0.0", "source": source,
                "manifest_path": manifest,
            })
        };
        let node = |id: &str, dependencies: &[(&str, Value)]| {
            let edge =
                |(id, kind): &(&str, Value)| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
            json!({ "id": id, "deps": dependencies.iter().map(edge).collect::<Vec<_>>() })
        };
        let registry = json!("registry+https://github.com/rust-lang/crates.io-index");
        json!({
            "packages": [
                package("vault", Value::Null), package("shared", Value::Null),
                package("client", registry.clone()), package("http", registry.clone()),
                package("sockets", registry),
            ],
            "resolve": { "nodes": [
                node("vault", &[
                    ("sockets", json!("dev")), ("shared", Value::Null), ("client", Value::Null),
                ]),
                node("shared", &[("vault", json!("dev")), ("client", Value::Null)]),
                node("client", &[("http", Value::Null), ("sockets", json!("build"))]),
                node("http", &[("sockets", Value::Null), ("client", Value::Null)]),
                node("sockets", &[]),
            ]},
        })
    }

    fn advised(id: &str) -> Option<String> {
        advice_of(&metadata(), Path::new("/vault/Cargo.toml"), id)
    }

    #[test]
    fn path_of_dependencies_is_shown_as_they_are_compiled_in() {
        let far = advised("sockets").expect("it is of the registry");
        assert!(far.contains("vault 1.0.0 → client 1.0.0 → http 1.0.0 → sockets 1.0.0\n"), "{far}");
        assert!(far.contains("--invert sockets`") && far.contains("move `client` to"), "{far}");
        let near = advised("client").expect("it is of the registry");
        assert!(near.contains("because of vault 1.0.0 → client 1.0.0\n"), "{near}");
    }

    #[test]
    fn own_packages_get_no_advice() {
        assert_eq!(advised("vault"), None);
        assert_eq!(advised("shared"), None);
        assert_eq!(advised("core"), None);
    }
}
