//! Programs that were made ready to run, so that transactions find them in moments.
//!
//! An entry is as good as the account data that it was made of, and is used for no others: so it
//! needs no care when a program is deployed, when accounts are set by hand, or across forks. Data
//! that are shared are compared by where they are, others by what they are.

mod fork_graph;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use foldhash::fast::FixedState;
use selkie_elf::Syscalls;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    account::{AccountStore, Loader},
    features::FeatureSet,
    programs::{LoadError, Program, ProgramEntry, Purpose, elf_environment},
    syscalls::custom::CustomSyscalls,
};

pub use self::fork_graph::{BlockRelation, ForkGraph, OneFork};

/// Bytes in front of the program in a program data account of loader v3.
pub const PROGRAM_DATA_HEADER_BYTES: usize = 45;
/// Bytes in front of the program in a program account of loader v4.
const LOADER_V4_HEADER_BYTES: usize = 48;
/// Threads that look for different programs seldom meet.
const SHARDS: usize = 16;

/// Programs that were made ready to run, by address.
#[derive(Default, Debug)]
pub struct ProgramCache {
    shards: [RwLock<HashMap<Pubkey, Cached, FixedState>>; SHARDS],
    /// What programs are loaded against, for the features that were seen last.
    environment: RwLock<Option<(FeatureSet, Arc<selkie_elf::Environment>)>>,
    /// Syscalls that programs have besides those of clusters.
    syscalls: CustomSyscalls,
}

#[derive(Clone, Debug)]
struct Cached {
    features: FeatureSet,
    loader: Loader,
    /// The account that holds the file, whose data are shared.
    source: AccountSharedData,
    /// Nothing if the file was refused.
    program: Option<Arc<Program>>,
}

/// Where a program's file is.
struct Source {
    loader: Loader,
    account: AccountSharedData,
    offset: usize,
    deployed: u64,
}

impl ProgramCache {
    /// Nothing is cached.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing is cached; what will be can call these, too.
    #[must_use]
    pub fn with_syscalls(syscalls: CustomSyscalls) -> Self {
        Self { syscalls, ..Self::default() }
    }

    /// The syscalls that programs have besides those of clusters.
    #[must_use]
    pub fn syscalls(&self) -> &CustomSyscalls {
        &self.syscalls
    }

    /// The program of an account that a loader owns; `None` if no program was ever deployed there,
    /// or if it was closed.
    pub fn get(
        &self,
        id: &Pubkey,
        account: &AccountSharedData,
        accounts: &impl AccountStore,
        slot: u64,
        features: FeatureSet,
    ) -> Option<ProgramEntry> {
        let source = Source::find(account, accounts)?;
        // What is deployed becomes visible in the slot after.
        if source.loader == Loader::V3 && source.deployed >= slot {
            return Some(ProgramEntry::NotDeployed);
        }
        let found = self.find(id, &source, features);
        let program = found.unwrap_or_else(|| self.load(id, &source, features));
        Some(program.map_or(ProgramEntry::NotDeployed, ProgramEntry::Loaded))
    }

