//! Cargo's target folder.

use std::{
    env,
    path::{Path, PathBuf},
};

/// How many folders are searched above the current one.
const FOLDERS_MAX: usize = 4;

/// Returns cargo's target folders: the one that the running executable is in, and those of the current
/// folder, which is that of the package, and of the folders above it.
pub(crate) fn target_folders() -> impl Iterator<Item = PathBuf> {
    // Cargo marks its folder.
    let is_target = |it: &Path| it.join("CACHEDIR.TAG").is_file();
    let executable = env::current_exe().unwrap_or_default();
    let around = executable.ancestors().skip(1).find(|it| is_target(it)).map(Path::to_owned);
    let here = env::current_dir().unwrap_or_default();
    let above: Vec<PathBuf> =
        here.ancestors().take(FOLDERS_MAX).map(|it| it.join("target")).collect();
    around.into_iter().chain(above.into_iter().filter(|it| it.is_dir()))
}
