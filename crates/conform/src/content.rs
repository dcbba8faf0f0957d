//! The content of a file or folder: vectors, one per line, or fixtures.

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    archive,
    files::{self, archive_name, is_fixture},
    plan::{By, Named, Unit},
    unpack::unpack,
};

/// The vectors or fixtures of a file or folder.
pub(crate) struct Content {
    payload: Payload,
    /// The number of fixtures that are judged by vectors of this run, which name them.
    pub(crate) judged_by_vectors: usize,
    /// For each fixture that a vector outside of this run names: the file of that vector.
    pub(crate) left_out: Vec<String>,
}

enum Payload {
    Lines(Vec<u8>),
    Packed(Vec<(String, Arc<[u8]>)>),
    Files(Vec<PathBuf>),
}

/// A vector or a fixture.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    /// The line of a vector, or the position of a fixture; from 1.
    pub(crate) number: usize,
    source: Source<'a>,
    /// The path of a fixture; `None` for a vector, which contains its name.
    pub(crate) path: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Bytes(&'a [u8]),
    /// A file, which is read only when it is judged, to save memory.
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

impl Content {
    /// Reads the vectors or fixtures of a file or folder.
    pub(crate) fn read(unit: &Unit, named: &Named) -> io::Result<Self> {
        let payload = match unit {
            Unit::Fixtures(_, files) => Payload::Files(files.clone()),
            Unit::File(path) if archive_name(path).is_some() => {
                let mut fixtures = archive::open(path)?;
                fixtures.retain(|(name, _)| is_fixture(Path::new(name)));
                Payload::Packed(fixtures)
            }
            Unit::File(path) if is_fixture(path) => Payload::Files(vec![path.clone()]),
            Unit::File(path) => Payload::Lines(files::read(path).and_then(unpack)?),
        };
        let mut content = Self { payload, judged_by_vectors: 0, left_out: Vec::new() };
        content.leave_out(files::folder_of(unit.path()), named);
        Ok(content)
    }

    /// Removes the fixtures that vectors name.
    fn leave_out(&mut self, folder: &Path, named: &Named) {
        let mut stays = |by: Option<&By>| {
            match by {
                None => return true,
                Some(By::ThisRun) => self.judged_by_vectors += 1,
                Some(By::Other(file)) => self.left_out.push(file.clone()),
            }
            false
        };
        match &mut self.payload {
            Payload::Lines(_) => {}
            Payload::Packed(fixtures) => fixtures.retain(|(name, _)| stays(named.by(folder, name))),
            Payload::Files(files) => {
                files.retain(|path| stays(named.by(files::folder_of(path), &name_of(path))));
            }
        }
    }

    /// Returns the vectors or fixtures, in order.
    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        match &self.payload {
            Payload::Lines(bytes) => {
                let lines = (1..).zip(bytes.split(|&byte| byte == b'\n'));
                let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
                let item =
                    |(number, line)| Item { number, source: Source::Bytes(line), path: None };
                lines.map(item).collect()
            }
            Payload::Packed(fixtures) => {
                let fixtures = (1..).zip(fixtures).map(|(number, (path, bytes))| {
                    let (source, path) = (Source::Bytes(bytes), Some(path.as_str().into()));
                    Item { number, source, path }
                });
                fixtures.collect()
            }
            Payload::Files(files) => {
                let fixtures = (1..).zip(files).map(|(number, path)| {
                    let (source, path) = (Source::File(path), Some(name_of(path)));
                    Item { number, source, path }
                });
                fixtures.collect()
            }
        }
    }
}

fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}
