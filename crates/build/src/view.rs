//! Views: manifests without dependencies that only tests need.
//!
//! Cargo resolves dev-dependencies even if it builds no tests, so a missing one prevents the build of
//! the program. A view is a manifest in another folder, with the same sources and without
//! dev-dependencies.

use std::{
    io,
    path::{Path, PathBuf},
};

use selkie_isa::input;
use toml::{Table, Value};

/// The tables of a manifest that only concern tests, examples and benchmarks.
const FOR_TESTS: &[&str] = &["dev-dependencies", "dev_dependencies", "test", "bench", "example"];

/// Tables of dependencies.
const DEPENDENCIES: &[&str] = &["dependencies", "build-dependencies", "build_dependencies"];

/// Settings of a package that name files, and that a build does not need.
const FILES: &[&str] = &["readme", "license-file", "include", "exclude", "default-run"];

/// Writes the view of a package that is its own workspace to a folder, with its lock file. Returns
/// `None` if the package has no dev-dependencies.
pub(crate) fn make(manifest: &Path, folder: &Path) -> io::Result<Option<PathBuf>> {
    let Some(text) = without_tests(&input::text(manifest, input::TEXT_BYTES_MAX)?, manifest) else {
        return Ok(None);
    };
    let view = folder.join("Cargo.toml");
    crate::system::write_if_changed(&view, text.as_bytes())?;
    if let Ok(lock) = input::read(&manifest.with_file_name("Cargo.lock"), input::FILE_BYTES_MAX) {
        crate::system::write_if_changed(&folder.join("Cargo.lock"), &lock)?;
    }
    Ok(Some(view))
}

/// Returns a manifest without dev-dependencies, for use in another folder; `None` if it has none, or
/// is not the manifest of a package.
fn without_tests(text: &str, manifest: &Path) -> Option<String> {
    let mut table: Table = text.parse().ok()?;
    let root = manifest.parent()?;
    let mut removed = remove_tests(&mut table, root);
    if let Some(targets) = table.get_mut("target").and_then(Value::as_table_mut) {
        for (_, target) in targets.iter_mut() {
            removed |= target.as_table_mut().is_some_and(|it| remove_tests(it, root));
        }
    }
    if !removed {
        return None;
    }
    let package = table.get_mut("package")?.as_table_mut()?;
    let build = root.join(package.get("build").and_then(Value::as_str).unwrap_or("build.rs"));
    if build.is_file() {
        package.insert("build".to_owned(), path_value(&build));
    }
    for kind in ["autobins", "autotests", "autobenches", "autoexamples"] {
        package.insert(kind.to_owned(), false.into());
    }
    FILES.iter().for_each(|name| drop(package.remove(*name)));
    table.remove("bin");
    let library = table.entry("lib").or_insert_with(|| Table::new().into()).as_table_mut()?;
    let source = library.get("path").and_then(Value::as_str).unwrap_or("src/lib.rs");
    let source = root.join(source);
    library.insert("path".to_owned(), path_value(&source));
    for name in ["patch", "replace"] {
        let sources = table.get_mut(name).and_then(Value::as_table_mut);
        sources.into_iter().for_each(|it| it.iter_mut().for_each(|(_, it)| anchor(it, root)));
    }
    // Makes the view a workspace, since cargo would search the folders above for one.
    let workspace = table.entry("workspace").or_insert_with(|| Table::new().into());
    let workspace = workspace.as_table_mut()?;
    workspace.remove("members");
    workspace.get_mut("dependencies").into_iter().for_each(|it| anchor(it, root));
    Some(table.to_string())
}

/// Removes the tables that only concern tests, and returns whether there were dev-dependencies.
/// Makes the paths of other dependencies absolute.
fn remove_tests(table: &mut Table, root: &Path) -> bool {
    let mut removed = false;
    for name in FOR_TESTS {
        removed |= table.remove(*name).is_some() && name.starts_with("dev");
    }
    for name in DEPENDENCIES {
        table.get_mut(*name).into_iter().for_each(|it| anchor(it, root));
    }
    removed
}

/// Makes the paths of dependencies absolute.
fn anchor(dependencies: &mut Value, root: &Path) {
    let each = dependencies.as_table_mut().into_iter().flat_map(|it| it.iter_mut());
    for (_, dependency) in each {
        if let Some(path) = dependency.get_mut("path") {
            let absolute = path.as_str().map(|it| path_value(&root.join(it)));
            *path = absolute.unwrap_or_else(|| path.clone());
        }
    }
}

fn path_value(path: &Path) -> Value {
    Value::String(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_has_the_same_sources_and_no_dev_dependencies() {
        let manifest = r#"
            [package]
            name = "vault"
            version = "0.1.0"
            readme = "README.md"
            [lib]
            crate-type = ["cdylib", "lib"]
            [dependencies]
            pinocchio = "0.12"
            shared = { path = "../shared" }
            [dev-dependencies]
            selkie = { path = "/nowhere" }
            [target.'cfg(unix)'.dev-dependencies]
            other = "1"
            [[test]]
            name = "program"
            [profile.release]
            lto = "fat"
        "#;
        let view = without_tests(manifest, Path::new("/projects/vault/Cargo.toml"));
        let view: Table = view.expect("there are tests").parse().expect("it is a manifest");
        assert_eq!(view["lib"]["path"].as_str(), Some("/projects/vault/src/lib.rs"));
        assert_eq!(
            view["dependencies"]["shared"]["path"].as_str(),
            Some("/projects/vault/../shared")
        );
        assert_eq!(view["dependencies"]["pinocchio"].as_str(), Some("0.12"));
        assert_eq!(view["package"]["autotests"].as_bool(), Some(false));
        assert_eq!(view["profile"]["release"]["lto"].as_str(), Some("fat"));
        assert!(view["workspace"].is_table());
        for gone in ["dev-dependencies", "test"] {
            assert!(!view.contains_key(gone), "{gone}");
        }
        assert!(view["target"]["cfg(unix)"].get("dev-dependencies").is_none());
        assert!(view["package"].get("readme").is_none());
    }

    #[test]
    fn package_without_dev_dependencies_has_no_view() {
        let manifest = "[package]\nname = \"vault\"\n[dependencies]\npinocchio = \"0.12\"\n";
        assert_eq!(without_tests(manifest, Path::new("/vault/Cargo.toml")), None);
    }
}
