//! Programs that were made ready to run, kept on disk from one process to the next.
//!
//! A [`DiskStore`] is a folder: a file for each program, and a secret. A program's file is known by
//! all that decides how the program is made ready: its ELF file, what it is loaded against, the
//! machines that it runs on, the build of Selkie and the processor. So nothing in the folder ever
//! goes stale; it only stops being asked for.
//!
//! **What is run was written here.** Every file is sealed with a keyed hash over its name and its
//! bytes. The key is drawn at random when the folder is made, and nobody but its owner can read it.
//! A file that was cut off, changed, or put in another one's place does not pass, and is as good as
//! not there: the program is made ready anew, and its file is written again. Who can read the
//! key can also write to this process; the seal keeps out everybody else, and every accident. So a
//! folder or a key that another user may have prepared is refused.
//!
//! Files are written beside their place and then moved there, so that processes can share a folder.

#![warn(clippy::arithmetic_side_effects)]

mod folder;
mod seal;

use std::{
    cell::RefCell,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use selkie_elf::{Environment, Syscalls};
use selkie_svm::program_cache::{ProgramStore, Stored, Wanted};
use selkie_vm::{MachineCode, Verified, frozen};

pub use crate::folder::{OpenError, Refusal};
use crate::{
    folder::Folder,
    seal::{Digest, Key},
};

/// How the files of this version end. Others are left alone.
const SUFFIX: &str = "program";
const KEY_FILE: &str = "key";
/// How files end that are being written.
const UNFINISHED: &str = ".unfinished";

/// How much memory a thread keeps to read files into.
const CONTENTS_KEPT: usize = 8 << 20;

/// Programs in a folder.
#[derive(Debug)]
pub struct DiskStore {
    folder: Folder,
    key: Key,
    /// The digest of what programs were last loaded against, which is long to tell.
    last: Mutex<Option<(Arc<Syscalls>, Digest)>>,
    counters: Counters,
}

#[derive(Default, Debug)]
struct Counters {
    found: AtomicU64,
    missing: AtomicU64,
    refused: AtomicU64,
    written: AtomicU64,
}

/// What a store has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StoreStatistics {
    /// Programs that were there.
    pub found: u64,
    /// Programs that were not.
    pub missing: u64,
    /// Files that were there, and were not what was written. They are among the missing ones.
    pub refused: u64,
    /// Programs that were written.
    pub written: u64,
}

/// A program's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredFile {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// When it was written.
    pub written: SystemTime,
    /// Whether it is what was written.
    pub is_sound: bool,
}

impl DiskStore {
    /// The store in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the folder or its secret cannot be read or made; on Unix also if one of them belongs to
    /// another user than the process, if others can write to the folder, or read the secret, or if
    /// one is a symbolic link: whoever can do that can have this process execute machine code.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let folder = Folder::open(folder.into())?;
        let key = open_key(&folder)?;
        Ok(Self { folder, key, last: Mutex::default(), counters: Counters::default() })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// What the store has done so far.
    #[must_use]
    pub fn statistics(&self) -> StoreStatistics {
        let [found, missing, refused, written] = [
            &self.counters.found,
            &self.counters.missing,
            &self.counters.refused,
            &self.counters.written,
        ]
        .map(|counter| counter.load(Ordering::Relaxed));
        StoreStatistics { found, missing, refused, written }
    }

    /// The files that are there, the oldest first; each is read and looked at.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn files(&self) -> io::Result<Vec<StoredFile>> {
        let mut files = Vec::new();
        for name in self.folder.names()? {
            if !is_programs(&name) {
                continue;
            }
            let mut file = self.folder.read(&name)?;
            let metadata = file.metadata()?;
            let (bytes, written) = (metadata.len(), metadata.modified()?);
            let mut contents = Vec::new();
            file.read_to_end(&mut contents)?;
            let is_sound = self.unseal(&name, &contents).is_some();
            files.push(StoredFile { name, bytes, written, is_sound });
        }
        files.sort_by(|left, right| (left.written, &left.name).cmp(&(right.written, &right.name)));
        Ok(files)
    }

    /// Deletes every program, and what processes that were killed have left; gives how many files
    /// that were.
    ///
    /// # Errors
    /// If one cannot be deleted.
    pub fn clear(&self) -> io::Result<usize> {
        let mut count: usize = 0;
        for name in self.folder.names()? {
            if is_programs(&name) || name.ends_with(UNFINISHED) {
                self.folder.remove(&name)?;
                count = count.saturating_add(1);
            }
        }
        Ok(count)
    }

    /// The name of a program's file.
    fn name(&self, wanted: &Wanted<'_>) -> String {
        let Wanted { elf, environment, config, options } = wanted;
        let mut hasher = self.key.hasher();
        hasher.put(frozen::BUILD.as_bytes());
        hasher.put(frozen::processor().as_bytes());
        hasher.put(&self.digest(environment));
        hasher.put(format!("{config:?}{options:?}").as_bytes());
        hasher.put(elf);
        let digest = hasher.finish();
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}.{SUFFIX}")
    }

    fn digest(&self, environment: &Environment) -> Digest {
        let Environment { syscalls, .. } = environment;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.as_ref().filter(|(known, _)| Arc::ptr_eq(known, syscalls));
        let names = known.map(|(_, digest)| *digest).unwrap_or_else(|| {
            let mut hasher = self.key.hasher();
            syscalls.names().for_each(|name| hasher.put(name.as_bytes()));
            hasher.finish()
        });
        *last = Some((Arc::clone(syscalls), names));
        drop(last);
        let rest = Environment { syscalls: Arc::default(), ..environment.clone() };
        let mut hasher = self.key.hasher();
        hasher.put(&names);
        hasher.put(format!("{rest:?}").as_bytes());
        hasher.finish()
    }

    /// What was sealed under a name: a frozen program, and machine code if there is any.
    fn unseal<'c>(&self, name: &str, contents: &'c [u8]) -> Option<(&'c [u8], Option<&'c [u8]>)> {
        let (seal, sealed) = contents.split_first_chunk::<{ size_of::<Digest>() }>()?;
        if self.seal(name, sealed) != *seal {
            return None;
        }
        let (len, rest) = sealed.split_first_chunk()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let (program, code) = rest.split_at_checked(len)?;
        Some((program, (!code.is_empty()).then_some(code)))
    }

    fn seal(&self, name: &str, sealed: &[u8]) -> Digest {
        let mut hasher = self.key.hasher();
        hasher.put(name.as_bytes());
        hasher.put(sealed);
        hasher.finish()
    }

    fn find(&self, wanted: &Wanted<'_>) -> Option<Stored> {
        thread_local! {
            /// Fresh memory for each file would cost more than reading it.
            static CONTENTS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let name = self.name(wanted);
        CONTENTS.with_borrow_mut(|contents| {
            contents.clear();
            contents.shrink_to(CONTENTS_KEPT);
            let mut file = self.folder.read(&name).ok()?;
            file.read_to_end(contents).ok()?;
            let stored = self.thaw(&name, contents, wanted);
            if stored.is_none() {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
            }
            stored
        })
    }

    fn thaw(&self, name: &str, contents: &[u8], wanted: &Wanted<'_>) -> Option<Stored> {
        let (program, code) = self.unseal(name, contents)?;
        let program = Verified::thaw(program, wanted.elf, &wanted.environment.syscalls).ok()?;
        let code = match code {
            Some(code) => Some(thaw_code(code, &program, wanted)?),
            None => None,
        };
        Some(Stored { program, code })
    }

    fn try_write(&self, name: &str, sealed: &[u8]) -> io::Result<()> {
        let mut contents = self.seal(name, sealed).to_vec();
        contents.extend(sealed);
        write_private(&self.folder, name, &contents)
    }
}

