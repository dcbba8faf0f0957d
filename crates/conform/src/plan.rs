//! The files and folders of a run, and the fixtures that vectors of the run judge.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{
    files::{self, is_content, is_fixture, is_lines},
    unpack::{first_line, unpack},
};

/// A file or folder with a report of its own.
#[derive(Debug)]
pub(crate) enum Unit {
    /// A file of vectors, a fixture, or an archive of fixtures.
    File(PathBuf),
    /// A folder and the fixtures directly in it.
    Fixtures(PathBuf, Vec<PathBuf>),
}

impl Unit {
    /// Returns the path of the file or folder.
    pub(crate) fn path(&self) -> &Path {
        let (Self::File(path) | Self::Fixtures(path, _)) = self;
        path
    }
}

/// Returns the files and folders to judge at a path: the file itself, or all below a folder.
pub(crate) fn units(path: &Path) -> io::Result<Vec<Unit>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![Unit::File(path.to_owned())]);
    }
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let (mut units, mut fixtures) = (Vec::new(), Vec::new());
    for entry in entries {
        let (kind, file) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            units.extend(self::units(&file)?);
        } else if is_fixture(&file) {
            fixtures.push(file);
        } else if is_content(&file) {
            units.push(Unit::File(file));
        }
    }
    if !fixtures.is_empty() {
        units.push(Unit::Fixtures(path.to_owned(), fixtures));
    }
    Ok(units)
}

/// The fixtures that vectors name. Such a vector states the current result of the fixture, and
/// replaces the recorded one: the fixture itself is not judged.
#[derive(Debug, Default)]
pub(crate) struct Named(BTreeMap<PathBuf, By>);

/// The vector that names a fixture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// A vector of this run.
    ThisRun,
    /// A vector in the file of this name, which is not part of the run.
    Other(String),
}

impl Named {
    /// Searches the vectors of a run, and those beside its archives and fixtures.
    pub(crate) fn new(units: &[Unit]) -> Self {
        let (lines, others): (Vec<_>, Vec<_>) =
            units.iter().map(Unit::path).partition(|path| is_lines(path));
        let run: BTreeSet<PathBuf> = lines.iter().filter_map(|it| it.canonicalize().ok()).collect();
        let folders: BTreeSet<&Path> = others.into_iter().map(files::folder_of).collect();
        let beside = folders.into_iter().flat_map(lines_in).filter(|path| !run.contains(path));
        let mut named = Self::default();
        for path in beside {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            named.add(&path, &By::Other(name));
        }
        run.iter().for_each(|path| named.add(path, &By::ThisRun));
        named
    }

    fn add(&mut self, lines: &Path, by: &By) {
        // An unreadable file is reported when it is judged.
        let fixtures = fixtures_named_in(lines).unwrap_or_default();
        let folder = files::folder_of(lines);
        self.0.extend(fixtures.into_iter().map(|fixture| (folder.join(fixture), by.clone())));
    }

    /// Returns the vector that names the fixture at a path in `folder`.
    pub(crate) fn by(&self, folder: &Path, fixture: &str) -> Option<&By> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&folder.canonicalize().ok()?.join(fixture))
    }
}

/// Returns the vector files in a folder.
fn lines_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let lines = entries.map(|entry| entry.path()).filter(|path| is_lines(path));
    lines.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns the fixtures that the vectors of a file name. If the first vector names none, none does.
fn fixtures_named_in(path: &Path) -> io::Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Line {
        fixture: String,
    }
    let read = |line: &[u8]| serde_json::from_slice::<Line>(line).ok().map(|line| line.fixture);
    let file = files::read(path)?;
    if read(&first_line(&file)?).is_none() {
        return Ok(Vec::new());
    }
    Ok(unpack(file)?.split(|&byte| byte == b'\n').filter_map(read).collect())
}
