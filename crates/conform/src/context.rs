//! What vectors refer to: ELF files, environments, sysvars, features and fixtures.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use selkie_case::Case;
use selkie_elf::{Environment, Syscalls};
use selkie_isa::Version;
use selkie_isa::input;
use selkie_svm::{Release, Sysvars};
use serde::Deserialize;

use crate::{
    BadVector, Engine, Missing,
    archive::Fixtures,
    features::{FeatureIds, parse_profiles},
    files,
    vector::{VectorAccount, fnv1a, sha256, unhex},
};

/// What the vectors of one file can refer to.
#[derive(Debug)]
pub struct Context {
    elfs: Arc<Elfs>,
    environments: BTreeMap<String, Arc<Profile>>,
    sysvars: Sysvars,
    profiles: BTreeMap<String, FeatureIds>,
    fixtures: Fixtures,
    engine: Engine,
    release: Option<Release>,
}

impl Context {
    /// Returns the context of a vector file. The files `environments.json`, `syscall_env.json` and
    /// `profiles.json` beside it take precedence over the built-in ones.
    ///
    /// # Errors
    /// If one of these files is unreadable.
    pub fn new(vector_file: &Path, elfs: Arc<Elfs>) -> Result<Self, BadVector> {
        let mut environments = parse_environments(include_str!("../data/environments.json"))?;
        let beside = vector_file.with_file_name("environments.json");
        if let Ok(text) = input::text(&beside, input::FILE_BYTES_MAX) {
            let named = |error: BadVector| BadVector(format!("{}: {error}", beside.display()));
            environments.extend(parse_environments(&text).map_err(named)?);
        }
        let beside = vector_file.with_file_name("syscall_env.json");
        let text = input::text(&beside, input::FILE_BYTES_MAX);
        let sysvars =
            parse_sysvars(text.as_deref().unwrap_or(include_str!("../data/syscall_env.json")))
                .map_err(|error| BadVector(format!("{}: {error}", beside.display())))?;
        let mut profiles = parse_profiles(include_str!("../data/profiles.json"))?;
        if let Ok(text) =
            input::text(&vector_file.with_file_name("profiles.json"), input::FILE_BYTES_MAX)
        {
            profiles.extend(parse_profiles(&text)?);
        }
        let fixtures = Fixtures::new(files::folder_of(vector_file).to_owned());
        let engine = Engine::default();
        Ok(Self { elfs, environments, sysvars, profiles, fixtures, engine, release: None })
    }

    /// Sets the engine that runs programs.
    #[must_use]
    pub fn with_engine(self, engine: Engine) -> Self {
        Self { engine, ..self }
    }

    /// Sets the release of agave that all vectors follow, instead of that which each names or means.
    #[must_use]
    pub fn with_release(self, release: Option<Release>) -> Self {
        Self { release, ..self }
    }

    /// Returns a vector's case under the release that is set, if one is.
    pub(crate) fn ruled(&self, case: Case) -> Case {
        match self.release {
            Some(release) => case.with_release(release),
            None => case,
        }
    }

    /// Returns the engine that runs programs.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Returns the environment of a profile, for deployment or for execution of deployed programs.
    ///
    /// # Errors
    /// If the profile is unknown.
    pub fn profile(&self, name: &str, deploy: bool) -> Result<&Arc<Profile>, BadVector> {
        let key = format!("{name}/{}", if deploy { "deploy" } else { "execute" });
        let profile = self.environments.get(&key);
        profile.ok_or_else(|| BadVector(format!("unknown environment {key}")))
    }

    /// Returns the features of a profile.
    ///
    /// # Errors
    /// If the profile is unknown.
    pub fn features(&self, profile: &str) -> Result<&FeatureIds, BadVector> {
        let features = self.profiles.get(profile);
        features.ok_or_else(|| BadVector(format!("unknown profile {profile}")))
    }

    /// Returns the sysvars of kind `vm_syscall`.
    #[must_use]
    pub fn sysvars(&self) -> &Sysvars {
        &self.sysvars
    }

    /// Returns the fixture at a path, from a file or an archive beside the vectors.
    ///
    /// # Errors
    /// If the fixture is missing: the reason to skip the vector.
    pub fn fixture(&self, path: &str) -> Result<Arc<[u8]>, Missing> {
        self.fixtures.get(path)
    }

    /// Returns the bytes with a SHA-256: `<sha>.bin` in an archive of blobs beside the vectors, or
    /// among the ELF files.
    ///
    /// # Errors
    /// If the file is missing or has another hash: the reason to skip the vector.
    pub fn blob(&self, sha: &str) -> Result<Arc<[u8]>, Missing> {
        let file = format!("{sha}.bin");
        let blob = self.fixtures.packed(BLOBS, &file).or_else(|missing| {
            self.elfs.get(&file).map_err(|why| Missing::Both(Box::new([missing, why])))
        })?;
        match sha256(&blob) == sha {
            true => Ok(blob),
            false => Err(Missing::OtherHash(file)),
        }
    }

    /// Returns the ELF file with a name or hash, from the folder of ELF files or from an archive of
    /// them beside the vectors.
    ///
    /// # Errors
    /// If the file is missing: the reason to skip the vector.
    pub fn elf(&self, name: &str) -> Result<Arc<[u8]>, Missing> {
        let packed = || {
            let files = elf_files(name);
            files.iter().find_map(|file| self.fixtures.packed(ELFS, file).ok())
        };
        self.elfs.get(name).or_else(|why| packed().ok_or(why))
    }
}

