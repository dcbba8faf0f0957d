//! The names under which `selkie` stands for other tools: symbolic links in a folder of `PATH`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::failure::{Context as _, Failure, Result};

/// The names, in the order in which they are shown.
pub const NAMES: &[&str] =
    &["cargo-build-sbf", "cargo-test-sbf", "solana-test-validator", "surfpool"];

/// Makes the links, and returns their paths. Links to the same program stay; another file of such a name
/// is left as it is and is an error.
///
/// # Errors
///
/// If a name is taken, or a link cannot be made.
pub fn make(folder: &Path, program: &Path) -> Result<Vec<PathBuf>> {
    let paths: Vec<PathBuf> = paths(folder).collect();
    for path in &paths {
        let is_free = fs::symlink_metadata(path).is_err();
        if !is_free && !leads_to(path, program) {
            let help = "choose another folder, or remove that file";
            return Err(Failure::new(format!("{} exists", path.display())).with_help(help));
        }
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for path in &paths {
        if !leads_to(path, program) {
            link(program, path).with_context(|| format!("cannot make {}", path.display()))?;
        }
    }
    Ok(paths)
}

/// Removes the links to the program, and returns their paths. Everything else in the folder stays.
///
/// # Errors
///
/// If a link cannot be removed.
pub fn remove(folder: &Path, program: &Path) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for path in paths(folder).filter(|it| leads_to(it, program)) {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        removed.push(path);
    }
    Ok(removed)
}

fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let suffix = std::env::consts::EXE_SUFFIX;
    NAMES.iter().map(move |name| folder.join(format!("{name}{suffix}")))
}

/// Whether a path is a link that leads to the program.
fn leads_to(path: &Path, program: &Path) -> bool {
    let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    is_link && matches!((path.canonicalize(), program.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(unix)]
fn link(program: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(program, path)
}

#[cfg(windows)]
fn link(program: &Path, path: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_file(program, path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_are_made_and_taken_back() {
        let folder =
            std::env::temp_dir().join(format!("selkie-switch-links-{}", std::process::id()));
        let program = std::env::current_exe().unwrap();
        assert_eq!(make(&folder, &program).unwrap().len(), NAMES.len());
        assert_eq!(make(&folder, &program).unwrap().len(), NAMES.len());
        assert_eq!(remove(&folder, &program).unwrap().len(), NAMES.len());

        let own = folder.join("surfpool");
        fs::write(&own, "another tool").unwrap();
        assert_eq!(
            make(&folder, &program).unwrap_err().to_string(),
            format!("{} exists", own.display())
        );
        assert!(remove(&folder, &program).unwrap().is_empty());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
