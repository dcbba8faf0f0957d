//! A folder that only the current user can have written to.
//!
//! Machine code from this folder is executed. So the folder and its key file must belong to the
//! user of this process, the folder must not be writable by other users, and the key must not be
//! accessible to them. Files are opened relative to the checked descriptor, since the path may lead
//! elsewhere by then, and symbolic links are never followed. On systems other than Unix no
//! permissions are checked.

use core::fmt;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

#[cfg(not(unix))]
use self::by_path as system;
#[cfg(unix)]
use self::unix as system;

/// A folder that cannot be opened as a store.
#[derive(Debug)]
pub enum OpenError {
    /// Another user may have tampered with the folder or the key.
    Refused {
        /// The folder, or a file in it.
        path: PathBuf,
        /// The reason.
        why: Refusal,
    },
    /// An operation of the operating system failed.
    Failed {
        /// The folder, or a file in it.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
}

/// The reason why a folder or key file is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It belongs to another user.
    Owner {
        /// The owner's user id.
        owner: u32,
        /// The effective user id of this process.
        user: u32,
    },
    /// Other users can write to the folder; the value is its permission bits.
    FolderMode(u32),
    /// Other users can read or write the key; the value is its permission bits.
    KeyMode(u32),
    /// It is a symbolic link, or not a folder or file as expected.
    Kind,
    /// The key file does not have the length of a key.
    InvalidKey,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused { path, .. } | Self::Failed { path, .. }) = self;
        write!(f, "{}", path.display())?;
        match self {
            Self::Refused { why, .. } => match why {
                Refusal::Owner { owner, user } => {
                    write!(f, " belongs to user {owner}, but this process runs as user {user}")
                }
                Refusal::FolderMode(mode) => {
                    write!(f, " is writable by other users (mode {mode:03o})")
                }
                Refusal::KeyMode(mode) => {
                    write!(f, " is accessible to other users (mode {mode:03o})")
                }
                Refusal::Kind => f.write_str(" is a symbolic link or has an unexpected file type"),
                Refusal::InvalidKey => f.write_str(" is not a valid key"),
            },
            Self::Failed { error, .. } => write!(f, ": {error}"),
        }
    }
}

impl core::error::Error for OpenError {}

impl OpenError {
    /// Returns advice on how to solve the problem.
    #[must_use]
    pub fn help(&self) -> String {
        let (Self::Refused { path, .. } | Self::Failed { path, .. }) = self;
        let path = path.display();
        match self {
            Self::Refused { why: Refusal::FolderMode(_), .. } => {
                format!(
                    "if you trust all files in it, run `chmod 700 {path}`; or choose another folder"
                )
            }
            Self::Refused { why: Refusal::KeyMode(_) | Refusal::InvalidKey, .. } => {
                format!("delete {path} and all other files in its folder")
            }
            Self::Refused { .. } | Self::Failed { .. } => {
                "choose a folder of your own, or one that does not exist yet".into()
            }
        }
    }

    pub(crate) fn refused(path: &Path, why: Refusal) -> Self {
        Self::Refused { path: path.to_owned(), why }
    }

    pub(crate) fn failed(path: &Path, error: io::Error) -> Self {
        Self::Failed { path: path.to_owned(), error }
    }
}

/// An opened and checked folder. Names are those of files in it, without separators.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    opened: system::Opened,
}

impl Folder {
    /// Opens a folder, creating it if it does not exist.
    pub(crate) fn open(path: PathBuf) -> Result<Self, OpenError> {
        match create_folder(&path) {
            // The path may exist as a file; `Opened::open` refuses that.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(OpenError::failed(&path, error));
            }
            Ok(()) | Err(_) => {}
        }
        let opened = system::Opened::open(&path)?;
        Ok(Self { path, opened })
    }

    /// Opens a file for reading; fails for symbolic links and anything but regular files.
    pub(crate) fn read(&self, name: &str) -> io::Result<File> {
        let file = self.opened.read(name)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Checks that only the user has access to the opened key file.
    pub(crate) fn check_key(&self, name: &str, key: &File) -> Result<(), OpenError> {
        let path = self.path.join(name);
        match system::key_refusal(key).map_err(|error| OpenError::failed(&path, error))? {
            Some(why) => Err(OpenError::refused(&path, why)),
            None => Ok(()),
        }
    }

    /// Creates a new file that only its owner can access.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        self.opened.create(name)
    }

    /// Creates a hard link, failing if `to` exists.
    pub(crate) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.opened.link(from, to)
    }

    /// Renames a file, replacing `to`.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.opened.rename(from, to)
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.opened.remove(name)
    }

    /// Returns the names of all entries in no particular order, without those that are not UTF-8.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        self.opened.names()
    }
}

fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(unix)]
mod unix {
    use std::{fs::File, io, os::unix::fs::MetadataExt as _, path::Path};

    use rustix::{
        fs::{AtFlags, Dir, Mode, OFlags, linkat, open, openat, renameat, unlinkat},
        io::Errno,
        process::geteuid,
    };

    use super::{OpenError, Refusal};

    /// The folder's descriptor.
    #[derive(Debug)]
    pub(super) struct Opened(File);

    const COMMON_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
    const GROUP_AND_OTHERS: u32 = 0o077;
    const WRITE: u32 = 0o222;

    impl Opened {
        pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
            let opened =
                open(path, COMMON_FLAGS | OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty());
            let folder = match opened {
                Ok(folder) => File::from(folder),
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    return Err(OpenError::refused(path, Refusal::Kind));
                }
                Err(error) => return Err(OpenError::failed(path, error.into())),
            };
            let failed = |error| OpenError::failed(path, error);
            match refusal(&folder, GROUP_AND_OTHERS & WRITE).map_err(failed)? {
                Some(why) => Err(OpenError::refused(path, why.unwrap_or_else(Refusal::FolderMode))),
                None => Ok(Self(folder)),
            }
        }

        pub(super) fn read(&self, name: &str) -> io::Result<File> {
            // `NONBLOCK`: opening a named pipe must not wait for a writer.
            let flags = COMMON_FLAGS | OFlags::RDONLY | OFlags::NONBLOCK;
            Ok(openat(&self.0, name, flags, Mode::empty())?.into())
        }

        pub(super) fn create(&self, name: &str) -> io::Result<File> {
            let flags = COMMON_FLAGS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
        }

        pub(super) fn link(&self, from: &str, to: &str) -> io::Result<()> {
            Ok(linkat(&self.0, from, &self.0, to, AtFlags::empty())?)
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }

        pub(super) fn remove(&self, name: &str) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }

        pub(super) fn names(&self) -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.0)? {
                names.extend(entry?.file_name().to_str().map(str::to_owned));
            }
            Ok(names)
        }
    }

    pub(super) fn key_refusal(key: &File) -> io::Result<Option<Refusal>> {
        let refusal = refusal(key, GROUP_AND_OTHERS)?;
        Ok(refusal.map(|why| why.unwrap_or_else(Refusal::KeyMode)))
    }

    /// Checks the owner of a file, and that none of the permission `bits` is set. Returns the wrong
    /// owner as `Ok(Refusal)`, and wrong permissions as `Err(mode)`.
    fn refusal(file: &File, bits: u32) -> io::Result<Option<Result<Refusal, u32>>> {
        let metadata = file.metadata()?;
        let (owner, user) = (metadata.uid(), geteuid().as_raw());
        let mode = metadata.mode() & 0o777;
        Ok(if owner != user {
            Some(Ok(Refusal::Owner { owner, user }))
        } else {
            (mode & bits != 0).then_some(Err(mode))
        })
    }
}

#[cfg(not(unix))]
mod by_path {
    use std::{
        fs::{self, File, OpenOptions},
        io,
        path::{Path, PathBuf},
    };

    use super::{OpenError, Refusal};

    #[derive(Debug)]
    pub(super) struct Opened(PathBuf);

    impl Opened {
        pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
            let metadata =
                fs::symlink_metadata(path).map_err(|error| OpenError::failed(path, error))?;
            if metadata.is_dir() {
                Ok(Self(path.to_owned()))
            } else {
                Err(OpenError::refused(path, Refusal::Kind))
            }
        }

        pub(super) fn read(&self, name: &str) -> io::Result<File> {
            let path = self.0.join(name);
            if fs::symlink_metadata(&path)?.is_symlink() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            File::open(path)
        }

        pub(super) fn create(&self, name: &str) -> io::Result<File> {
            OpenOptions::new().write(true).create_new(true).open(self.0.join(name))
        }

        pub(super) fn link(&self, from: &str, to: &str) -> io::Result<()> {
            fs::hard_link(self.0.join(from), self.0.join(to))
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(super) fn remove(&self, name: &str) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        pub(super) fn names(&self) -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.0)? {
                names.extend(entry?.file_name().into_string().ok());
            }
            Ok(names)
        }
    }

    pub(super) fn key_refusal(_: &File) -> io::Result<Option<Refusal>> {
        Ok(None)
    }
}