    /// How many programs are cached.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|it| it.read().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, id: &Pubkey) -> &RwLock<HashMap<Pubkey, Cached, FixedState>> {
        let byte = id.as_ref().last().copied().unwrap_or_default();
        &self.shards[usize::from(byte) % SHARDS]
    }

    fn find(
        &self,
        id: &Pubkey,
        source: &Source,
        features: FeatureSet,
    ) -> Option<Option<Arc<Program>>> {
        let shard = self.shard(id).read().unwrap_or_else(PoisonError::into_inner);
        let cached = shard.get(id)?;
        let is_same = cached.features == features
            && cached.loader == source.loader
            && (cached.source.data().as_ptr() == source.account.data().as_ptr()
                || file(cached.source.data(), source) == file(source.account.data(), source));
        is_same.then(|| cached.program.clone())
    }

    /// A program as it would be cached; nothing is cached.
    ///
    /// # Errors
    /// If the file is refused.
    pub fn try_load(
        &self,
        elf: &[u8],
        loader: Loader,
        features: FeatureSet,
    ) -> Result<Program, LoadError> {
        let environment = self.environment(features);
        let program = Program::load_with(elf, loader, &environment, &self.syscalls)?;
        Ok(program.for_features(features))
    }

    fn load(&self, id: &Pubkey, source: &Source, features: FeatureSet) -> Option<Arc<Program>> {
        let file = file(source.account.data(), source);
        let program = self.try_load(file, source.loader, features).ok().map(Arc::new);
        let cached = Cached {
            features,
            loader: source.loader,
            source: source.account.clone(),
            program: program.clone(),
        };
        self.shard(id).write().unwrap_or_else(PoisonError::into_inner).insert(*id, cached);
        program
    }

    fn environment(&self, features: FeatureSet) -> Arc<selkie_elf::Environment> {
        let known = self.environment.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, environment)) = &*known
            && *of == features
        {
            return Arc::clone(environment);
        }
        drop(known);
        let made = Arc::new(self.make_environment(features));
        let mut known = self.environment.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some((features, Arc::clone(&made)));
        made
    }

    fn make_environment(&self, features: FeatureSet) -> selkie_elf::Environment {
        let environment = elf_environment(features, Purpose::Execution);
        if self.syscalls.is_empty() {
            return environment;
        }
        let known: BTreeSet<&str> =
            environment.syscalls.names().chain(self.syscalls.names()).collect();
        let syscalls = Arc::new(Syscalls::new(known));
        selkie_elf::Environment { syscalls, ..environment }
    }
}

fn file<'a>(data: &'a [u8], source: &Source) -> &'a [u8] {
    data.get(source.offset..).unwrap_or_default()
}

impl Source {
    fn find(account: &AccountSharedData, accounts: &impl AccountStore) -> Option<Self> {
        let loader = Loader::of(account.owner())?;
        let data = account.data();
        match loader {
            Loader::V1 | Loader::V2 => {
                let account = account.clone();
                (!data.is_empty()).then_some(Self { loader, account, offset: 0, deployed: 0 })
            }
            Loader::V3 => {
                let account = accounts.account(&program_data_address(data)?)?;
                let deployed = program_data_slot(&account)?;
                let offset = PROGRAM_DATA_HEADER_BYTES;
                Some(Self { loader, account, offset, deployed })
            }
            Loader::V4 => {
                const RETRACTED: u64 = 0;
                let number = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
                let (deployed, status) = (number(0)?, number(40)?);
                let (account, offset) = (account.clone(), LOADER_V4_HEADER_BYTES);
                (status != RETRACTED).then_some(Self { loader, account, offset, deployed })
            }
        }
    }
}

/// The address of the program data account that a program account of loader v3 points to.
#[must_use]
pub fn program_data_address(program: &[u8]) -> Option<Pubkey> {
    const PROGRAM: u32 = 2;
    let tag = u32::from_le_bytes(*program.first_chunk()?);
    let address = program.get(4..)?.first_chunk::<32>()?;
    (tag == PROGRAM).then(|| Pubkey::new_from_array(*address))
}

/// The slot that a program data account of loader v3 says it was deployed in.
#[must_use]
pub fn program_data_slot(account: &AccountSharedData) -> Option<u64> {
    const PROGRAM_DATA: u32 = 3;
    let data = account.data();
    let tag = u32::from_le_bytes(*data.first_chunk()?);
    let slot = u64::from_le_bytes(*data.get(4..)?.first_chunk()?);
    let authority = *data.get(12)?;
    let is_whole = authority == 0 || authority == 1 && data.len() >= PROGRAM_DATA_HEADER_BYTES;
    let is_loaders = Loader::of(account.owner()) == Some(Loader::V3);
    (tag == PROGRAM_DATA && is_whole && is_loaders).then_some(slot)
}
