//! The accounts of mainnet's programs, and the native mint: what the genesis of every cluster has.
//!
//! They are constants: each account is created when first read, and then shared within the process.
//! They are rent-exempt by mainnet's rent; programs are deployed in slot 0 and immutable. Without the
//! feature `files` there are none.

use std::sync::OnceLock;

use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;
use solana_sdk_ids::bpf_loader_upgradeable;

use crate::{
    Deployed, MAINNET, TOKEN, WellKnownProgram,
    account::{program_account, program_data_account},
    token::{NATIVE_MINT, native_mint},
};

/// A program account, and a programdata account if loader v3 owns the program.
const PER_PROGRAM: usize = 2;
const ACCOUNTS_MAX: usize = MAINNET.len() * PER_PROGRAM + 1;

/// A program or programdata account of a program of [`MAINNET`], as its index; or the native mint, which
/// comes last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WellKnownAccount(usize);

/// A set of well-known accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WellKnownAccountSet(u32);

const _: () = assert!(ACCOUNTS_MAX <= u32::BITS as usize);

impl WellKnownAccountSet {
    /// Returns the set of all well-known accounts.
    #[must_use]
    pub fn all() -> Self {
        WellKnownAccount::all().fold(Self::default(), |set, account| Self(set.0 | account.bit()))
    }

    /// Returns whether the set contains an account.
    #[must_use]
    pub const fn contains(self, account: WellKnownAccount) -> bool {
        self.0 & account.bit() != 0
    }

    /// Adds an account to the set.
    pub const fn insert(&mut self, account: WellKnownAccount) {
        self.0 |= account.bit();
    }

    /// Removes an account from the set.
    pub const fn remove(&mut self, account: WellKnownAccount) {
        self.0 &= !account.bit();
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of accounts in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the accounts in the set.
    pub fn iter(self) -> impl Iterator<Item = WellKnownAccount> {
        WellKnownAccount::all().filter(move |account| self.contains(*account))
    }
}

impl WellKnownAccount {
    /// The native mint.
    const NATIVE_MINT: Self = Self(ACCOUNTS_MAX - 1);

    /// Returns the well-known account at an address, if there is one.
    #[must_use]
    pub fn of(key: &Pubkey) -> Option<Self> {
        // Most addresses differ in their first 8 bytes, whose comparison needs no call to `memcmp`.
        let first = key.as_array().first_chunk::<8>();
        let is_it = |other: &Pubkey| other.as_array().first_chunk() == first && other == key;
        let programs = MAINNET.iter().zip(0..).filter(|_| cfg!(feature = "files"));
        let found = programs.into_iter().find_map(|(program, index)| {
            let is_data = program.data_key.as_ref().is_some_and(is_it);
            (is_data || is_it(&program.id)).then(|| Self::new(index, is_data))
        });
        found.or_else(|| {
            (cfg!(feature = "files") && is_it(&NATIVE_MINT)).then_some(Self::NATIVE_MINT)
        })
    }

    fn all() -> impl Iterator<Item = Self> {
        let programs = MAINNET.iter().zip(0..).filter(|_| cfg!(feature = "files"));
        let of_programs = programs.flat_map(|(program, index)| {
            let data = program.data_key.map(|_| Self::new(index, true));
            core::iter::once(Self::new(index, false)).chain(data)
        });
        of_programs.chain(cfg!(feature = "files").then_some(Self::NATIVE_MINT))
    }

    #[expect(clippy::arithmetic_side_effects, reason = "there are few programs")]
    const fn new(program: usize, is_data: bool) -> Self {
        Self(program * PER_PROGRAM + is_data as usize)
    }

    const fn bit(self) -> u32 {
        1 << self.0
    }

    /// Returns the program, and whether this is its programdata account; `None` for the native mint.
    fn program(self) -> Option<(&'static WellKnownProgram, bool)> {
        let (index, part) = (self.0 / PER_PROGRAM, self.0 % PER_PROGRAM);
        Some((MAINNET.get(index)?, part == 1))
    }

    /// Returns the address of the account.
    #[must_use]
    pub fn key(self) -> Pubkey {
        match self.program() {
            Some((program, true)) => {
                program.data_key.expect("`new` was given a program with programdata")
            }
            Some((program, false)) => program.id,
            None => NATIVE_MINT,
        }
    }

    /// Returns the owner of the account.
    #[must_use]
    pub fn owner(self) -> Pubkey {
        match self.program() {
            Some((_, true)) => bpf_loader_upgradeable::ID,
            Some((program, false)) => program.loader.address(),
            None => TOKEN.id,
        }
    }

    /// Returns the account, creating it on first use.
    #[must_use]
    pub fn account(self) -> &'static AccountSharedData {
        static ACCOUNTS: [OnceLock<AccountSharedData>; ACCOUNTS_MAX] =
            [const { OnceLock::new() }; ACCOUNTS_MAX];
        let cell = ACCOUNTS.get(self.0).expect("there are two cells per program, and one");
        cell.get_or_init(|| self.create())
    }

    fn create(self) -> AccountSharedData {
        let Some((program, is_data)) = self.program() else { return native_mint() };
        let WellKnownProgram { id, loader, elf, data_key, .. } = program;
        let deployed = Deployed { loader: *loader, slot: 0, authority: None };
        let rent = selkie_svm::Environment::default().rent();
        if is_data {
            program_data_account(elf, &deployed, &rent)
        } else {
            program_account(id, data_key.as_ref(), elf, &deployed, &rent)
        }
    }
}
