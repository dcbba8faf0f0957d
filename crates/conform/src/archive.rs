//! Archives of fixtures, and lookup of the files in them that vectors name.

use std::{
    collections::HashMap,
    fs, io,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Missing,
    files::{self, archive_name},
    unpack::unpack,
};

/// The files of archives by path.
type Files = HashMap<String, Arc<[u8]>>;

/// The fixtures in a folder, as files or in archives.
#[derive(Debug, Default)]
pub(crate) struct Fixtures {
    folder: PathBuf,
    /// The files of the archives opened so far, by the first component of the paths in them.
    opened: Mutex<HashMap<String, Arc<Files>>>,
}

impl Fixtures {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Returns the fixture at a path, from a file or from an archive whose name ends with the first
    /// component of the path: `firedancer-2024-12-elf_loader.tar.zst` for
    /// `elf_loader/fixtures/a.fix`.
    ///
    /// # Errors
    /// If the fixture is missing: the reason to skip the vector.
    pub(crate) fn get(&self, path: &str) -> Result<Arc<[u8]>, Missing> {
        let parts: Option<Vec<_>> = Path::new(path).components().map(plain).collect();
        let missing = || Missing::Fixture(path.to_owned());
        let group = *parts.as_ref().and_then(|parts| parts.first()).ok_or_else(missing)?;
        if let Ok(bytes) = files::read(&self.folder.join(path)) {
            return Ok(bytes.into());
        }
        self.archived(group)?.get(path).cloned().ok_or_else(missing)
    }

    /// Returns a file from the archives whose names end with `archives`.
    ///
    /// # Errors
    /// If the file is missing: the reason to skip the vector.
    pub(crate) fn packed(&self, archives: &str, path: &str) -> Result<Arc<[u8]>, Missing> {
        let file = self.archived(archives)?.get(path).cloned();
        file.ok_or_else(|| Missing::Packed { path: path.to_owned(), archives: archives.to_owned() })
    }

    fn archived(&self, group: &str) -> Result<Arc<Files>, Missing> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = opened.get(group) {
            return Ok(Arc::clone(files));
        }
        let files = Arc::new(open_archives(&self.folder, group).map_err(Missing::Archive)?);
        opened.insert(group.to_owned(), Arc::clone(&files));
        Ok(files)
    }
}

/// Returns a path component that is a plain name, not `..` or a root.
fn plain(part: Component<'_>) -> Option<&str> {
    match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    }
}

fn open_archives(folder: &Path, group: &str) -> io::Result<Files> {
    let mut files = Files::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if archive_name(&path).is_some_and(|name| name.ends_with(group)) {
            files.extend(open(&path)?);
        }
    }
    Ok(files)
}

/// Returns the paths and contents of the files in an archive, in its order.
pub(crate) fn open(path: &Path) -> io::Result<Vec<(String, Arc<[u8]>)>> {
    let content = unpack(files::read(path)?)?;
    let mut archive = tar::Archive::new(content.as_slice());
    let mut files = Vec::new();
    for file in archive.entries()? {
        let mut file = file?;
        if file.header().entry_type().is_file() {
            // Some archivers put `./` before every path.
            let name = file.path()?.components().filter_map(plain).collect::<PathBuf>();
            let name = name.to_string_lossy().into_owned();
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut file, &mut bytes)?;
            files.push((name, bytes.into()));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_outside_of_the_folder_are_not_found() {
        for path in ["../a.fix", "/etc/hostname", "", "a/../../b"] {
            assert!(matches!(Fixtures::default().get(path), Err(Missing::Fixture(_))), "{path}");
        }
    }
}
