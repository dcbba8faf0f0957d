//! Where debug information of programs is looked for.
//!
//! Invariant: this is the only list of those places, whatever command or library looks. A file is a
//! program's if it has the same code, whatever its name, so that a folder too many does no harm.
//!
//! 1. The `.so.debug` file beside the program.
//! 2. `deploy` of cargo's target folder, where `selkie build` and `cargo build-sbf` put programs:
//!    the one that `CARGO_TARGET_DIR` or cargo's configuration names, and `target` of the current
//!    folder and of those above it, so that a member of a workspace finds the workspace's. In a test,
//!    also the target folder that the test was built in, which `--target-dir` may have named.
//! 3. The current folder.
//! 4. Where `selkie build` has written a program with the same code to another folder that was named: its
//!    folder of caches says where, under a hash of the code.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use selkie_elf::Sections;
use selkie_isa::{input, symbol::murmur3};

use crate::code;

/// A file with the debug information of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it contains: an ELF file with the program's code.
    pub bytes: Vec<u8>,
}

/// The variables that name cargo's target folder, the decisive one first.
const VARIABLES: &[&str] = &["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];

/// The folder of programs in cargo's target folder.
const DEPLOY: &str = "deploy";

/// Returns the debug information of the program at a path: of a file beside it, or else in one of
/// [`debug_folders`] unless the program has some itself.
#[must_use]
pub fn debug_file(program: &Path, elf: &[u8]) -> Option<DebugFile> {
    let text = code(elf).filter(|it| !it.is_empty())?;
    let read = |path: &Path| {
        let bytes = input::read(path, input::FILE_BYTES_MAX).ok()?;
        // As it is in the files: the loader may refuse the one with debug information.
        let is_same = code(&bytes) == Some(text);
        is_same.then(|| DebugFile { path: path.to_owned(), bytes })
    };
    read(&program.with_extension("so.debug")).or_else(|| {
        if has_lines(elf) {
            return None;
        }
        let folders = debug_folders(Path::new(""));
        let files = folders.iter().flat_map(|folder| program_files(folder));
        // Without debug information, a file has nothing to add.
        let mut found = files.filter_map(|path| read(&path)).filter(|it| has_lines(&it.bytes));
        found.next().or_else(|| read(&built_elsewhere(elf)?))
    })
}

/// Returns the user's folder of Selkie's caches; `None` if there is no home folder.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the user's folders are in the environment")]
pub fn caches() -> Option<PathBuf> {
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    Some(caches.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("selkie"))
}

/// Where the paths of debug information are, in the folder of caches.
const BUILT: &str = "built";

/// How many programs are remembered.
const BUILT_MAX: usize = 256;

/// Remembers where the debug information of a program is that was written, for [`built_elsewhere`].
///
/// # Errors
/// If the folder of caches cannot be written.
pub fn remember_built(debug: &Path, elf: &[u8]) -> io::Result<()> {
    let Some(file) = remembered(elf) else { return Ok(()) };
    let Some(folder) = file.parent() else { return Ok(()) };
    fs::create_dir_all(folder)?;
    fs::write(&file, std::path::absolute(debug)?.as_os_str().as_encoded_bytes())?;
    keep_newest(folder, "", BUILT_MAX, u64::MAX)
}

/// Removes the oldest files of a folder whose names begin so, beyond a number and beyond so many bytes in
/// all. The newest one stays.
///
/// # Errors
/// If the folder cannot be read, or a file not removed.
pub fn keep_newest(folder: &Path, prefix: &str, count: usize, bytes_max: u64) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.flatten();
    let named = entries.filter(|it| it.file_name().to_string_lossy().starts_with(prefix));
    let dated = named.filter_map(|it| {
        let metadata = it.metadata().ok()?;
        Some((metadata.modified().ok()?, it.path(), metadata.len()))
    });
    let mut dated: Vec<_> = dated.collect();
    dated.sort_unstable_by(|left, right| right.cmp(left));
    let mut bytes = 0_u64;
    for (number, (_, path, len)) in dated.iter().enumerate() {
        bytes = bytes.saturating_add(*len);
        if number > 0 && (number >= count || bytes > bytes_max) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Returns where `selkie build` has written debug information of a program with this code last, in whatever
/// folder. The file may be another one by now.
#[must_use]
pub fn built_elsewhere(elf: &[u8]) -> Option<PathBuf> {
    let path = input::text(&remembered(elf)?, input::TEXT_BYTES_MAX).ok()?;
    Some(PathBuf::from(path)).filter(|it| it.is_file())
}

/// Returns the file that has the path for a program's code. A hash that two programs share does no harm:
/// the code in the file that it leads to is compared.
fn remembered(elf: &[u8]) -> Option<PathBuf> {
    let text = code(elf).filter(|it| !it.is_empty())?;
    let name = format!("{:08x}-{}", murmur3(text), text.len());
    Some(caches()?.join(BUILT).join(name))
}

/// Whether an ELF file has source lines of its code.
#[must_use]
pub fn has_lines(elf: &[u8]) -> bool {
    Sections::read(elf).get(".debug_line").is_some()
}

/// Lists the folders in which debug information is looked for, those that are there, when a command or
/// test runs in the folder `here`.
#[must_use]
pub fn debug_folders(here: &Path) -> Vec<PathBuf> {
    let deploys = target_folders(here).into_iter().map(|it| it.join(DEPLOY));
    distinct(deploys.chain([absolute(here)]))
}

/// Lists cargo's target folders, those that are there, when a command or test runs in the folder `here`:
/// those that variables and configuration name, that of the running test, and `target` of the folder and
/// of those above it.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "cargo's own variables")]
pub fn target_folders(here: &Path) -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let test = env::current_exe().ok().and_then(|it| target_of_test(&it));
    targets(here, &|name| env::var_os(name), home.as_deref(), test)
}

/// Lists the programs and debug files in a folder, by name: those that end in `.so` or `.debug`.
#[must_use]
pub fn program_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let endings = ["debug", "so"].map(OsStr::new);
    files.retain(|path| path.extension().is_some_and(|it| endings.contains(&it)));
    files.sort_unstable();
    files
}

