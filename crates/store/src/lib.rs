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
//! key can also write to this process; the seal keeps out everybody else, and every accident.
//!
//! Files are written beside their place and then moved there, so that processes can share a folder.

#![warn(clippy::arithmetic_side_effects)]

mod seal;

use std::{
    cell::RefCell,
    fs,
    io::{self, Read as _},
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

use crate::seal::{Digest, Key};

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
    folder: PathBuf,
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
    /// If the folder or its secret cannot be read or made.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        make_private_folder(&folder)?;
        let key = open_key(&folder)?;
        Ok(Self { folder, key, last: Mutex::default(), counters: Counters::default() })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
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
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_programs(&name) {
                continue;
            }
            let metadata = entry.metadata()?;
            let (bytes, written) = (metadata.len(), metadata.modified()?);
            let contents = fs::read(entry.path())?;
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
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_programs(&name) || name.ends_with(UNFINISHED) {
                fs::remove_file(entry.path())?;
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
            let mut file = fs::File::open(self.folder.join(&name)).ok()?;
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

fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The folder's secret, which is drawn if there is none.
fn open_key(folder: &Path) -> io::Result<Key> {
    let path = folder.join(KEY_FILE);
    loop {
        match fs::read(&path) {
            Ok(bytes) => {
                let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the key is no key");
                return Key::from_bytes(&bytes).ok_or_else(invalid);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut secret = [0; Key::BYTES];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        // The first process to have one decides; others read it.
        let beside = unused_name(folder);
        write_new(&beside, &secret)?;
        let linked = fs::hard_link(&beside, &path);
        fs::remove_file(&beside)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
}

/// Puts a file in its place, all at once.
fn write_private(folder: &Path, name: &str, contents: &[u8]) -> io::Result<()> {
    let beside = unused_name(folder);
    let written =
        write_new(&beside, contents).and_then(|()| fs::rename(&beside, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn unused_name(folder: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    folder.join(format!("{}.{number}{UNFINISHED}", std::process::id()))
}

fn write_new(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(path)?, contents)
}