/// Machine code that was sealed.
#[allow(unsafe_code, reason = "machine code is executed as it is: the seal vouches for it")]
fn thaw_code(code: &[u8], program: &Verified, wanted: &Wanted<'_>) -> Option<MachineCode> {
    // SAFETY: the seal was checked: the bytes are what `MachineCode::freeze` gave a holder of the
    // key, which is this type alone, under the name that the file has. That name is a hash of the
    // build, the processor, the program's file and environment, and the options, and it is the name
    // that was made for what is wanted now.
    unsafe { MachineCode::thaw(code, program, wanted.config, wanted.options) }.ok()
}

impl ProgramStore for DiskStore {
    fn read(&self, wanted: &Wanted<'_>) -> Option<Stored> {
        let found = self.find(wanted);
        let Counters { found: hits, missing, .. } = &self.counters;
        let counter = if found.is_some() { hits } else { missing };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    fn write(&self, wanted: &Wanted<'_>, program: &Verified, code: Option<&MachineCode>) -> bool {
        let frozen = program.freeze(wanted.elf);
        let mut sealed = (frozen.len() as u64).to_le_bytes().to_vec();
        sealed.extend(frozen);
        sealed.extend(code.map(MachineCode::freeze).unwrap_or_default());
        let is_written = self.try_write(&self.name(wanted), &sealed).is_ok();
        self.counters.written.fetch_add(is_written.into(), Ordering::Relaxed);
        is_written
    }
}

fn is_programs(name: &str) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(|stem| stem.ends_with('.'))
}

/// The folder's secret, which is drawn if there is none.
fn open_key(folder: &Folder) -> Result<Key, OpenError> {
    let path = folder.path.join(KEY_FILE);
    loop {
        match folder.read(KEY_FILE) {
            Ok(file) => {
                folder.check_key(KEY_FILE, &file)?;
                let mut bytes = Vec::new();
                const LONGER: u64 = Key::BYTES as u64 + 1;
                let read = file.take(LONGER).read_to_end(&mut bytes);
                read.map_err(|error| OpenError::failed(&path, error))?;
                let no_key = || OpenError::refused(&path, Refusal::NoKey);
                return Key::from_bytes(&bytes).ok_or_else(no_key);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                draw_key(folder).map_err(|error| OpenError::failed(&path, error))?;
            }
            Err(_) if path.is_symlink() || path.exists() => {
                return Err(OpenError::refused(&path, Refusal::Kind));
            }
            Err(error) => return Err(OpenError::failed(&path, error)),
        }
    }
}

/// Puts a secret into a folder that has none. The first process to do so decides; others read it.
fn draw_key(folder: &Folder) -> io::Result<()> {
    let mut secret = [0; Key::BYTES];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let beside = write_beside(folder, &secret)?;
    let linked = folder.link(&beside, KEY_FILE);
    folder.remove(&beside)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Puts a file in its place, all at once.
fn write_private(folder: &Folder, name: &str, contents: &[u8]) -> io::Result<()> {
    let beside = write_beside(folder, contents)?;
    let renamed = folder.rename(&beside, name);
    if renamed.is_err() {
        let _ = folder.remove(&beside);
    }
    renamed
}

/// Writes a file under a name that cannot be foreseen, and gives that.
fn write_beside(folder: &Folder, contents: &[u8]) -> io::Result<String> {
    let mut number = [0; 16];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    let name = format!("{:032x}{UNFINISHED}", u128::from_le_bytes(number));
    let written = folder.create(&name)?.write_all(contents);
    if let Err(error) = written {
        let _ = folder.remove(&name);
        return Err(error);
    }
    Ok(name)
}
