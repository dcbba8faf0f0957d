//! What a path that is no program may stand for.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::suggest::nearest;

/// Where programs are built, within a project.
const DEPLOY: &str = "target/deploy";
/// The extension of programs.
const PROGRAM: &str = "so";
/// The files of a folder that are looked at, and those that a sentence lists.
const FILES_MAX: usize = 4096;
const LISTED_MAX: usize = 4;

/// Returns what to do about a path that cannot be read: the files with similar names, and of a folder the
/// programs in it. `None` if there is nothing like it.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let folder = std::env::temp_dir().join(format!("selkie-path-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("counter.so"), "")?;
/// let hint = selkie::path_hint(&folder.join("couter.so"));
/// assert_eq!(hint, Some(format!("did you mean {}?", folder.join("counter.so").display())));
/// # std::fs::remove_dir_all(folder)
/// # }
/// ```
#[must_use]
pub fn path_hint(path: &Path) -> Option<String> {
    if path.is_dir() {
        return Some(match programs_in(path).as_slice() {
            [] if path.join("Cargo.toml").is_file() => {
                let folder = path.display();
                format!("it is a project without a program: `selkie build {folder}` builds it")
            }
            [] => "it is a folder; name a program in it".to_owned(),
            programs => {
                let shown = programs.iter().take(LISTED_MAX).map(|it| it.display().to_string());
                let more = programs.len().saturating_sub(LISTED_MAX);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!(
                    "it is a folder; its programs: {}{more}",
                    shown.collect::<Vec<_>>().join(", ")
                )
            }
        });
    }
    meant(path).map(|it| format!("did you mean {}?", it.display()))
}

/// Lists the programs in a folder, or else those that are built in it.
fn programs_in(folder: &Path) -> Vec<PathBuf> {
    let is_program = |it: &PathBuf| it.extension().is_some_and(|it| it == PROGRAM) && it.is_file();
    let all = [folder.to_owned(), folder.join(DEPLOY)].map(|it| files(&it));
    let mut all = all.into_iter().map(|it| it.into_iter().filter(is_program).collect::<Vec<_>>());
    all.find(|it| !it.is_empty()).unwrap_or_default()
}

/// Returns the file that a path without one means: that of the same name where programs are built, or
/// the one beside it with the most similar name.
fn meant(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let program = Path::new(name).with_extension(PROGRAM);
    let built = Path::new(DEPLOY).join(&program);
    let exact = [path.with_extension(PROGRAM), folder.unwrap_or(Path::new("")).join(built)];
    let has_other_extension = path.extension().is_some_and(|it| it != PROGRAM);
    if let Some(exact) = exact.into_iter().find(|it| !has_other_extension && it.is_file()) {
        return Some(exact);
    }
    let beside = files(folder.unwrap_or(Path::new(".")));
    let names = beside.iter().filter_map(|it| it.file_name()?.to_str());
    let found = nearest(name, names)?;
    Some(folder.map_or_else(|| PathBuf::from(found), |folder| folder.join(found)))
}

/// Lists the entries of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(FILES_MAX);
    let mut paths: Vec<PathBuf> = entries.map(|it| it.path()).collect();
    paths.sort_unstable();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_a_file_stand_for_similar_ones() {
        let folder = std::env::temp_dir().join(format!("selkie-paths-{}", std::process::id()));
        let deploy = folder.join(DEPLOY);
        fs::create_dir_all(&deploy).expect("the folder can be created");
        for name in ["counter.so", "vault.so", "counter-keypair.json"] {
            fs::write(deploy.join(name), "").expect("the file can be written");
        }
        let hint = |path: &Path| path_hint(path).unwrap_or_default();
        let counter = format!("did you mean {}?", deploy.join("counter.so").display());
        assert_eq!(hint(&deploy.join("coutner.so")), counter);
        assert_eq!(hint(&folder.join("counter.so")), counter);
        assert_eq!(hint(&folder.join("counter")), counter);
        assert_eq!(hint(&deploy.join("counter")), counter);
        assert_eq!(hint(&deploy.join("nothing.so")), "");
        let programs = ["counter.so", "vault.so"].map(|it| deploy.join(it).display().to_string());
        let listed = format!("it is a folder; its programs: {}", programs.join(", "));
        assert_eq!((hint(&folder), hint(&deploy)), (listed.clone(), listed));
        let project = folder.join("project");
        fs::create_dir_all(&project).expect("the folder can be created");
        fs::write(project.join("Cargo.toml"), "").expect("the file can be written");
        assert!(hint(&project).contains("`selkie build "), "{}", hint(&project));
        fs::remove_dir_all(&folder).expect("the folder can be removed");
        assert_eq!(hint(&folder.join("counter.so")), "");
    }
}
