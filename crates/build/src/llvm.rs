//! A copy of the toolchain's LLVM that aligns 128-bit integers to 8 bytes, as the official toolchain does.
//!
//! The layout of `u128` and `i128` follows LLVM's data layout. Anza's targets leave 128-bit integers out
//! of it (`sbf_base.rs` in anza-xyz/rust), which means 8 bytes. LLVM's own target for BPF says 16 since
//! LLVM 21, and rustc refuses a target whose data layout differs from LLVM's. With 16 bytes,
//! `#[repr(C)] struct Pool { fee: u64, liquidity: u128 }` would read the accounts of programs that are
//! on mainnet at the wrong offset.
//!
//! So the library is copied once for each toolchain, and in the copy one number of one text is replaced by
//! another of the same length. Only crates of programs are compiled with the copy. It cannot be made
//! where LLVM is a part of rustc's own library, as on macOS and Windows.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use selkie_isa::input;

use crate::{BuildError, toolchain::Toolchain};

/// The data layout of LLVM's target for BPF. Targets that have it, too, are not those of programs.
const LLVM_LAYOUT: &str = "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128";

/// The official data layout, in as many bytes: LLVM reads `064` as 64 bits.
const OFFICIAL_LAYOUT: &str = "e-m:e-p:64:64-i64:64-i128:064-n32:64-S128";

const _: () = assert!(LLVM_LAYOUT.len() == OFFICIAL_LAYOUT.len(), "offsets in the library stay");

/// The environment variable by which the wrapper of rustc learns the folder of the copy.
const VARIABLE: &str = "SELKIE_LLVM_DIR";

/// The variable that names folders of libraries which come before those that a program names itself.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The largest library that is copied. That of Rust 1.99 has 208 MB.
const LIBRARY_BYTES_MAX: u64 = 1 << 30;

/// The alignment of 128-bit integers in a build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Llvm {
    /// 8 bytes, by the copy of LLVM in this folder.
    Official(PathBuf),
    /// 16 bytes, since the toolchain's LLVM cannot be copied. The text says why.
    Own(String),
}

impl Llvm {
    /// Makes the copy of the toolchain's LLVM, unless it is in the cache already.
    ///
    /// # Errors
    ///
    /// If the library cannot be read or the copy cannot be written. A library that has no such text, or
    /// several, is no error.
    pub(crate) fn of(toolchain: &Toolchain, cache: &Path) -> Result<Self, BuildError> {
        let folder = toolchain.root.join("lib");
        match library(&folder) {
            Some(library) => copy(&library, cache),
            None => Ok(Self::Own(format!("{} has no LLVM library of its own", toolchain.name))),
        }
    }

    /// Returns the data layout for the target specification.
    pub(crate) const fn data_layout(&self) -> &'static str {
        match self {
            Self::Official(_) => OFFICIAL_LAYOUT,
            Self::Own(_) => LLVM_LAYOUT,
        }
    }

    /// Returns why 128-bit integers are aligned otherwise than officially, if they are.
    pub(crate) fn difference(&self) -> Option<&str> {
        match self {
            Self::Official(_) => None,
            Self::Own(reason) => Some(reason),
        }
    }

    /// Tells the wrapper that `cargo` starts of the copy.
    pub(crate) fn pass_to(&self, cargo: &mut Command) {
        match self {
            Self::Official(folder) => cargo.env(VARIABLE, folder),
            Self::Own(_) => cargo.env_remove(VARIABLE),
        };
    }
}

/// Lets rustc load the copy, if the wrapper was told of one.
#[allow(
    clippy::disallowed_methods,
    reason = "a variable that this module sets, and the loader's own"
)]
pub(crate) fn use_in(rustc: &mut Command) {
    let Some(folder) = env::var_os(VARIABLE) else { return };
    let others = env::var_os(LIBRARY_PATH).unwrap_or_default();
    let others = env::split_paths(&others).filter(|it| !it.as_os_str().is_empty());
    let folders = env::join_paths([PathBuf::from(folder)].into_iter().chain(others));
    // A folder whose name has a colon cannot be given. Then rustc says that the layouts differ.
    if let Ok(folders) = folders {
        rustc.env(LIBRARY_PATH, folders);
    }
}

