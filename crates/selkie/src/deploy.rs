//! Programs put into accounts, as if they had been deployed long ago.

use core::fmt;
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie_programs::{Deployed, program_accounts, program_data_key};
use selkie_svm::{LoadError, Loader, Program, ProgramEntry, program_cache::EntryKind};
use solana_account::ReadableAccount;
use solana_pubkey::Pubkey;

#[cfg(feature = "programs")]
use crate::programs::WellKnownProgram;
use crate::svm::Svm;

/// The slot that programs were deployed in.
const DEPLOYED: u64 = 0;

/// Where a program's file is: in memory, or at a path.
pub trait ProgramFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(self) -> Result<Vec<u8>, ProgramError>;

    /// The path of the file, if it has one: failures are explained by what lies beside it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// A program that could not be added.
#[non_exhaustive]
pub enum ProgramError {
    /// Its file cannot be read.
    Read(PathBuf, io::Error),
    /// No cluster would run it.
    Load(LoadError),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => {
                write!(f, "cannot read {}: {error}", path.display())?;
                if error.kind() == io::ErrorKind::NotFound {
                    f.write_str(
                        "\nhelp: build the program first; tests run in the folder of their package",
                    )?;
                }
                Ok(())
            }
            Self::Load(error) => write!(f, "the file is no program: {error}"),
        }
    }
}

impl core::error::Error for ProgramError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(_, error) => Some(error),
            Self::Load(error) => Some(error),
        }
    }
}

macro_rules! paths {
    ($($path:ty),*) => {
        $(impl ProgramFile for $path {
            fn read(self) -> Result<Vec<u8>, ProgramError> {
                let path: &Path = self.as_ref();
                std::fs::read(path).map_err(|error| ProgramError::Read(path.to_owned(), error))
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
    /// Puts a program at an address: a path, or the bytes of the file. It belongs to loader v3,
    /// was deployed in slot 0, and nobody can upgrade it.
    ///
    /// # Errors
    /// If the file cannot be read, or if no cluster would run it.
    pub fn add_program(&mut self, id: Pubkey, file: impl ProgramFile) -> Result<(), ProgramError> {
        self.add_file(id, file, Loader::V3, None)
    }

    /// Puts a program at an address that its authority can upgrade, close or give away.
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

    /// Puts a program at an address, in the care of any loader.
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

    /// Puts a program there, and keeps in mind where its file is.
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

    /// Puts the accounts of a program there, if the program can be run.
    fn add(
        &mut self,
        id: Pubkey,
        elf: &[u8],
        loader: Loader,
        authority: Option<&Pubkey>,
    ) -> Result<(), ProgramError> {
        let deployed = Deployed { loader, slot: DEPLOYED, authority };
        let accounts = program_accounts(&id, elf, &deployed, &self.rent());
        let found: BTreeMap<_, _> = accounts.iter().cloned().collect();
        let program = accounts.first().map(|(_, account)| account).expect("a program has one");
        // From here the first transaction has it.
        let entry = self.programs.get(&id, program, &found, u64::MAX, self.features());
        if !matches!(entry, Some(ProgramEntry::Loaded(_))) {
            self.programs.try_load(elf, loader, self.features()).map_err(ProgramError::Load)?;
        }
        if loader != Loader::V3 {
            // Nothing is left of a program of loader v3 that was there before.
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

    /// Puts a well-known program at its address, in place of what is there. Those that mainnet has
    /// today are there from the start; this is for others:
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
    /// If the cluster's features do not let it run.
    #[cfg(feature = "programs")]
    pub fn add_well_known_program(
        &mut self,
        program: &WellKnownProgram,
    ) -> Result<(), ProgramError> {
        self.add(program.id, program.elf(), program.loader, None)
    }

    /// Whether there is a program at an address that can be called.
    #[must_use]
    pub fn has_program(&self, id: &Pubkey) -> bool {
        let state = self.journal.state();
        let is_builtin = state.accounts.get(id).is_some_and(|account| {
            *account.owner() == solana_sdk_ids::native_loader::ID
                && state.environment.builtins.get(id).is_some()
        });
        is_builtin || self.program(id).is_some()
    }

    /// The program at an address, ready to run, if it can be called now.
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
    /// What the program at an address is to whoever calls it now; `None` if there is no account.
    #[must_use]
    pub fn program_kind(&self, id: &Pubkey) -> Option<EntryKind> {
        let state = self.journal.state();
        let account = state.accounts.get(id)?;
        let (slot, features) = (self.slot(), self.features());
        Some(self.programs.kind(id, account, &state.accounts, slot, features))
    }
}
