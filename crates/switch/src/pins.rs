//! Requirements of one exact version, as `=0.12.0`, which no package of ours has.

use std::{
    collections::BTreeSet,
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

/// Finds the exact requirements in the manifests of a folder and of those in it, and of the packages that they
/// name by their paths. What cannot be read is left to cargo, which says why.
pub(crate) fn exact(root: &Path) -> Vec<Pin> {
    let mut found = Found::default();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        found.read(&folder);
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
    while let Some(folder) = found.paths.pop() {
        found.read(&folder);
    }
    let mut pins = found.pins;
    pins.sort_by(|a, b| a.manifest.cmp(&b.manifest));
    pins
}

/// What is found in manifests.
#[derive(Default)]
struct Found {
    pins: Vec<Pin>,
    /// Folders that manifests name.
    paths: Vec<PathBuf>,
    /// Manifests that have been read.
    seen: BTreeSet<PathBuf>,
}

impl Found {
    fn read(&mut self, folder: &Path) {
        // Several paths may lead to one.
        let Ok(manifest) = folder.join("Cargo.toml").canonicalize() else { return };
        if !self.seen.contains(&manifest)
            && let Ok(read) = table(&manifest)
        {
            self.add(&read, &manifest);
            self.seen.insert(manifest);
        }
    }

    /// Looks into each table of dependencies: of the package, its tests, its build, targets and the workspace.
    fn add(&mut self, table: &toml::Table, manifest: &Path) {
        for (name, value) in table {
            let Some(inner) = value.as_table() else { continue };
            if name.ends_with("dependencies") {
                let named = inner.iter().filter_map(|(name, value)| pin(name, value, manifest));
                self.pins.extend(named);
                let paths = inner.values().filter_map(|it| it.get("path")?.as_str());
                self.paths.extend(paths.map(|it| manifest.with_file_name(it)));
            } else if name != "patch" {
                self.add(inner, manifest);
            }
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
