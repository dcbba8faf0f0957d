//! Programs that are ready to run, and what they are loaded against.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use selkie_elf::{ElfError, Executable, Foreign, Syscalls, is_cut_off};
use selkie_isa::Version;
use selkie_vm::{MachineCode, SyscallId, Verified, VerifyError, verify, verify_calls};
use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        account::{AccountStore, Loader, is_same},
        features::{Feature, FeatureSet},
    },
    programs::{
        cache::{Holder, ProgramCache, Share, Usage},
        engine::{Compiled, EngineError, memory_calls},
    },
    runtime::{
        buffers::{HeapTouched, Touched},
        environment::Environment,
        syscalls::{
            SYSCALLS, Syscall, UNSUPPORTED,
            custom::{CustomSyscall, CustomSyscalls},
        },
    },
};

/// What a program is loaded for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To be run: what was deployed long ago keeps running, and traps when it reaches a call of
    /// something that is no more.
    Execution,
    /// To be deployed: files with loose ends are refused, and versions that are on their way out.
    Deployment,
    /// To be deployed again from where it is, as when room is made for it: its version may be one
    /// that is on its way out.
    Redeployment,
}

/// What a cluster with these features loads programs against.
#[must_use]
pub fn elf_environment(features: FeatureSet, purpose: Purpose) -> selkie_elf::Environment {
    let names = SYSCALLS.iter().filter(|syscall| syscall.is_registered(features, purpose));
    selkie_elf::Environment {
        versions: versions(features, purpose),
        syscalls: Arc::new(Syscalls::new(names.map(|syscall| syscall.name))),
        reject_broken_elfs: purpose != Purpose::Execution,
        ..selkie_elf::Environment::default()
    }
}

/// The sBPF versions that a cluster with these features executes, or lets be deployed (SIMD-0500).
fn versions(features: FeatureSet, purpose: Purpose) -> core::ops::RangeInclusive<Version> {
    const NEWEST: Version = Version::V3;
    let has_v0 = !features.has(Feature::DisableSbpfV0) || features.has(Feature::ReenableSbpfV0);
    let is_new = purpose == Purpose::Deployment;
    let takes_old = !is_new || !features.has(Feature::DisableSbpfV0V1V2Deployment);
    if has_v0 && takes_old { Version::V0..=NEWEST } else { NEWEST..=NEWEST }
}

/// As [`elf_environment`], with those syscalls of mainnet besides that this runtime has not: to
/// judge files as mainnet would, not to run them.
#[must_use]
pub fn mainnet_environment(purpose: Purpose) -> selkie_elf::Environment {
    let environment = elf_environment(FeatureSet::mainnet(), purpose);
    let names = environment.syscalls.names().chain(UNSUPPORTED.iter().copied());
    let syscalls = Arc::new(Syscalls::new(names));
    selkie_elf::Environment { syscalls, ..environment }
}

/// A file that was refused.
#[derive(Debug)]
pub struct RefusedFile {
    /// The first rule that it breaks.
    pub error: LoadError,
    /// The file as it was loaded, if it was the verifier that refused it.
    pub executable: Option<Box<Executable>>,
}

/// Judges a file: whether a cluster with these features runs it, or lets it be deployed.
///
/// This asks for more than the loader does. Files for other machines are told apart before its rules
/// apply, and files that end inside of their section table are refused. Before a deployment calls are
/// judged, too: from V3 on the loader accepts calls
/// of unknown syscalls and calls that were never linked, which trap when they are reached;
/// deployment tools refuse them before anything is paid (anza sbpf: `LocalVerifier`).
///
/// # Errors
/// The first rule that the file breaks.
pub fn check_file(
    elf: &[u8],
    features: FeatureSet,
    purpose: Purpose,
) -> Result<Executable, RefusedFile> {
    let refuse = |error| RefusedFile { error, executable: None };
    if let Some(foreign) = Foreign::of(elf) {
        return Err(refuse(LoadError::Foreign(foreign)));
    }
    let environment = elf_environment(features, purpose);
    let executable =
        selkie_elf::load(elf, &environment).map_err(|error| refuse(LoadError::Elf(error)))?;
    if is_cut_off(elf) {
        return Err(refuse(LoadError::CutOff));
    }
    let calls = || match purpose {
        Purpose::Execution => Ok(()),
        Purpose::Deployment | Purpose::Redeployment => verify_calls(&executable),
    };
    match verify(&executable).and_then(|()| calls()) {
        Ok(()) => Ok(executable),
        Err(error) => Err(RefusedFile {
            error: LoadError::Verify(error),
            executable: Some(Box::new(executable)),
        }),
    }
}

