//! Firedancer's fixtures: protobuf messages in files, or in archives beside the vectors that name
//! them. What a fixture records of its own time is not compared; the vector has what holds today.

use std::{
    collections::HashMap,
    fs, io,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use crate::{files, kinds::is, unpack::unpack};

/// The content of archives, by path.
type Files = HashMap<String, Arc<[u8]>>;

/// The fixtures in a folder, packed or not.
#[derive(Debug, Default)]
pub(crate) struct Fixtures {
    folder: PathBuf,
    /// What the archives have that were opened so far, by the first part of the paths in them.
    opened: Mutex<HashMap<String, Arc<Files>>>,
}

impl Fixtures {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, ..Self::default() }
    }

    /// A fixture: a file under that path, or in an archive that is named after the path's first
    /// part, as `firedancer-2024-12-elf_loader.tar.zst` is for `elf_loader/fixtures/a.fix`.
    ///
    /// # Errors
    /// If it is not there: a reason to skip the vector.
    pub(crate) fn get(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let parts: Option<Vec<_>> = Path::new(path).components().map(plain).collect();
        let missing = || format!("fixture {path} is not beside the vectors");
        let group = *parts.as_ref().and_then(|parts| parts.first()).ok_or_else(missing)?;
        if let Ok(bytes) = files::read(&self.folder.join(path)) {
            return Ok(bytes.into());
        }
        self.archived(group)?.get(path).cloned().ok_or_else(missing)
    }

    /// A file in the archives whose names end like this.
    ///
    /// # Errors
    /// If it is not there: a reason to skip the vector.
    pub(crate) fn packed(&self, archives: &str, path: &str) -> Result<Arc<[u8]>, String> {
        let found = self.archived(archives)?.get(path).cloned();
        found.ok_or_else(|| format!("{path} is not in {archives}.tar.zst beside the vectors"))
    }

    fn archived(&self, group: &str) -> Result<Arc<Files>, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = opened.get(group) {
            return Ok(Arc::clone(files));
        }
        let files = Arc::new(open_archives(&self.folder, group).map_err(|it| it.to_string())?);
        opened.insert(group.to_owned(), Arc::clone(&files));
        Ok(files)
    }
}

/// A part of a path that leads down, and nowhere else.
fn plain(part: Component<'_>) -> Option<&str> {
    match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    }
}

fn open_archives(folder: &Path, group: &str) -> io::Result<Files> {
    let endings = [format!("{group}.tar"), format!("{group}.tar.zst")];
    let mut files = Files::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if endings.iter().any(|ending| name.ends_with(ending.as_str())) {
            let content = unpack(files::read(&path)?)?;
            let mut archive = tar::Archive::new(content.as_slice());
            for file in archive.entries()? {
                let mut file = file?;
                let name = file.path()?.to_string_lossy().into_owned();
                let mut bytes = Vec::new();
                io::Read::read_to_end(&mut file, &mut bytes)?;
                files.insert(name, bytes.into());
            }
        }
    }
    Ok(files)
}

/// Whether a line expects something of an ELF loader's fixture.
#[must_use]
pub fn is_elf_loader(line: &Value) -> bool {
    let path = line.get("fixture").and_then(Value::as_str);
    let is_there = |field| line.get(field).is_some();
    let is_named =
        is(line, "fd_elf_loader") || path.is_some_and(|it| it.starts_with("elf_loader/"));
    path.is_some() && is_named && is_there("exp") && is_there("profile")
}

/// The program file of an ELF loader's fixture (protosol of December 2024: `ELFLoaderFixture`).
pub(crate) fn elf(fixture: &[u8]) -> Result<Vec<u8>, String> {
    /// `input`, the `elf` of it, and the `data` of that.
    const PATH: [u64; 3] = [2, 1, 1];
    let elf = PATH.iter().try_fold(fixture, |message, field| bytes_field(message, *field));
    elf.map(<[u8]>::to_vec).ok_or_else(|| "the fixture is no protobuf message".to_owned())
}

/// The last of a message's fields with this number; nothing if it has none, as protobuf leaves
/// out what is empty. `None` if it is no message.
fn bytes_field(mut message: &[u8], number: u64) -> Option<&[u8]> {
    let mut found: &[u8] = &[];
    while !message.is_empty() {
        let key = varint(&mut message)?;
        let len = match key & 7 {
            0 => varint(&mut message).map(|_| 0)?,
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (value, rest) = message.split_at_checked(len)?;
        if key == number << 3 | 2 {
            found = value;
        }
        message = rest;
    }
    Some(found)
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{1: {1: "x"}, 2: {3: 300, 1: {1: "old"}, 4: 8 bytes, 1: {1: "elf"}, 5: 4 bytes}}`
    const FIXTURE: &[u8] = b"\x0a\x03\x0a\x01x\x12\x1f\x18\xac\x02\x0a\x05\x0a\x03old\
        \x21\x08\0\0\0\0\0\0\0\x0a\x05\x0a\x03elf\x2d\x04\0\0\0";

    #[test]
    fn the_last_field_of_a_number_counts() {
        assert_eq!(elf(FIXTURE).as_deref(), Ok(&b"elf"[..]));
        assert_eq!(elf(b"").as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn cut_messages_are_none() {
        for len in 6..FIXTURE.len() {
            assert!(elf(&FIXTURE[..len]).is_err(), "cut at {len}");
        }
        for bad in [&b"\x0b"[..], &[0xff; 11], b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"] {
            assert!(elf(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn paths_lead_down() {
        for path in ["../a.fix", "/etc/hostname", "", "a/../../b"] {
            assert!(Fixtures::default().get(path).unwrap_err().contains("not beside"), "{path}");
        }
    }
}