/// The suffix in the names of archives of blobs.
const BLOBS: &str = "blobs";
/// The suffix in the names of archives of ELF files.
const ELFS: &str = "elfs";

/// Returns the possible file names of the ELF file with a name or hash. A folder in the name is
/// ignored.
fn elf_files(name: &str) -> [String; 3] {
    let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    [format!("{file}.so"), format!("{file}.elf"), file.into_owned()]
}

/// The configuration of the loader and the virtual machine that follows from a set of features.
#[derive(Debug)]
pub struct Profile {
    /// The environment to load programs in.
    pub environment: Environment,
    /// Whether each region begins at a multiple of 4 GiB.
    pub aligned_memory_mapping: bool,
    /// Whether unmapped gaps separate the stack frames of V0.
    pub enable_stack_frame_gaps: bool,
}

#[derive(Deserialize)]
struct RawProfile {
    sbpf_min: u32,
    sbpf_max: u32,
    reject_broken_elfs: bool,
    optimize_rodata: bool,
    aligned_memory_mapping: bool,
    enable_stack_frame_gaps: bool,
    syscalls: Vec<RawSyscall>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawSyscall {
    Name(String),
    Named { name: String },
}

impl TryFrom<RawProfile> for Profile {
    type Error = BadVector;

    fn try_from(raw: RawProfile) -> Result<Self, BadVector> {
        let version = |number| {
            let version = Version::from_e_flags(number);
            version.ok_or_else(|| BadVector(format!("unknown sBPF version {number}")))
        };
        let names = raw.syscalls.into_iter().map(|syscall| match syscall {
            RawSyscall::Name(name) | RawSyscall::Named { name } => name,
        });
        Ok(Self {
            environment: Environment {
                versions: version(raw.sbpf_min)?..=version(raw.sbpf_max)?,
                syscalls: Arc::new(Syscalls::new(names)),
                reject_broken_elfs: raw.reject_broken_elfs,
                optimize_rodata: raw.optimize_rodata,
                labels: false,
                // The profiles are those of agave 4.2, which uses anza sbpf 0.21.
                text_at_stack: true,
            },
            aligned_memory_mapping: raw.aligned_memory_mapping,
            enable_stack_frame_gaps: raw.enable_stack_frame_gaps,
        })
    }
}

fn parse_environments(text: &str) -> Result<BTreeMap<String, Arc<Profile>>, BadVector> {
    let raw: BTreeMap<String, RawProfile> = serde_json::from_str(text)?;
    raw.into_iter().map(|(name, raw)| Ok((name, Arc::new(raw.try_into()?)))).collect()
}

fn parse_sysvars(text: &str) -> Result<Sysvars, BadVector> {
    let accounts: Vec<VectorAccount> = serde_json::from_str(text)?;
    let mut sysvars = Sysvars::empty();
    for account in accounts {
        let set = sysvars.set(account.key.0, &account.data.0);
        set.map_err(|error| BadVector(error.to_string()))?;
    }
    Ok(sysvars)
}

/// A folder of ELF files, found by name (`NAME.so`, `NAME.elf`) or by the FNV-1a-64 hash of their
/// bytes.
#[derive(Debug, Default)]
pub struct Elfs {
    folder: Option<PathBuf>,
    loaded: Mutex<HashMap<String, Arc<[u8]>>>,
    by_hash: OnceLock<HashMap<u64, PathBuf>>,
}

impl Elfs {
    /// Returns the ELF files of a folder; `None` for no files.
    #[must_use]
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    fn get(&self, name: &str) -> Result<Arc<[u8]>, Missing> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = loaded.get(name) {
            return Ok(Arc::clone(bytes));
        }
        let Some(folder) = &self.folder else {
            return Err(Missing::NoElfFolder);
        };
        let by_name = elf_files(name).iter().find_map(|name| files::read(&folder.join(name)).ok());
        let by_hash =
            || files::read(self.by_hash(folder).get(&u64::from_str_radix(name, 16).ok()?)?).ok();
        let bytes = by_name.or_else(by_hash);
        let bytes =
            bytes.ok_or_else(|| Missing::Elf { name: name.to_owned(), folder: folder.clone() })?;
        let bytes: Arc<[u8]> = bytes.into();
        loaded.insert(name.to_owned(), Arc::clone(&bytes));
        Ok(bytes)
    }

    fn by_hash(&self, folder: &Path) -> &HashMap<u64, PathBuf> {
        self.by_hash.get_or_init(|| {
            let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
            paths.filter_map(|path| Some((fnv1a(&files::read(&path).ok()?), path))).collect()
        })
    }
}

/// Returns a program that a vector gives as its bytes in hex, or by a name or hash for
/// [`Context::elf`].
///
/// # Errors
/// If the file is missing: the reason to skip the vector.
pub(crate) fn program(text: &str, context: &Context) -> Result<Vec<u8>, Missing> {
    // Names and hashes are hex digits too, so they are told from bytes by their length.
    let is_name = [12, 16].contains(&text.len()) && !text.starts_with("7f454c46");
    match unhex(text) {
        Some(bytes) if !is_name => Ok(bytes),
        _ => context.elf(text).map(|bytes| bytes.to_vec()),
    }
}
