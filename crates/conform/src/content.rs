//! What a file of vectors holds: vectors, one a line, or fixtures.

use std::{collections::BTreeSet, fs, io, path::Path, sync::Arc};

use serde::Deserialize;

use crate::{archive, files, unpack::unpack};

/// The endings of names of files with a vector a line.
const LINES: [&str; 2] = [".jsonl", ".jsonl.zst"];
/// The ending of fixtures' names.
const FIXTURE: &str = ".fix";

/// What a file holds.
pub(crate) enum Content {
    Lines(Vec<u8>),
    Fixtures(Vec<(String, Arc<[u8]>)>),
}

/// A vector or a fixture.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    /// Its line, or its place among the fixtures; from 1.
    pub(crate) place: usize,
    pub(crate) bytes: &'a [u8],
    /// The path of a fixture. Vectors have their name inside.
    pub(crate) path: Option<&'a str>,
}

/// Whether a file may hold vectors or fixtures, by its name.
pub(crate) fn is_content(path: &Path) -> bool {
    is_lines(path) || is_fixture(path) || archive::group_of(path).is_some()
}

fn ends_with_any(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    endings.iter().any(|ending| name.ends_with(ending))
}

fn is_lines(path: &Path) -> bool {
    ends_with_any(path, &LINES)
}

fn is_fixture(path: &Path) -> bool {
    ends_with_any(path, &[FIXTURE])
}

impl Content {
    /// Reads a file. Of an archive's fixtures those are left out that a vector beside it names:
    /// that vector has what holds today, and is where the fixture is judged.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        if archive::group_of(path).is_some() {
            let mut fixtures = archive::open(path)?;
            fixtures.retain(|(name, _)| name.ends_with(FIXTURE));
            if !fixtures.is_empty() {
                let named = named_beside(path)?;
                fixtures.retain(|(name, _)| !named.contains(name));
            }
            Ok(Self::Fixtures(fixtures))
        } else if is_fixture(path) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Self::Fixtures(vec![(name, files::read(path)?.into())]))
        } else {
            files::read(path).and_then(unpack).map(Self::Lines)
        }
    }

    /// What the file holds, in order.
    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        match self {
            Self::Lines(bytes) => {
                let lines = (1..).zip(bytes.split(|&byte| byte == b'\n'));
                let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
                lines.map(|(place, bytes)| Item { place, bytes, path: None }).collect()
            }
            Self::Fixtures(fixtures) => {
                let fixtures = (1..).zip(fixtures);
                let item = |place, path, bytes| Item { place, bytes, path: Some(path) };
                fixtures
                    .map(|(place, (path, bytes))| item(place, path.as_str(), &**bytes))
                    .collect()
            }
        }
    }
}

/// The fixtures that vectors in the folder of this file name.
fn named_beside(path: &Path) -> io::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Line {
        fixture: String,
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut named = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if is_lines(&path) {
            let lines = files::read(&path).and_then(unpack)?;
            let lines = lines.split(|&byte| byte == b'\n');
            // The first line tells whether a file is about fixtures at all.
            let lines = lines.map_while(|line| serde_json::from_slice::<Line>(line).ok());
            named.extend(lines.map(|line| line.fixture));
        }
    }
    Ok(named)
}
