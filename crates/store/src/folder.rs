//! A folder that only its owner can have filled.
//!
//! What is run as machine code comes from here. So the folder and the key in it must belong to the
//! user who runs this process, and other users must not be able to write to the one or to read the
//! other. Files are reached through the folder as it was opened and checked, not by its path, which
//! may lead elsewhere by then; and never through a symbolic link. Elsewhere than on Unix, what a
//! user's folders let others do is left to the operating system.

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

/// Why a folder cannot be used.
#[derive(Debug)]
pub enum OpenError {
    /// Another user may have prepared what is there.
    Refused {
        /// The folder, or the file in it.
        path: PathBuf,
        /// What is wrong with it.
        why: Refusal,
    },
    /// The operating system cannot do what it was asked to.
    Failed {
        /// The folder, or the file in it.
        path: PathBuf,
        /// Its reason.
        error: io::Error,
    },
}

/// What is wrong with a folder or a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It belongs to another user.
    Owner {
        /// The user's number.
        owner: u32,
        /// That of the user who runs this process.
        user: u32,
    },
    /// Other users can write to the folder: the bits of its mode.
    FolderMode(u32),
    /// Other users can read or write the key: the bits of its mode.
    KeyMode(u32),
    /// It is a symbolic link, or neither a folder nor a file.
    Kind,
    /// The key has not the length of one.
    NoKey,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused { path, .. } | Self::Failed { path, .. }) = self;
        write!(f, "{}", path.display())?;
        match self {
            Self::Refused { why, .. } => match why {
                Refusal::Owner { owner, user } => {
                    write!(f, " belongs to user {owner}, and this is user {user}")
                }
                Refusal::FolderMode(mode) => {
                    write!(f, " can be written to by other users (mode {mode:03o})")
                }
                Refusal::KeyMode(mode) => {
                    write!(f, " is open to other users (mode {mode:03o})")
                }
                Refusal::Kind => f.write_str(" is a symbolic link, or of another unexpected kind"),
                Refusal::NoKey => f.write_str(" is not a key"),
            },
            Self::Failed { error, .. } => write!(f, ": {error}"),
        }
    }
}

impl core::error::Error for OpenError {}

impl OpenError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        let (Self::Refused { path, .. } | Self::Failed { path, .. }) = self;
        let path = path.display();
        match self {
            Self::Refused { why: Refusal::FolderMode(_), .. } => {
                format!(
                    "if nobody else has put files there, `chmod 700 {path}`; or name another one"
                )
            }
            Self::Refused { why: Refusal::KeyMode(_) | Refusal::NoKey, .. } => {
                format!("delete {path} and what else is in its folder, and start afresh")
            }
            Self::Refused { .. } | Self::Failed { .. } => {
                "name a folder of your own, or one that does not exist yet".into()
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

/// A folder that was opened and checked. Names are those of files in it, without separators.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    opened: system::Opened,
}

impl Folder {
    /// Opens a folder, which is made if it is not there.
    pub(crate) fn open(path: PathBuf) -> Result<Self, OpenError> {
        match make(&path) {
            // It is no folder, which is found below.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(OpenError::failed(&path, error));
            }
            Ok(()) | Err(_) => {}
        }
        let opened = system::Opened::open(&path)?;
        Ok(Self { path, opened })
    }

    /// Opens a file for reading; one that is a symbolic link, or no file, is an error.
    pub(crate) fn read(&self, name: &str) -> io::Result<File> {
        let file = self.opened.read(name)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Whether the key, opened, is the user's alone.
    pub(crate) fn check_key(&self, name: &str, key: &File) -> Result<(), OpenError> {
        let path = self.path.join(name);
        match system::key_refusal(key).map_err(|error| OpenError::failed(&path, error))? {
            Some(why) => Err(OpenError::refused(&path, why)),
            None => Ok(()),
        }
    }

    /// Makes a file that was not there, which only its owner can read.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        self.opened.create(name)
    }

    /// Gives a file a second name, if no file has that.
    pub(crate) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.opened.link(from, to)
    }

    /// Gives a file another name, in place of the file that has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.opened.rename(from, to)
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.opened.remove(name)
    }

    /// The names of what is there, in no order; those that are no text are left out.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        self.opened.names()
    }
}

fn make(path: &Path) -> io::Result<()> {
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

    /// A descriptor of the folder.
    #[derive(Debug)]
    pub(super) struct Opened(File);

    const ALWAYS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
    const GROUP_AND_OTHERS: u32 = 0o077;
    const WRITE: u32 = 0o222;

    impl Opened {
        pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
            let opened = open(path, ALWAYS | OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty());
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
            // A pipe must not make this wait.
            let flags = ALWAYS | OFlags::RDONLY | OFlags::NONBLOCK;
            Ok(openat(&self.0, name, flags, Mode::empty())?.into())
        }

        pub(super) fn create(&self, name: &str) -> io::Result<File> {
            let flags = ALWAYS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
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

    /// What is wrong with a file of another user's, or one with any of these bits: its mode if it is
    /// that.
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
