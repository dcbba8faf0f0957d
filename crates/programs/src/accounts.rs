//! The accounts of mainnet's programs, which a cluster has from the start.
//!
//! They are constants: an account is made when it is first asked for, and then shared by all
//! clusters of the process. Their rent is mainnet's, they were deployed in slot 0, and nobody may
//! upgrade them. Without the feature `files` there are none.

use std::sync::OnceLock;

use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;
use solana_sdk_ids::bpf_loader_upgradeable;

use crate::{
    Deployed, MAINNET, WellKnownProgram,
    account::{program_account, program_data_account},
};

/// A program has its own account, and one of its data if it belongs to loader v3.
const PER_PROGRAM: usize = 2;
const PLACES: usize = MAINNET.len() * PER_PROGRAM;

/// The place of an account in the list of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(usize);

/// A set of these accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Places(u32);

const _: () = assert!(PLACES <= u32::BITS as usize);

impl Places {
    /// The set of all accounts there are.
    #[must_use]
    pub fn all() -> Self {
        Place::all().fold(Self::default(), |places, place| Self(places.0 | place.bit()))
    }

    /// Whether an account is in the set.
    #[must_use]
    pub const fn contains(self, place: Place) -> bool {
        self.0 & place.bit() != 0
    }

    /// Adds an account to the set.
    pub const fn insert(&mut self, place: Place) {
        self.0 |= place.bit();
    }

    /// Takes an account out of the set.
    pub const fn remove(&mut self, place: Place) {
        self.0 &= !place.bit();
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many accounts are in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The accounts in the set.
    pub fn iter(self) -> impl Iterator<Item = Place> {
        Place::all().filter(move |place| self.contains(*place))
    }
}

impl Place {
    /// The place of the account at an address, if it is one of these.
    #[must_use]
    pub fn of(key: &Pubkey) -> Option<Self> {
        // Most addresses differ in their first bytes, which are compared without a call.
        let first = key.as_array().first_chunk::<8>();
        let is_it = |other: &Pubkey| other.as_array().first_chunk() == first && other == key;
        MAINNET.iter().zip(0..).filter(|_| cfg!(feature = "files")).find_map(|(program, at)| {
            let is_data = program.data_key.as_ref().is_some_and(is_it);
            (is_data || is_it(&program.id)).then(|| Self::at(at, is_data))
        })
    }

    fn all() -> impl Iterator<Item = Self> {
        let programs = MAINNET.iter().zip(0..).filter(|_| cfg!(feature = "files"));
        programs.flat_map(|(program, at)| {
            let data = program.data_key.map(|_| Self::at(at, true));
            core::iter::once(Self::at(at, false)).chain(data)
        })
    }

    #[expect(clippy::arithmetic_side_effects, reason = "there are few programs")]
    const fn at(program: usize, is_data: bool) -> Self {
        Self(program * PER_PROGRAM + is_data as usize)
    }

    const fn bit(self) -> u32 {
        1 << self.0
    }

    fn program(self) -> (&'static WellKnownProgram, bool) {
        let (at, part) = (self.0 / PER_PROGRAM, self.0 % PER_PROGRAM);
        (MAINNET.get(at).expect("places are made of programs"), part == 1)
    }

    /// The address of the account.
    #[must_use]
    pub fn key(self) -> Pubkey {
        match self.program() {
            (program, true) => program.data_key.expect("it has such an account"),
            (program, false) => program.id,
        }
    }

    /// The program that owns the account.
    #[must_use]
    pub fn owner(self) -> Pubkey {
        match self.program() {
            (_, true) => bpf_loader_upgradeable::ID,
            (program, false) => program.loader.address(),
        }
    }

    /// The account, which is made now if it was never asked for.
    #[must_use]
    pub fn account(self) -> &'static AccountSharedData {
        static ACCOUNTS: [OnceLock<AccountSharedData>; PLACES] =
            [const { OnceLock::new() }; PLACES];
        let cell = ACCOUNTS.get(self.0).expect("places are places of this list");
        cell.get_or_init(|| self.make())
    }

    fn make(self) -> AccountSharedData {
        let (program, is_data) = self.program();
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
