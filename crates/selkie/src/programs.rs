//! Well-known programs, and where their files are.
//!
//! The files are not part of this package, since others on crates.io carry them. They are looked
//! for, by name, in the folder that `SELKIE_PROGRAMS` names; then in `selkie/programs` in the
//! user's cache folder; then where cargo unpacks packages. Nothing is downloaded: the error of
//! [`Svm::add_bundled`] says the one command that does.
//!
//! ```no_run
//! use selkie::{programs, Svm};
//!
//! let mut svm = Svm::new();
//! svm.add_bundled(&programs::TOKEN)?;
//! svm.add_bundled(&programs::ASSOCIATED_TOKEN)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;
use std::{env, fs, path::PathBuf};

use selkie_svm::Loader;
use solana_pubkey::Pubkey;
use solana_sdk_ids as ids;

use crate::{deploy::ProgramError, svm::Svm};

/// A well-known program, as mainnet has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bundled {
    /// What people call it.
    pub name: &'static str,
    /// Its address.
    pub id: Pubkey,
    /// The loader that owns it.
    pub loader: Loader,
    /// The name of its file.
    pub file: &'static str,
    /// The package on crates.io that carries the file, and its version.
    pub package: (&'static str, &'static str),
    /// The folder in the package.
    pub folder: &'static str,
}

const LITESVM: (&str, &str) = ("litesvm", "0.17.0");
const LITESVM_FOLDER: &str = "src/programs/elf";
const BINARIES: (&str, &str) = ("solana-program-binaries", "4.2.2");
const BINARIES_FOLDER: &str = "src/programs";

const fn litesvm(name: &'static str, id: Pubkey, loader: Loader, file: &'static str) -> Bundled {
    Bundled { name, id, loader, file, package: LITESVM, folder: LITESVM_FOLDER }
}

const fn binaries(name: &'static str, id: Pubkey, file: &'static str) -> Bundled {
    let (package, folder) = (BINARIES, BINARIES_FOLDER);
    Bundled { name, id, loader: Loader::V3, file, package, folder }
}

const TOKEN_ID: Pubkey = Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
const TOKEN_2022_ID: Pubkey = Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
const ATA_ID: Pubkey = Pubkey::from_str_const("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
const MEMO_ID: Pubkey = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const MEMO_V1_ID: Pubkey = Pubkey::from_str_const("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");

/// The token program as mainnet runs it since 2026: p-token.
pub const TOKEN: Bundled = litesvm("token", TOKEN_ID, Loader::V3, "pinocchio_token_program.so");
/// The token program as mainnet ran it before: SPL Token 3.5, at the same address.
pub const SPL_TOKEN: Bundled = litesvm("spl-token", TOKEN_ID, Loader::V2, "spl_token-3.5.0.so");
/// Token-2022: tokens with extensions.
pub const TOKEN_2022: Bundled =
    litesvm("token-2022", TOKEN_2022_ID, Loader::V3, "spl_token_2022-11.0.0.so");
/// The associated token account program.
pub const ASSOCIATED_TOKEN: Bundled =
    litesvm("associated-token", ATA_ID, Loader::V2, "spl_associated_token_account-1.1.1.so");
/// The memo program.
pub const MEMO: Bundled = litesvm("memo", MEMO_ID, Loader::V2, "spl_memo-4.0.0.so");
/// The memo program of old.
pub const MEMO_V1: Bundled = litesvm("memo-v1", MEMO_V1_ID, Loader::V1, "spl_memo-1.0.0.so");
/// The address lookup table program.
pub const ADDRESS_LOOKUP_TABLE: Bundled = litesvm(
    "address-lookup-table",
    ids::address_lookup_table::ID,
    Loader::V3,
    "address_lookup_table.so",
);
/// The stake program.
pub const STAKE: Bundled = litesvm("stake", ids::stake::ID, Loader::V3, "core_bpf_stake-5.0.0.so");
/// The config program.
pub const CONFIG: Bundled = binaries("config", ids::config::ID, "core_bpf_config-3.0.0.so");
/// The feature gate program.
pub const FEATURE_GATE: Bundled =
    binaries("feature-gate", ids::feature::ID, "core_bpf_feature_gate-0.0.1.so");

/// The programs that most tests need, each address once.
pub const USUAL: &[Bundled] =
    &[TOKEN, TOKEN_2022, ASSOCIATED_TOKEN, MEMO, MEMO_V1, ADDRESS_LOOKUP_TABLE, STAKE];

/// Every well-known program.
pub const ALL: &[Bundled] = &[
    TOKEN,
    SPL_TOKEN,
    TOKEN_2022,
    ASSOCIATED_TOKEN,
    MEMO,
    MEMO_V1,
    ADDRESS_LOOKUP_TABLE,
    STAKE,
    CONFIG,
    FEATURE_GATE,
];

/// A well-known program whose file is nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFound {
    /// The program.
    pub program: Bundled,
    /// Where its file was looked for.
    pub searched: Vec<PathBuf>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bundled { name, file, package: (package, version), .. } = self.program;
        write!(f, "the file of program `{name}` is not on this machine: {file}")?;
        for folder in &self.searched {
            write!(f, "\n  not in {}", folder.display())?;
        }
        write!(f, "\nhelp: run `cargo info {package}@{version}` outside of any workspace, which ")?;
        f.write_str("downloads the package; or set SELKIE_PROGRAMS to a folder that has the file")
    }
}

impl core::error::Error for NotFound {}

impl Bundled {
    /// Finds the program's file.
    ///
    /// # Errors
    /// If it is nowhere.
    pub fn find(&self) -> Result<PathBuf, Box<NotFound>> {
        let searched = self.folders();
        let found = searched.iter().map(|folder| folder.join(self.file)).find(|it| it.is_file());
        found.ok_or_else(|| Box::new(NotFound { program: *self, searched }))
    }

    /// Where the file may be, in the order of search.
    fn folders(&self) -> Vec<PathBuf> {
        let named = env::var_os("SELKIE_PROGRAMS").map(PathBuf::from);
        let home = env::home_dir();
        let in_home = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let folder = |variable: &str| env::var_os(variable).map(PathBuf::from);
        let cache = folder("XDG_CACHE_HOME").or_else(|| in_home(".cache"));
        let cargo = folder("CARGO_HOME").or_else(|| in_home(".cargo"));
        let (package, version) = self.package;
        let mut folders: Vec<PathBuf> = named.into_iter().collect();
        folders.extend(cache.map(|cache| cache.join("selkie/programs")));
        if let Some(sources) = cargo.map(|cargo| cargo.join("registry/src")) {
            let package = format!("{package}-{version}/{}", self.folder);
            let registries = fs::read_dir(&sources).into_iter().flatten().flatten();
            let mut found: Vec<_> = registries.map(|it| it.path().join(&package)).collect();
            // The order of a folder's entries is no order.
            found.sort();
            if found.is_empty() {
                found.push(sources);
            }
            folders.extend(found);
        }
        folders
    }
}

impl Svm {
    /// Puts a well-known program at its address.
    ///
    /// # Errors
    /// If its file is not on this machine; the error says what to do.
    pub fn add_bundled(&mut self, program: &Bundled) -> Result<(), ProgramError> {
        let file = program.find().map_err(ProgramError::NotFound)?;
        self.add_program_with_loader(program.id, file, program.loader)
    }

    /// The same with all of [`USUAL`].
    ///
    /// # Errors
    /// As [`Svm::add_bundled`].
    pub fn with_usual_programs(mut self) -> Result<Self, ProgramError> {
        USUAL.iter().try_for_each(|program| self.add_bundled(program))?;
        Ok(self)
    }
}