/// A program that is ready to run.
#[derive(Debug)]
pub struct Program {
    verified: Verified,
    compiled: Compiled,
    /// What runs of the program are likely to write to.
    pub(crate) stack_touched: Touched,
    pub(crate) heap_touched: HeapTouched,
    pub(crate) input_touched: Touched,
    pub(crate) input_touched_interpreted: Touched,
    /// How often it was looked up.
    pub(crate) usage: Usage,
    /// Its part of what the programs of its cache take.
    share: Share,
    loader: Loader,
    /// What the executable's syscalls are, by their number there.
    syscalls: Bindings,
}

/// What syscalls are, by their number. Programs that were loaded against the same share them.
pub(crate) type Bindings = Arc<[Bound]>;

/// A syscall of a program.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    /// One of the table.
    Row(&'static Syscall),
    /// One that a tool has added.
    Custom(CustomSyscall),
}

/// Why a file is no program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// The file was refused.
    Elf(ElfError),
    /// An instruction was refused.
    Verify(VerifyError),
    /// The file is no program at all. [`check_file`] says so; to the loader it is an ELF error.
    Foreign(Foreign),
    /// The file ends inside of its section table. [`check_file`] alone refuses that.
    CutOff,
    /// The executable was made for an environment with a syscall that the runtime has not.
    UnknownSyscall(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elf(error) => error.fmt(f),
            Self::Verify(error) => error.fmt(f),
            Self::Foreign(foreign) => foreign.fmt(f),
            Self::CutOff => f.write_str("the file ends inside of its section table"),
            Self::UnknownSyscall(name) => write!(f, "unknown syscall `{name}`"),
        }
    }
}

impl core::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Elf(error) => Some(error),
            Self::Verify(error) => Some(error),
            Self::Foreign(_) | Self::CutOff | Self::UnknownSyscall(_) => None,
        }
    }
}

impl Program {
    /// Loads and verifies a program file.
    ///
    /// # Errors
    /// The first rule that the file breaks.
    pub fn load(
        elf: &[u8],
        loader: Loader,
        environment: &selkie_elf::Environment,
    ) -> Result<Self, LoadError> {
        Self::load_with(elf, loader, environment, &CustomSyscalls::default())
    }

