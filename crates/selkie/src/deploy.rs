//! Adds programs directly to accounts, as if they were part of the genesis: they can be invoked at
//! every clock.

use core::fmt;
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie_isa::input;
use selkie_programs::{Deployed, program_accounts, program_data_key};
use selkie_svm::{
    LoadError, Loader, NotSbpf, Program, ProgramEntry, cost::ACCOUNT_BYTES_MAX,
    program_cache::EntryKind,
};
use solana_account::ReadableAccount;
use solana_pubkey::Pubkey;

#[cfg(feature = "programs")]
use crate::programs::WellKnownProgram;
use crate::{program_path::path_hint, svm::Svm};

/// The deployment slot of added programs.
const DEPLOYMENT_SLOT: u64 = 0;

/// Source of a program's ELF file: its bytes, or its path.
pub trait ProgramFile {
    /// Reads the ELF file.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn read(self) -> Result<Vec<u8>, ProgramError>;

    /// Returns the path, if there is one: debug information and sources are looked for next to it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// A program that could not be added.
#[non_exhaustive]
pub enum ProgramError {
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// No program with this name was [built](crate::built); the folders that were searched.
    NotBuilt(String, Vec<PathBuf>),
    /// The program is older than one of its sources: which ones.
    Stale(String),
    /// The loader or verifier rejects the file.
    Load(LoadError),
    /// The file has so many bytes that it fits into no account.
    TooLong(usize),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => {
                write!(f, "cannot read {}: {error}", path.display())?;
                match path_hint(path) {
                    Some(hint) => write!(f, "\nhelp: {hint}"),
                    None if error.kind() == io::ErrorKind::NotFound => f.write_str(
                        "\nhelp: build the program first; paths are relative to the package of the test",
                    ),
                    None => Ok(()),
                }
            }
            Self::NotBuilt(name, searched) => {
                let folders: Vec<String> =
                    searched.iter().map(|it| it.display().to_string()).collect();
                write!(f, "there is no {name}.so in {}", folders.join(" or "))?;
                f.write_str("\nhelp: run `selkie build`, or `selkie test`, which builds and tests")
            }
            Self::Stale(note) => {
                write!(
                    f,
                    "{note}\nhelp: run `selkie build`, or `selkie test`, which builds and tests"
                )
            }
            Self::Load(error) => write!(f, "the file is not a valid program: {error}"),
            Self::TooLong(bytes) => {
                write!(f, "the file has {bytes} bytes, and an account at most {ACCOUNT_BYTES_MAX}")
            }
        }
    }
}

impl core::error::Error for ProgramError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(_, error) => Some(error),
            Self::Load(error) => Some(error),
            Self::NotBuilt(..) | Self::Stale(_) | Self::TooLong(_) => None,
        }
    }
}

macro_rules! paths {
    ($($path:ty),*) => {
        $(impl ProgramFile for $path {
            fn read(self) -> Result<Vec<u8>, ProgramError> {
                let path: &Path = self.as_ref();
                input::named(path).map_err(|error| ProgramError::Read(path.to_owned(), error))
            }

            fn path(&self) -> Option<&Path> {
                Some(self.as_ref())
            }
        })*
    };
}

paths!(&str, String, &String, &Path, PathBuf, &PathBuf);

impl ProgramFile for Vec<u8> {
    fn read(self) -> Result<Vec<u8>, ProgramError> {
        Ok(self)
    }
}

impl ProgramFile for &[u8] {
    fn read(self) -> Result<Vec<u8>, ProgramError> {
        Ok(self.to_vec())
    }
}

impl ProgramFile for &Vec<u8> {
    fn read(self) -> Result<Vec<u8>, ProgramError> {
        Ok(self.clone())
    }
}

impl<const N: usize> ProgramFile for &[u8; N] {
    fn read(self) -> Result<Vec<u8>, ProgramError> {
        Ok(self.to_vec())
    }
}

impl Svm {
    /// Adds a program to `id`, given as a path or as the bytes of its ELF file. It is owned by
    /// loader v3, was deployed in slot 0 and is immutable. It can be invoked at every clock, before and
    /// after the clock is set back.
    ///
    /// # Errors
    /// If the file cannot be read, or if the loader or verifier rejects it.
    pub fn add_program(&mut self, id: Pubkey, file: impl ProgramFile) -> Result<(), ProgramError> {
        self.add_file(id, file, Loader::V3, None)
    }

    /// Adds a program to `id` that `authority` can upgrade, close or hand over.
    ///
    /// # Errors
    /// As [`Svm::add_program`].
    pub fn add_upgradeable_program(
        &mut self,
        id: Pubkey,
        file: impl ProgramFile,
        authority: &Pubkey,
    ) -> Result<(), ProgramError> {
        self.add_file(id, file, Loader::V3, Some(authority))
    }

