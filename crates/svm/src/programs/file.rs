//! The rules by which a cluster accepts or rejects program files.

use core::fmt;
use std::sync::Arc;

use selkie_elf::{ElfError, Executable, NotSbpf, Syscalls, is_truncated};
use selkie_isa::Version;
use selkie_protocol::syscalls::{SYSCALLS, Syscall};
use selkie_vm::{VerifyError, verify, verify_calls};

use crate::chain::features::{Feature, FeatureSet};

/// The purpose of loading a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Execution. Old programs keep running, and trap when they call a syscall that was removed.
    Execution,
    /// A new deployment. Broken files and sBPF versions that are being phased out are rejected.
    Deployment,
    /// A repeated deployment of the same account, as by extending it. sBPF versions that are being phased
    /// out are accepted.
    Redeployment,
}

/// Returns the environment that a cluster with these features loads programs against.
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

/// Returns the sBPF versions that a cluster with these features executes or deploys (SIMD-0500).
fn versions(features: FeatureSet, purpose: Purpose) -> core::ops::RangeInclusive<Version> {
    const NEWEST: Version = Version::V3;
    let has_v0 = !features.has(Feature::DisableSbpfV0) || features.has(Feature::ReenableSbpfV0);
    let is_new = purpose == Purpose::Deployment;
    let takes_old = !is_new || !features.has(Feature::DisableSbpfV0V1V2Deployment);
    if has_v0 && takes_old { Version::V0..=NEWEST } else { NEWEST..=NEWEST }
}

/// Returns the environment that mainnet loads programs against.
#[must_use]
pub fn mainnet_environment(purpose: Purpose) -> selkie_elf::Environment {
    elf_environment(FeatureSet::mainnet(), purpose)
}

/// A file that was rejected.
#[derive(Debug)]
pub struct RefusedFile {
    /// The first rule that it breaks.
    pub error: LoadError,
    /// The loaded file, if the verifier rejected it.
    pub executable: Option<Box<Executable>>,
}

/// Checks whether a cluster with these features executes or deploys a file.
///
/// This is stricter than the loader: files for other machines are reported as such, and files that end
/// inside of their section table are rejected. Before a deployment, calls are checked, too: from V3 on
/// the loader accepts calls of unknown syscalls and calls that were never linked, which trap when they
/// are executed; deployment tools reject them before anything is paid (anza sbpf: `LocalVerifier`).
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

/// The error of loading a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// The ELF loader rejected the file.
    Elf(ElfError),
    /// The verifier rejected an instruction.
    Verify(VerifyError),
    /// The file is not an sBPF program. The loader itself returns an ELF error; this is of
    /// [`check_file`], and of tools that ask [`NotSbpf::detect`].
    NotSbpf(NotSbpf),
    /// The file ends inside of its section table. Only [`check_file`] returns this.
    Truncated,
    /// The executable's environment has a syscall that the runtime lacks.
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