    /// The same for an environment that has syscalls besides those of the table.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn load_with(
        elf: &[u8],
        loader: Loader,
        environment: &selkie_elf::Environment,
        custom: &CustomSyscalls,
    ) -> Result<Self, LoadError> {
        let executable = selkie_elf::load(elf, environment).map_err(LoadError::Elf)?;
        Self::bind(executable, loader, custom)
    }

    /// A program that is ready already, as [`ProgramStore`](crate::programs::cache::ProgramStore) and
    /// [`Program::frozen`] have it.
    pub(crate) fn ready(verified: Verified, loader: Loader, syscalls: Bindings) -> Self {
        Self {
            verified,
            compiled: Compiled::new(false, memory_calls(&syscalls)),
            stack_touched: Touched::default(),
            heap_touched: HeapTouched::default(),
            input_touched: Touched::default(),
            input_touched_interpreted: Touched::default(),
            usage: Usage::default(),
            share: Share::default(),
            loader,
            syscalls,
        }
    }

    /// Loads and verifies a program, whose environment's syscalls these are.
    pub(crate) fn load_bound(
        elf: &[u8],
        loader: Loader,
        environment: &selkie_elf::Environment,
        syscalls: Bindings,
    ) -> Result<Self, LoadError> {
        let executable = selkie_elf::load(elf, environment).map_err(LoadError::Elf)?;
        let verified = Verified::new(executable).map_err(LoadError::Verify)?;
        Ok(Self::ready(verified, loader, syscalls))
    }

    /// The program as bytes, to be had again from its file without loading and verifying.
    pub(crate) fn frozen(&self, elf: &[u8]) -> Vec<u8> {
        self.verified.freeze(elf)
    }

    /// Verifies a loaded program.
    ///
    /// # Errors
    /// If the verifier refuses it, or if it may call a syscall that the runtime has not.
    pub fn new(executable: Executable, loader: Loader) -> Result<Self, LoadError> {
        Self::bind(executable, loader, &CustomSyscalls::default())
    }

    fn bind(
        executable: Executable,
        loader: Loader,
        custom: &CustomSyscalls,
    ) -> Result<Self, LoadError> {
        let syscalls = bind_syscalls(executable.syscalls(), custom)?;
        let verified = Verified::new(executable).map_err(LoadError::Verify)?;
        Ok(Self::ready(verified, loader, syscalls))
    }

    /// The same program, for a cluster with these features: whether accounts have regions of
    /// memory of their own (SIMD-0460) decides how it is compiled.
    #[must_use]
    pub fn for_features(self, features: FeatureSet) -> Self {
        self.with_account_regions(features.has(Feature::VirtualAddressSpaceAdjustments))
    }

    pub(crate) fn with_account_regions(self, has_account_regions: bool) -> Self {
        Self { compiled: Compiled::new(has_account_regions, self.compiled.memory_calls), ..self }
    }

    pub(crate) fn with_machine_code(self, code: MachineCode) -> Self {
        Self { compiled: self.compiled.with(code), ..self }
    }

    /// The same program, whose size is part of its cache's.
    pub(crate) fn with_share(self, share: Share) -> Self {
        let program = Self { share, ..self };
        program.note_size();
        program
    }

    /// Notes how much memory it takes by now.
    #[inline]
    pub(crate) fn note_size(&self) {
        self.share.note(self.loaded_bytes());
    }

    pub(crate) fn has_account_regions(&self) -> bool {
        self.compiled.has_account_regions
    }

    /// The program as it was loaded.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        self.verified.executable()
    }

    /// The program in the form that engines run.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// The loader that owns the program's account.
    #[must_use]
    pub fn loader(&self) -> Loader {
        self.loader
    }

    /// Compiles the whole program now, as validators do when they load it. Otherwise it is compiled
    /// bit by bit, once that is worth it.
    ///
    /// # Errors
    /// If this host cannot run machine code.
    pub fn compile(&self) -> Result<(), EngineError> {
        let completed = self.compiled.complete(&self.verified);
        self.note_size();
        completed
    }

    /// How many slots its text has.
    #[must_use]
    pub fn slots(&self) -> u64 {
        (self.executable().text().len() / selkie_isa::layout::SLOT_BYTES) as u64
    }

    /// Bytes of memory that it takes, its machine code included.
    #[must_use]
    pub fn loaded_bytes(&self) -> usize {
        self.verified.memory_bytes().saturating_add(self.compiled.code_bytes())
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    pub(crate) fn syscall(&self, id: SyscallId) -> Option<&Bound> {
        self.syscalls.get(usize::from(id.0))
    }
}

/// What syscalls are, by their names.
pub(crate) fn bind_syscalls(
    syscalls: &Syscalls,
    custom: &CustomSyscalls,
) -> Result<Bindings, LoadError> {
    let bind = |name: &str| {
        let custom = custom.get(name).cloned().map(Bound::Custom);
        let bound = custom.or_else(|| Syscall::find(name).map(Bound::Row));
        bound.ok_or_else(|| LoadError::UnknownSyscall(name.to_owned()))
    };
    syscalls.names().map(bind).collect()
}

/// The programs that instructions can reach.
#[derive(Clone, Default, Debug)]
pub struct Programs(BTreeMap<Pubkey, Arc<Program>>);

impl Programs {
    /// Puts a program at an address, in place of what was there.
    pub fn insert(&mut self, id: Pubkey, program: impl Into<Arc<Program>>) {
        self.0.insert(id, program.into());
    }

    /// The program at an address.
    #[must_use]
    pub fn get(&self, id: &Pubkey) -> Option<&Arc<Program>> {
        self.0.get(id)
    }
}

/// What is known of a program that a transaction names.
#[derive(Clone, Debug)]
pub enum ProgramEntry {
    /// It can be run.
    Loaded(Arc<Program>),
    /// Its file was refused.
    FailedVerification,
    /// The transaction has closed it.
    Closed,
    /// It was deployed in this very slot, and can be called from the next one on.
    DelayVisibility,
}

/// The programs that a transaction names, as they are before it: few enough to be searched in order.
///
/// Within a batch it keeps those of one transaction for the next.
#[derive(Default, Debug)]
pub struct TransactionPrograms {
    programs: Vec<Named>,
    keeps: bool,
}

/// A program that a transaction names.
#[derive(Debug)]
struct Named {
    id: Pubkey,
    entry: ProgramEntry,
    /// Whether this transaction names it.
    is_named: bool,
    /// Where it was found, and how often since, if it is kept.
    kept: Option<(Holder<'static>, u64)>,
}

/// More programs are not kept for the next transaction.
const KEPT_MAX: usize = 32;

impl TransactionPrograms {
    /// None, without memory of their own.
    pub(crate) const NONE: &'static Self = &Self::new();