fn targets(
    here: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
    home: Option<&Path>,
    test: Option<PathBuf>,
) -> Vec<PathBuf> {
    let whole = absolute(here);
    let named = VARIABLES.iter().filter_map(|name| variable(name)).filter(|it| !it.is_empty());
    let above = || whole.ancestors();
    let configured = above().filter_map(|it| configured_target(&it.join(".cargo"), it));
    let at_home = home.and_then(|home| configured_target(home, home.parent().unwrap_or(home)));
    let targets = named.map(|it| whole.join(it)).chain(configured).chain(at_home).chain(test);
    distinct(targets.chain(above().map(|it| it.join("target"))))
}

/// Returns the whole path of a folder; an empty one is the current folder.
fn absolute(here: &Path) -> PathBuf {
    let path = if here.as_os_str().is_empty() { Path::new(".") } else { here };
    std::path::absolute(path).unwrap_or_else(|_| here.to_owned())
}

/// Returns the folders that are there, each once.
fn distinct(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.filter(|it| it.is_dir()) {
        if !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}

/// Returns the target folder that cargo's configuration in a folder names, relative to `base`.
fn configured_target(folder: &Path, base: &Path) -> Option<PathBuf> {
    let files = ["config.toml", "config"].map(|name| folder.join(name));
    let text = files.iter().find_map(|file| input::text(file, input::TEXT_BYTES_MAX).ok())?;
    Some(base.join(target_dir(&text)?))
}

/// Returns the value of `build.target-dir` in a configuration.
fn target_dir(text: &str) -> Option<&str> {
    let mut table = "";
    text.lines().map(str::trim).find_map(|line| {
        if let Some(name) = line.strip_prefix('[') {
            table = name.split(']').next().unwrap_or_default().trim();
            return None;
        }
        let (key, value) = line.split_once('=')?;
        let is_it = match table {
            "" => key.trim() == "build.target-dir",
            "build" => key.trim() == "target-dir",
            _ => false,
        };
        let value = value.trim();
        let quote = value.chars().next().filter(|it| is_it && matches!(it, '"' | '\''))?;
        value.get(1..)?.split(quote).next()
    })
}

/// Returns the target folder that a test was built in: it is in `PROFILE/deps` of that.
fn target_of_test(program: &Path) -> Option<PathBuf> {
    let folder = program.parent().filter(|it| it.file_name() == Some(OsStr::new("deps")))?;
    Some(folder.parent()?.parent()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_files_are_kept_within_a_number_and_bytes() {
        let folder = env::temp_dir().join(format!("selkie-keep-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("it is writable");
        for (age, name) in ["a-1", "a-2", "a-3", "b-4"].into_iter().enumerate() {
            let path = folder.join(name);
            fs::write(&path, [0; 10]).expect("it is writable");
            let file = fs::File::options().append(true).open(path).expect("it was written");
            let time = std::time::SystemTime::UNIX_EPOCH
                + core::time::Duration::from_secs(1000 - 100 * age as u64);
            file.set_modified(time).expect("it was written");
        }
        let left = |count, bytes_max| {
            keep_newest(&folder, "a-", count, bytes_max).expect("it is writable");
            let names = fs::read_dir(&folder).expect("it is there").flatten();
            let mut names: Vec<_> = names.map(|it| it.file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(left(2, 100), ["a-1", "a-2", "b-4"]);
        assert_eq!(left(2, 15), ["a-1", "b-4"]);
        assert_eq!(left(0, 0), ["a-1", "b-4"]);
        fs::remove_dir_all(&folder).expect("it was made here");
    }

    #[test]
    fn a_configuration_names_the_target_folder() {
        assert_eq!(target_dir("[build]\njobs = 2\ntarget-dir = \"out\" # here\n"), Some("out"));
        assert_eq!(target_dir("build.target-dir = 'out'\n[term]\n"), Some("out"));
        assert_eq!(target_dir("[profile.dev]\ntarget-dir = \"out\"\n"), None);
    }

    #[test]
    fn a_test_is_in_its_target_folder() {
        let target = |path| target_of_test(Path::new(path));
        assert_eq!(target("/out/debug/deps/vault-0123"), Some("/out".into()));
        assert_eq!(target("/usr/bin/selkie"), None);
    }

    #[test]
    fn folders_of_programs_are_found_from_a_member_of_a_workspace() {
        let root = env::temp_dir().join(format!("selkie-debug-files-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let here = root.join("programs/vault");
        for folder in ["target/deploy", "named/deploy", "configured/deploy", ".cargo"] {
            fs::create_dir_all(root.join(folder)).expect("the target folder is writable");
        }
        fs::create_dir_all(&here).expect("the target folder is writable");
        let config = "[build]\ntarget-dir = \"configured\"\n";
        fs::write(root.join(".cargo/config.toml"), config).expect("the folder is writable");
        let named = |name: &str| (name == "CARGO_TARGET_DIR").then(|| "../../named".into());
        let found = targets(&here, &named, None, None);
        let through = here.join("../../named");
        assert_eq!(found[..3], [through, root.join("configured"), root.join("target")]);
        fs::remove_dir_all(&root).expect("it was made here");
    }
}