/// Returns the shared library of LLVM in a toolchain's `lib`. Its name on other systems than Linux is
/// another one.
fn library(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    // Beside it, a linker script refers to it.
    let mut libraries = entries.filter(|it| {
        it.file_name().to_string_lossy().starts_with("libLLVM.so")
            && it.file_type().is_ok_and(|it| it.is_file())
    });
    let library = libraries.next()?.path();
    libraries.next().is_none().then_some(library)
}

/// Copies a library with the official data layout to a folder of the cache that stands for this library.
fn copy(library: &Path, cache: &Path) -> Result<Llvm, BuildError> {
    let failed = |error| BuildError::file(library, &error);
    let metadata = fs::metadata(library).map_err(failed)?;
    let name = library.file_name().unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    (library, metadata.len(), changed, LLVM_LAYOUT, OFFICIAL_LAYOUT).hash(&mut hasher);
    let folder = cache.join("llvm").join(format!("{:016x}", hasher.finish()));
    if folder.join(name).is_file() {
        return Ok(Llvm::Official(folder));
    }
    if metadata.len() > LIBRARY_BYTES_MAX {
        return Ok(Llvm::Own(format!("{} is too large to copy", library.display())));
    }
    let mut bytes = input::read(library, LIBRARY_BYTES_MAX).map_err(failed)?;
    let [at] = memchr::memmem::find_iter(&bytes, LLVM_LAYOUT).collect::<Vec<_>>()[..] else {
        let message = "does not contain the data layout of BPF exactly once";
        return Ok(Llvm::Own(format!("{} {message}", library.display())));
    };
    bytes[at..at + OFFICIAL_LAYOUT.len()].copy_from_slice(OFFICIAL_LAYOUT.as_bytes());
    // Each process writes a draft of its own. The first one that is complete is used.
    let draft = folder.with_extension(std::process::id().to_string());
    let written = fs::create_dir_all(&draft).and_then(|()| fs::write(draft.join(name), &bytes));
    let written = written.inspect_err(|_| drop(fs::remove_dir_all(&draft)));
    written.map_err(|error| BuildError::file(&draft, &error))?;
    if fs::rename(&draft, &folder).is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    match folder.join(name).is_file() {
        true => Ok(Llvm::Official(folder)),
        false => Err(BuildError::file(&folder, &io::ErrorKind::NotFound.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn copied(name: &str, texts: &[&str]) -> (Llvm, Option<String>) {
        let folder = env::temp_dir().join(format!("selkie-llvm-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder is writable");
        let path = folder.join("libLLVM.so.23.1");
        fs::write(&path, texts.concat()).expect("the folder is writable");
        let found = library(&folder).expect("it is there");
        let llvm = copy(&found, &folder.join("cache")).expect("the folder is writable");
        let again = copy(&found, &folder.join("cache"));
        assert_eq!(again.expect("it is there"), llvm, "the copy is made once");
        let text = match &llvm {
            Llvm::Official(made) => fs::read_to_string(made.join("libLLVM.so.23.1")).ok(),
            Llvm::Own(_) => None,
        };
        assert_eq!(
            fs::read_to_string(path).ok(),
            Some(texts.concat()),
            "the original is as it was"
        );
        fs::remove_dir_all(folder).expect("it is there");
        (llvm, text)
    }

    #[test]
    fn copy_differs_in_the_alignment_of_128_bit_integers_alone() {
        let (_, text) = copied("once", &["\x7fELF ", LLVM_LAYOUT, "\0rest"]);
        assert_eq!(text, Some(["\x7fELF ", OFFICIAL_LAYOUT, "\0rest"].concat()));
    }

    #[test]
    fn unknown_library_is_not_changed() {
        for (name, texts) in
            [("none", &["e-m:e"][..]), ("twice", &[LLVM_LAYOUT, "\0", LLVM_LAYOUT])]
        {
            let (llvm, text) = copied(name, texts);
            assert!(matches!(llvm, Llvm::Own(_)), "{name}");
            assert_eq!((llvm.data_layout(), text), (LLVM_LAYOUT, None));
        }
    }
}
