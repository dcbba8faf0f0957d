//! Requirements of one exact version, as `=0.12.0`, which no package of ours has.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::anchor::table;

/// How deep manifests are looked for, in folders.
const DEPTH_MAX: usize = 6;
/// Folders in which no manifest is looked for.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// A requirement of one exact version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pin {
    /// The manifest.
    pub(crate) manifest: PathBuf,
    /// The package.
    pub(crate) package: String,
    /// The version, all three numbers of it.
    pub(crate) version: String,
}

/// Finds the exact requirements in the manifests of a folder and of those in it. What cannot be read is
/// left to cargo, which says why.
pub(crate) fn exact(root: &Path) -> Vec<Pin> {
    let mut pins = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let manifest = folder.join("Cargo.toml");
        if let Some(read) = manifest.is_file().then(|| table(&manifest).ok()).flatten() {
            of_table(&read, &manifest, &mut pins);
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        // Not those behind links, which may lead back.
        let inner = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
        let inner = inner.filter(|it| {
            let name = it.file_name();
            let name = name.to_string_lossy();
            !name.starts_with('.') && !SKIPPED.contains(&&*name)
        });
        if depth < DEPTH_MAX {
            folders.extend(inner.map(|it| (it.path(), depth + 1)));
        }
    }
    pins.sort_by(|a, b| a.manifest.cmp(&b.manifest));
    pins
}

/// Looks into each table of dependencies: of the package, its tests, its build, targets and the workspace.
fn of_table(table: &toml::Table, manifest: &Path, pins: &mut Vec<Pin>) {
    for (name, value) in table {
        let Some(inner) = value.as_table() else { continue };
        if name.ends_with("dependencies") {
            let named = inner.iter().filter_map(|(name, value)| pin(name, value, manifest));
            pins.extend(named);
        } else if name != "patch" {
            of_table(inner, manifest, pins);
        }
    }
}

fn pin(name: &str, value: &toml::Value, manifest: &Path) -> Option<Pin> {
    let text = |key: &str| value.get(key).and_then(toml::Value::as_str);
    let requirement = value.as_str().or_else(|| text("version"))?;
    let version = requirement.trim().strip_prefix('=')?.trim();
    (version.split('.').count() == 3).then(|| Pin {
        manifest: manifest.to_owned(),
        package: text("package").unwrap_or(name).to_owned(),
        version: version.to_owned(),
    })
}
