//! The files that programs were added from, and whether their sources are newer.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use selkie_isa::input;
use solana_pubkey::Pubkey;

/// The file of each program that was added by path.
pub(crate) type Origins = BTreeMap<Pubkey, PathBuf>;

/// Limits of the search for sources: depth of folders and number of files.
const DEPTH_MAX: usize = 6;
const FILES_MAX: usize = 10_000;

/// Folders without packages of a project.
const SKIPPED: &[&str] = &["target", "node_modules"];

/// Folders without sources of a program. There may be packages in them.
const OTHERS: &[&str] = &["tests", "benches", "examples"];

/// Extensions of source files.
const EXTENSIONS: &[&str] = &["rs", "c", "h", "s", "S", "asm", "inc"];

/// Returns a note if a program is older than one of its sources. Applies to files below a `target`
/// folder; sources are those of the package with the program's name, or else of the whole project.
pub(crate) fn staleness(program: &Path) -> Option<String> {
    let built = fs::metadata(program).and_then(|it| it.modified()).ok()?;
    let project = project(program)?;
    let stem = program.file_stem()?.to_str()?;
    let folder = package(&project, stem).unwrap_or(project);
    let (source, changed) = newest(&folder)?;
    (changed > built).then(|| {
        format!("{} is older than {}: rebuild the program", program.display(), source.display())
    })
}

/// Returns the folder that contains `target`.
fn project(program: &Path) -> Option<PathBuf> {
    let program = std::path::absolute(program).ok()?;
    let target = program.ancestors().find(|it| it.file_name().is_some_and(|it| it == "target"))?;
    target.parent().map(Path::to_owned)
}

/// Returns the folder of the package with this name.
fn package(project: &Path, stem: &str) -> Option<PathBuf> {
    let is_it = |manifest: &&PathBuf| {
        let is_manifest = manifest.file_name().is_some_and(|name| name == "Cargo.toml");
        let text = is_manifest.then(|| input::text(manifest, input::TEXT_BYTES_MAX).ok()).flatten();
        text.is_some_and(|text| names(&text).any(|name| name == stem))
    };
    let files = files(project, &[]);
    files.iter().find(is_it).and_then(|manifest| manifest.parent()).map(Path::to_owned)
}

/// Returns the names in a manifest, as file stems.
fn names(manifest: &str) -> impl Iterator<Item = String> {
    manifest.lines().filter_map(|line| {
        let value = line.trim().strip_prefix("name")?.trim_start().strip_prefix('=')?;
        Some(value.trim().trim_matches('"').replace('-', "_"))
    })
}

/// Returns the most recently modified source file.
fn newest(folder: &Path) -> Option<(PathBuf, SystemTime)> {
    let is_source = |file: &PathBuf| {
        let extension = file.extension().and_then(|it| it.to_str());
        extension.is_some_and(|it| EXTENSIONS.contains(&it))
    };
    let sources = files(folder, OTHERS).into_iter().filter(is_source);
    let changed = |file: PathBuf| {
        let changed = fs::metadata(&file).and_then(|it| it.modified()).ok()?;
        Some((file, changed))
    };
    sources.filter_map(changed).max_by(|left, right| left.1.cmp(&right.1))
}

/// Lists the files below a folder, sorted by name within each folder; without those of folders that are skipped
/// always, or by these names.
fn files(folder: &Path, skipped: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.map(|entry| (entry.path(), entry.file_type())).collect();
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        for (path, kind) in entries {
            let Ok(kind) = kind else { continue };
            if kind.is_file() && found.len() < FILES_MAX {
                found.push(path);
            } else if kind.is_dir() && depth < DEPTH_MAX && !is_skipped(&path, skipped) {
                folders.push((path, depth.saturating_add(1)));
            }
        }
    }
    found
}

fn is_skipped(folder: &Path, skipped: &[&str]) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with('.') || SKIPPED.contains(&name) || skipped.contains(&name)
}