    /// Adds a program to `id` that is owned by `loader`.
    ///
    /// # Errors
    /// As [`Svm::add_program`].
    pub fn add_program_with_loader(
        &mut self,
        id: Pubkey,
        file: impl ProgramFile,
        loader: Loader,
    ) -> Result<(), ProgramError> {
        self.add_file(id, file, loader, None)
    }

    /// Adds a program and remembers its path.
    fn add_file(
        &mut self,
        id: Pubkey,
        file: impl ProgramFile,
        loader: Loader,
        authority: Option<&Pubkey>,
    ) -> Result<(), ProgramError> {
        let path = file.path().map(Path::to_owned);
        self.add(id, &file.read()?, loader, authority)?;
        if let Some(path) = path {
            Arc::make_mut(self.origins.get_or_insert_default()).insert(id, path);
        }
        Ok(())
    }

    /// Returns the file that a program was added from, if it was added by path.
    #[must_use]
    pub fn program_path(&self, id: &Pubkey) -> Option<&Path> {
        self.origins.as_ref()?.get(id).map(PathBuf::as_path)
    }

    /// Notes the file that a program is from, which need not have been read: its name, the debug
    /// information and the description beside it are used as if the program had been added by that path.
    pub fn set_program_path(&mut self, id: Pubkey, path: impl Into<PathBuf>) {
        Arc::make_mut(self.origins.get_or_insert_default()).insert(id, path.into());
    }

    /// Writes the accounts of a program, if the program loads.
    fn add(
        &mut self,
        id: Pubkey,
        elf: &[u8],
        loader: Loader,
        authority: Option<&Pubkey>,
    ) -> Result<(), ProgramError> {
        let deployed = Deployed { loader, slot: DEPLOYMENT_SLOT, authority };
        let accounts = program_accounts(&id, elf, &deployed, &self.rent());
        if accounts.iter().any(|(_, account)| account.data().len() > ACCOUNT_BYTES_MAX) {
            return Err(ProgramError::TooLong(elf.len()));
        }
        let found: BTreeMap<_, _> = accounts.iter().cloned().collect();
        let program =
            accounts.first().map(|(_, account)| account).expect("the program account comes first");
        // Caches the program, so that the first transaction finds it.
        let entry = self.programs.get(&id, program, &found, u64::MAX, self.features());
        if !matches!(entry, Some(ProgramEntry::Loaded(_))) {
            if let Some(reason) = NotSbpf::detect(elf) {
                return Err(ProgramError::Load(LoadError::NotSbpf(reason)));
            }
            self.programs.try_load(elf, loader, self.features()).map_err(ProgramError::Load)?;
        }
        if loader != Loader::V3 {
            // Removes the programdata account of a loader v3 program that was there before.
            self.journal.set_account(program_data_key(&id), None);
        }
        if let Some(origins) = &mut self.origins {
            Arc::make_mut(origins).remove(&id);
        }
        for (key, account) in accounts {
            self.journal.set_account(key, Some(account));
        }
        Ok(())
    }

    /// Adds a well-known program at its address, replacing what is there. Programs that mainnet has
    /// are present from the start; this is for the others:
    ///
    /// ```
    /// use selkie::{Svm, programs};
    ///
    /// let mut svm = Svm::new();
    /// svm.add_well_known_program(&programs::SPL_TOKEN)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the program does not load under the active features.
    #[cfg(feature = "programs")]
    pub fn add_well_known_program(
        &mut self,
        program: &WellKnownProgram,
    ) -> Result<(), ProgramError> {
        self.add(program.id, program.elf(), program.loader, None)
    }

    /// Returns whether there is an invocable program at `id`, builtin programs included.
    #[must_use]
    pub fn has_program(&self, id: &Pubkey) -> bool {
        let state = self.journal.state();
        let is_builtin = state.accounts.get(id).is_some_and(|account| {
            *account.owner() == solana_sdk_ids::native_loader::ID
                && state.environment.builtins.get(id).is_some()
        });
        is_builtin || self.program(id).is_some()
    }

    /// Returns the loaded program at `id`, if it can be invoked in the current slot.
    #[must_use]
    pub fn program(&self, id: &Pubkey) -> Option<Arc<Program>> {
        let state = self.journal.state();
        let account = state.accounts.get(id)?;
        let (slot, features) = (self.slot(), self.features());
        match self.programs.get(id, account, &state.accounts, slot, features)? {
            ProgramEntry::Loaded(program) => Some(program),
            _ => None,
        }
    }
}

impl Svm {
    /// Returns what a caller finds at `id` in the current slot; `None` if there is no account.
    #[must_use]
    pub fn program_kind(&self, id: &Pubkey) -> Option<EntryKind> {
        let state = self.journal.state();
        let account = state.accounts.get(id)?;
        let (slot, features) = (self.slot(), self.features());
        Some(self.programs.kind(id, account, &state.accounts, slot, features))
    }
}
