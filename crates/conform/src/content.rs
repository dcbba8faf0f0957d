//! What is to be judged: vectors, one a line, or fixtures.

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    archive, files,
    plan::{By, Named, Unit},
    unpack::unpack,
};

/// The endings of names of files with a vector a line.
const LINES: [&str; 2] = [".jsonl", ".jsonl.zst"];
/// The ending of fixtures' names.
const FIXTURE: &str = ".fix";

/// What a file or a folder of fixtures holds.
pub(crate) struct Content {
    held: Held,
    /// Fixtures that are judged where vectors of this run name them.
    pub(crate) judged_by_vectors: usize,
    /// Fixtures that vectors beside them name, by the file of these vectors.
    pub(crate) left_out: Vec<String>,
}

enum Held {
    Lines(Vec<u8>),
    Packed(Vec<(String, Arc<[u8]>)>),
    Files(Vec<PathBuf>),
}

/// A vector or a fixture.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    /// Its line, or its place among the fixtures; from 1.
    pub(crate) place: usize,
    source: Source<'a>,
    /// The path of a fixture. Vectors have their name inside.
    pub(crate) path: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Bytes(&'a [u8]),
    /// A file is read when it is judged, so that a folder of them takes no memory.
    File(&'a Path),
}

impl Item<'_> {
    pub(crate) fn bytes(&self) -> io::Result<Cow<'_, [u8]>> {
        match self.source {
            Source::Bytes(bytes) => Ok(bytes.into()),
            Source::File(path) => files::read(path).map(Cow::Owned),
        }
    }
}

/// Whether a file may hold vectors or fixtures, by its name.
pub(crate) fn is_content(path: &Path) -> bool {
    is_lines(path) || is_fixture(path) || archive::group_of(path).is_some()
}

fn ends_with_any(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether a file has a vector a line, by its name.
pub(crate) fn is_lines(path: &Path) -> bool {
    ends_with_any(path, &LINES)
}

/// Whether a file is a fixture, by its name.
pub(crate) fn is_fixture(path: &Path) -> bool {
    ends_with_any(path, &[FIXTURE])
}

impl Content {
    /// Reads what is to be judged of a file or a folder.
    pub(crate) fn read(unit: &Unit, named: &Named) -> io::Result<Self> {
        let held = match unit {
            Unit::Fixtures(_, files) => Held::Files(files.clone()),
            Unit::File(path) if archive::group_of(path).is_some() => {
                let mut fixtures = archive::open(path)?;
                fixtures.retain(|(name, _)| name.ends_with(FIXTURE));
                Held::Packed(fixtures)
            }
            Unit::File(path) if is_fixture(path) => Held::Files(vec![path.clone()]),
            Unit::File(path) => Held::Lines(files::read(path).and_then(unpack)?),
        };
        let mut content = Self { held, judged_by_vectors: 0, left_out: Vec::new() };
        content.leave_out(files::folder_of(unit.path()), named);
        Ok(content)
    }

    /// Leaves out what vectors name.
    fn leave_out(&mut self, folder: &Path, named: &Named) {
        let mut stays = |by: Option<&By>| {
            match by {
                None => return true,
                Some(By::ThisRun) => self.judged_by_vectors += 1,
                Some(By::Other(file)) => self.left_out.push(file.clone()),
            }
            false
        };
        match &mut self.held {
            Held::Lines(_) => {}
            Held::Packed(fixtures) => fixtures.retain(|(name, _)| stays(named.by(folder, name))),
            Held::Files(files) => {
                files.retain(|path| stays(named.by(files::folder_of(path), &name_of(path))));
            }
        }
    }

    /// What the file holds, in order.
    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        match &self.held {
            Held::Lines(bytes) => {
                let lines = (1..).zip(bytes.split(|&byte| byte == b'\n'));
                let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
                let item = |(place, line)| Item { place, source: Source::Bytes(line), path: None };
                lines.map(item).collect()
            }
            Held::Packed(fixtures) => {
                let fixtures = (1..).zip(fixtures).map(|(place, (path, bytes))| {
                    let (source, path) = (Source::Bytes(bytes), Some(path.as_str().into()));
                    Item { place, source, path }
                });
                fixtures.collect()
            }
            Held::Files(files) => {
                let fixtures = (1..).zip(files).map(|(place, path)| {
                    let (source, path) = (Source::File(path), Some(name_of(path)));
                    Item { place, source, path }
                });
                fixtures.collect()
            }
        }
    }
}

fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}
