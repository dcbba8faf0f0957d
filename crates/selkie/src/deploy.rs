//! Programs put into accounts, as if they had been deployed long ago.

use core::fmt;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie_svm::{
    LoadError, Loader, Program, ProgramEntry,
    program_cache::{EntryKind, PROGRAM_DATA_HEADER_BYTES},
};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_sdk_ids::bpf_loader_upgradeable;

use crate::{programs::NotFound, svm::Svm};

/// The slot that programs were deployed in.
const DEPLOYED: u64 = 0;

/// Where a program's file is: in memory, or at a path.
pub trait ProgramFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(self) -> Result<Vec<u8>, ProgramError>;
}

/// A program that could not be added.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProgramError {
    /// Its file cannot be read.
    Read(PathBuf, io::Error),
    /// No cluster would run it.
    Load(LoadError),
    /// It is a well-known one, and its file is not on this machine.
    NotFound(Box<NotFound>),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Load(error) => write!(f, "the file is no program: {error}"),
            Self::NotFound(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ProgramError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(_, error) => Some(error),
            Self::Load(error) => Some(error),
            Self::NotFound(_) => None,
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
        self.add_v3(id, &file.read()?, None)
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
        self.add_v3(id, &file.read()?, Some(authority))
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
        let elf = file.read()?;
        match loader {
            Loader::V1 | Loader::V2 => self.add_account(id, elf.clone(), &elf, loader),
            Loader::V3 => self.add_v3(id, &elf, None),
            Loader::V4 => {
                const FINALIZED: u64 = 2;
                let header = [&DEPLOYED.to_le_bytes()[..], id.as_ref(), &FINALIZED.to_le_bytes()];
                self.add_account(id, [&header.concat(), elf.as_slice()].concat(), &elf, loader)
            }
        }
    }

    fn add_v3(
        &mut self,
        id: Pubkey,
        elf: &[u8],
        authority: Option<&Pubkey>,
    ) -> Result<(), ProgramError> {
        const PROGRAM: u32 = 2;
        const PROGRAM_DATA: u32 = 3;
        let owner = bpf_loader_upgradeable::ID;
        let data_key = program_data_key(&id);
        let mut data = Vec::with_capacity(PROGRAM_DATA_HEADER_BYTES.saturating_add(elf.len()));
        data.extend(PROGRAM_DATA.to_le_bytes());
        data.extend(DEPLOYED.to_le_bytes());
        data.push(u8::from(authority.is_some()));
        data.extend(authority.map_or([0; 32], Pubkey::to_bytes));
        data.extend(elf);
        let data = self.rent_exempt(data, owner, false);
        let before = self.shared_account(&data_key);
        self.journal.set_account(data_key, Some(data));
        let program = [&PROGRAM.to_le_bytes()[..], data_key.as_ref()].concat();
        let added = self.add_account(id, program, elf, Loader::V3);
        if added.is_err() {
            self.journal.set_account(data_key, before);
        }
        added
    }

    /// Puts the account of a program there, if the program can be run.
    fn add_account(
        &mut self,
        id: Pubkey,
        data: Vec<u8>,
        elf: &[u8],
        loader: Loader,
    ) -> Result<(), ProgramError> {
        let account = self.rent_exempt(data, loader.address(), true);
        let (state, features) = (self.journal.state(), self.features());
        // From here the first transaction has it.
        let entry = self.programs.get(&id, &account, &*state.accounts, u64::MAX, features);
        if !matches!(entry, Some(ProgramEntry::Loaded(_))) {
            self.programs.try_load(elf, loader, features).map_err(ProgramError::Load)?;
        }
        self.journal.set_account(id, Some(account));
        Ok(())
    }

    fn rent_exempt(&self, data: Vec<u8>, owner: Pubkey, executable: bool) -> AccountSharedData {
        let lamports = self.minimum_balance_for_rent_exemption(data.len());
        Account { lamports, data, owner, executable, rent_epoch: u64::MAX }.into()
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
        match self.programs.get(id, account, &*state.accounts, slot, features)? {
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
        Some(self.programs.kind(id, account, &*state.accounts, slot, features))
    }
}

/// Where loader v3 keeps the file of a program.
#[must_use]
pub fn program_data_key(id: &Pubkey) -> Pubkey {
    Pubkey::find_program_address(&[id.as_ref()], &bpf_loader_upgradeable::ID).0
}
