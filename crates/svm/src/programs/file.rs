//! Program files: which ones a cluster accepts, and why it refuses the others.

use core::fmt;
use std::sync::Arc;

use selkie_elf::{ElfError, Executable, NotSbpf, Syscalls, is_truncated};
use selkie_isa::Version;
use selkie_protocol::syscalls::{SYSCALLS, Syscall};
use selkie_vm::{VerifyError, verify, verify_calls};

use crate::chain::features::{Feature, FeatureSet};

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

/// Returns what a cluster with these features loads programs against.
#[must_use]
pub fn elf_environment(features: FeatureSet, purpose: Purpose) -> selkie_elf::Environment {
    let is_registered = |syscall: &&Syscall| match purpose {
        Purpose::Execution => syscall.is_executable(features),
        Purpose::Deployment | Purpose::Redeployment => syscall.is_deployable(features),
    };
    let names = SYSCALLS.iter().filter(is_registered).map(|syscall| syscall.name);
    selkie_elf::Environment {
        versions: versions(features, purpose),
        syscalls: Arc::new(Syscalls::new(names)),
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

/// Returns what mainnet loads programs against.
#[must_use]
pub fn mainnet_environment(purpose: Purpose) -> selkie_elf::Environment {
    elf_environment(FeatureSet::mainnet(), purpose)
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
    if let Some(reason) = NotSbpf::detect(elf) {
        return Err(refuse(LoadError::NotSbpf(reason)));
    }
    let environment = elf_environment(features, purpose);
    let executable =
        selkie_elf::load(elf, &environment).map_err(|error| refuse(LoadError::Elf(error)))?;
    if is_truncated(elf) {
        return Err(refuse(LoadError::Truncated));
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

/// Why a file is no program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// The file was refused.
    Elf(ElfError),
    /// An instruction was refused.
    Verify(VerifyError),
    /// The file is no program at all. [`check_file`] says so; to the loader it is an ELF error.
    NotSbpf(NotSbpf),
    /// The file ends inside of its section table. [`check_file`] alone refuses that.
    Truncated,
    /// The executable was made for an environment with a syscall that the runtime has not.
    UnknownSyscall(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elf(error) => error.fmt(f),
            Self::Verify(error) => error.fmt(f),
            Self::NotSbpf(reason) => reason.fmt(f),
            Self::Truncated => f.write_str("the file ends inside of its section table"),
            Self::UnknownSyscall(name) => write!(f, "unknown syscall `{name}`"),
        }
    }
}

impl core::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Elf(error) => Some(error),
            Self::Verify(error) => Some(error),
            Self::NotSbpf(_) | Self::Truncated | Self::UnknownSyscall(_) => None,
        }
    }
}
