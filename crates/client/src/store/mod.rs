//! A disk cache of verified and compiled programs.
//!
//! A [`StoredPrograms`] is a folder with a file per program and a secret key. A file's name is a keyed
//! hash of everything its content depends on: the ELF file, the loader environment, the VM
//! configuration, the build of Selkie and the processor. So entries never become stale; they are
//! only no longer looked up.
//!
//! **Only files written by the key's owner are executed.** Each file is sealed with a keyed hash
//! over its name and content. The key is random, created with the folder, and readable by its owner
//! only. A file that was truncated, modified or renamed fails the check and counts as missing: the
//! program is prepared again and the file rewritten. A user who can read the key could modify this
//! process anyway; the seal protects against all others and against accidents. Hence a folder or
//! key that another user may have created is refused.
//!
//! Files are written under a temporary name and then renamed, so that several processes can share a
//! folder.

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

pub use self::folder::{OpenError, Refusal};
use self::{
    folder::Folder,
    seal::{Digest, Key},
};

/// Suffix of this version's program files. Other files are ignored.
const SUFFIX: &str = "program";
const KEY_FILE: &str = "key";
/// Suffix of temporary files.
const TEMPORARY_SUFFIX: &str = ".unfinished";

/// Capacity limit of the read buffer that each thread keeps, in bytes.
const BUFFER_BYTES_MAX: usize = 8 << 20;

/// A folder of verified and compiled programs.
#[derive(Debug)]
pub struct StoredPrograms {
    folder: Folder,
    key: Key,
    /// The digest of the syscalls that were used last, which is slow to compute.
    last_syscalls: Mutex<Option<(Arc<Syscalls>, Digest)>>,
    counters: Counters,
}

#[derive(Default, Debug)]
struct Counters {
    found: AtomicU64,
    missing: AtomicU64,
    refused: AtomicU64,
    written: AtomicU64,
}

/// Counters of a store since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StoreStatistics {
    /// Lookups that found the program.
    pub found: u64,
    /// Lookups that did not find the program.
    pub missing: u64,
    /// Lookups whose file failed the seal check; they are also counted in `missing`.
    pub refused: u64,
    /// Programs written.
    pub written: u64,
}

/// A program file in the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredFile {
    /// The file name.
    pub name: String,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The time of the last modification.
    pub written: SystemTime,
    /// Whether the seal check succeeds.
    pub is_sound: bool,
}

impl StoredPrograms {
    /// Opens the store in a folder, creating it if it does not exist.
    ///
    /// # Errors
    /// If the folder or its key cannot be read or created. On Unix also if one of them belongs to
    /// another user or is a symbolic link, if other users can write to the folder, or if they can
    /// read the key: such users could make this process execute their machine code.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let folder = Folder::open(folder.into())?;
        let key = open_key(&folder)?;
        Ok(Self { folder, key, last_syscalls: Mutex::default(), counters: Counters::default() })
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// Returns the counters of this store.
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

    /// Lists the program files, oldest first. Reads and checks each of them.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn files(&self) -> io::Result<Vec<StoredFile>> {
        let mut files = Vec::new();
        for name in self.folder.names()? {
            if !is_program_file(&name) {
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

    /// Deletes every program file and the temporary files of killed processes; returns the number
    /// of deleted files.
    ///
    /// # Errors
    /// If a file cannot be deleted.
    pub fn clear(&self) -> io::Result<usize> {
        let mut count: usize = 0;
        for name in self.folder.names()? {
            if is_program_file(&name) || name.ends_with(TEMPORARY_SUFFIX) {
                self.folder.remove(&name)?;
                count = count.saturating_add(1);
            }
        }
        Ok(count)
    }

    /// Returns the file name of a program.
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
        let mut last = self.last_syscalls.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Checks the seal of a file; returns the frozen program, and its machine code if there is any.
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
            /// Reuses one buffer per thread: allocating memory for each file takes longer than
            /// reading it.
            static CONTENTS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let name = self.name(wanted);
        CONTENTS.with_borrow_mut(|contents| {
            contents.clear();
            contents.shrink_to(BUFFER_BYTES_MAX);
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
        write_atomically(&self.folder, name, &contents)
    }
}

/// Restores machine code whose seal was checked.
#[allow(unsafe_code, reason = "machine code is executed as it is: the seal vouches for it")]
fn thaw_code(code: &[u8], program: &Verified, wanted: &Wanted<'_>) -> Option<MachineCode> {
    // SAFETY: the seal was checked, so these bytes are what `MachineCode::freeze` returned to a
    // holder of the key, i.e. to this type, sealed under this file name. The name is a hash of the
    // build, the processor, the program's ELF file and environment, and the options, and `wanted`
    // has just been hashed to the same name.
    unsafe { MachineCode::thaw(code, program, wanted.config, wanted.options) }.ok()
}

impl ProgramStore for StoredPrograms {
    fn read(&self, wanted: &Wanted<'_>) -> Option<Stored> {
        let found = self.find(wanted);
        let Counters { found: hits, missing: misses, .. } = &self.counters;
        let counter = if found.is_some() { hits } else { misses };
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

fn is_program_file(name: &str) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(|stem| stem.ends_with('.'))
}

/// Reads the key of a folder, creating it if there is none.
fn open_key(folder: &Folder) -> Result<Key, OpenError> {
    let path = folder.path.join(KEY_FILE);
    loop {
        match folder.read(KEY_FILE) {
            Ok(file) => {
                folder.check_key(KEY_FILE, &file)?;
                let mut bytes = Vec::new();
                const BYTES_READ_MAX: u64 = Key::BYTES as u64 + 1;
                let read = file.take(BYTES_READ_MAX).read_to_end(&mut bytes);
                read.map_err(|error| OpenError::failed(&path, error))?;
                let invalid_key = || OpenError::refused(&path, Refusal::InvalidKey);
                return Key::from_bytes(&bytes).ok_or_else(invalid_key);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_key(folder).map_err(|error| OpenError::failed(&path, error))?;
            }
            Err(_) if path.is_symlink() || path.exists() => {
                return Err(OpenError::refused(&path, Refusal::Kind));
            }
            Err(error) => return Err(OpenError::failed(&path, error)),
        }
    }
}

/// Creates a random key. If several processes do so, the first one wins and the others read its
/// key.
#[allow(clippy::disallowed_methods, reason = "owns the key of the folder")]
fn create_key(folder: &Folder) -> io::Result<()> {
    let mut secret = [0; Key::BYTES];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let temporary = write_temporary(folder, &secret)?;
    let linked = folder.link(&temporary, KEY_FILE);
    folder.remove(&temporary)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a file atomically.
fn write_atomically(folder: &Folder, name: &str, contents: &[u8]) -> io::Result<()> {
    let temporary = write_temporary(folder, contents)?;
    let renamed = folder.rename(&temporary, name);
    if renamed.is_err() {
        let _ = folder.remove(&temporary);
    }
    renamed
}

/// Writes a temporary file with an unpredictable name; returns the name.
#[allow(clippy::disallowed_methods, reason = "names that cannot be guessed")]
fn write_temporary(folder: &Folder, contents: &[u8]) -> io::Result<String> {
    let mut number = [0; 16];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    let name = format!("{:032x}{TEMPORARY_SUFFIX}", u128::from_le_bytes(number));
    let written = folder.create(&name)?.write_all(contents);
    if let Err(error) = written {
        let _ = folder.remove(&name);
        return Err(error);
    }
    Ok(name)
}