    pub(crate) const fn new() -> Self {
        Self { programs: Vec::new(), keeps: false }
    }

    /// None yet. Programs are kept for other transactions against the same cache, of the same slot
    /// and with the same features, so that threads need not fight over what each look-up counts.
    /// They are counted later; those of a version that is gone by then are not.
    pub(crate) fn keeping() -> Self {
        Self { keeps: true, ..Self::new() }
    }

    /// Adds a program that was loaded for the transaction.
    #[inline]
    pub fn insert(&mut self, id: Pubkey, entry: ProgramEntry) {
        self.programs.push(Named { id, entry, is_named: true, kept: None });
    }

    /// The program at an address.
    #[inline]
    pub(crate) fn get(&self, id: &Pubkey) -> Option<&ProgramEntry> {
        let is_it = |named: &&Named| is_same(&named.id, id) && named.is_named;
        self.programs.iter().find(is_it).map(|named| &named.entry)
    }

    /// Forgets the programs of the last transaction, but for those that are kept.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.programs.retain_mut(|named| {
            named.is_named = false;
            named.kept.is_some()
        });
    }

    /// Adds the program of an account that a loader owns, as the cache has it.
    #[inline]
    pub(crate) fn find(
        &mut self,
        id: &Pubkey,
        account: &AccountSharedData,
        accounts: &impl AccountStore,
        environment: &Environment,
        cache: &ProgramCache,
    ) {
        let slot = environment.slot();
        if self.keeps
            && let Some(place) = self.programs.iter().position(|named| is_same(&named.id, id))
        {
            if let Some(Named { is_named, kept: Some((holder, uses)), .. }) =
                self.programs.get_mut(place)
                && holder.is_still_of(account, accounts)
            {
                *is_named = true;
                *uses = uses.saturating_add(1);
                return;
            }
            self.programs.swap_remove(place).count_uses(slot);
        }
        let Some(entry) = cache.get(id, account, accounts, slot, environment.features) else {
            return;
        };
        let has_room = self.programs.len() < KEPT_MAX;
        let is_kept = self.keeps && has_room && matches!(entry, ProgramEntry::Loaded(_));
        let holder = if is_kept { Holder::find(account, accounts) } else { None };
        let kept = holder.map(|holder| (holder.into_owned(), 0));
        self.programs.push(Named { id: *id, entry, is_named: true, kept });
    }

    /// Counts how often programs were found that were kept.
    pub(crate) fn count_uses(self, slot: u64) {
        self.programs.into_iter().for_each(|named| named.count_uses(slot));
    }
}

impl Named {
    fn count_uses(self, slot: u64) {
        if let (ProgramEntry::Loaded(program), Some((_, uses @ 1..))) = (self.entry, self.kept) {
            program.usage.note(slot, uses);
        }
    }
}

/// A program that runs: one that the transaction began with, or one that it has deployed.
#[derive(Clone, Debug)]
pub(crate) enum Running<'e> {
    Lent(&'e Program),
    Shared(Arc<Program>),
}

impl core::ops::Deref for Running<'_> {
    type Target = Program;

    fn deref(&self) -> &Program {
        match self {
            Self::Lent(program) => program,
            Self::Shared(program) => program,
        }
    }
}

#[cfg(test)]
mod tests {
    use selkie_elf::write::{Image, write};
    use solana_account::Account;

    use super::*;

    #[test]
    fn a_program_is_kept_and_is_there_for_those_who_name_it() {
        // mov64 r0, 0; exit
        let text = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let data = write(&Image::of_text(Version::V3, &text));
        let owner = Loader::V2.address();
        let account = Account { lamports: 1, data, owner, ..Account::default() }.into();
        let (id, cache) = (Pubkey::new_from_array([7; 32]), ProgramCache::new());
        let (accounts, environment) = (BTreeMap::new(), Environment::default());
        let mut programs = TransactionPrograms::keeping();
        for _ in 0..3 {
            assert!(programs.get(&id).is_none());
            programs.find(&id, &account, &accounts, &environment, &cache);
            assert!(matches!(programs.get(&id), Some(ProgramEntry::Loaded(_))));
            programs.clear();
        }
        assert_eq!(cache.statistics().hits, 0);
        programs.count_uses(1);
        let statistics = cache.statistics();
        assert_eq!((statistics.hits, statistics.misses), (2, 1));
    }
}
