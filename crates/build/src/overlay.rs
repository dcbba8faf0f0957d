//! The standard library's source, patched to support Solana as an operating system.
//!
//! The overlay is a folder of links to the source, in which a few files are patched copies. Each
//! patch replaces a text. If the text is missing, the source is of an unsupported version, which is
//! an error.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::{Path, PathBuf},
};

use selkie_isa::input;

use crate::BuildError;

/// A replacement of every occurrence of a text in a file.
struct Edit {
    path: &'static str,
    from: &'static str,
    to: &'static str,
}

const VEXOS: &str = "target_os = \"vexos\",";
const VEXOS_AND_SOLANA: &str = "target_os = \"vexos\", target_os = \"solana\",";

const EDITS: &[Edit] = &[
    // The buffer for sorting has 4 KiB, as much as a whole stack frame.
    Edit {
        path: "core/src/slice/sort/stable/mod.rs",
        from: "AlignedStorage::<T, 4096>",
        to: "AlignedStorage::<T, 2048>",
    },
    // LLVM cannot select atomic instructions of 8 and 16 bits, and a single thread needs none.
    Edit {
        path: "core/src/sync/atomic.rs",
        from: "intrinsics::atomic_",
        to: "crate::sync::plain::atomic_",
    },
    Edit {
        path: "core/src/sync/mod.rs",
        from: "pub mod atomic;\n",
        to: "pub mod atomic;\nmod plain;\n",
    },
    // Where pointers cannot be atomic, no writable variable holds the functions for the system's
    // errors, of which a program meets none.
    Edit {
        path: "core/src/io/error.rs",
        from: "all(target_has_atomic_load_store = \"ptr\", not(no_io_statics))",
        to: "all(target_has_atomic_load_store = \"ptr\", not(target_os = \"solana\"))",
    },
    Edit {
        path: "std/build.rs",
        from: "|| target_os == \"zkvm\"",
        to: "|| target_os == \"zkvm\" || target_os == \"solana\"",
    },
    Edit {
        path: "std/src/sys/alloc/mod.rs",
        from: "    target_arch = \"wasm64\",\n",
        to: "    target_arch = \"wasm64\",\n    target_arch = \"bpf\",\n",
    },
    Edit {
        path: "std/src/sys/alloc/mod.rs",
        from: "    target_os = \"zkvm\" => {\n",
        to: "    target_os = \"solana\" => {\n        mod solana;\n        use solana as imp;\n    }\n    \
             target_os = \"zkvm\" => {\n",
    },
    // Solana lacks what VEXos lacks.
    Edit { path: "std/src/sys/io/error/mod.rs", from: VEXOS, to: VEXOS_AND_SOLANA },
    Edit { path: "std/src/sys/random/mod.rs", from: VEXOS, to: VEXOS_AND_SOLANA },
    Edit { path: "std/src/sys/thread_local/mod.rs", from: VEXOS, to: VEXOS_AND_SOLANA },
    Edit {
        path: "std/src/panicking.rs",
        from: "    let loc = info.location().unwrap(); // The current implementation always returns Some\n",
        to: "    #[cfg(target_os = \"solana\")]\n    report_panic(info);\n    \
             let loc = info.location().unwrap(); // The current implementation always returns Some\n",
    },
    Edit {
        path: "std/src/panicking.rs",
        from: "/// Entry point of panics from the core crate (`panic_impl` lang item).\n",
        to: concat!(
            include_str!("overlay/panic.rs.txt"),
            "\n/// Entry point of panics from the core crate (`panic_impl` lang item).\n"
        ),
    },
];

/// Files that are added to the source.
const ADDED: &[(&str, &str)] = &[
    ("core/src/sync/plain.rs", include_str!("overlay/atomic.rs.txt")),
    ("std/src/sys/alloc/solana.rs", include_str!("overlay/alloc.rs.txt")),
];

/// Creates the overlay unless it exists, and returns its folder. The name of the folder is a hash of
/// source and edits, because cargo assumes that the library's source never changes.
///
/// # Errors
///
/// If the source is of an unsupported version, or the folder cannot be written.
pub(crate) fn make(library: &Path, toolchain: &str, cache: &Path) -> Result<PathBuf, BuildError> {
    let mut hasher = DefaultHasher::new();
    (library, toolchain).hash(&mut hasher);
    EDITS.iter().for_each(|it| (it.path, it.from, it.to).hash(&mut hasher));
    ADDED.hash(&mut hasher);
    let folder = cache.join("rust-src").join(format!("{:016x}", hasher.finish()));
    let made = folder.join("library");
    if made.is_dir() {
        return Ok(made);
    }
    // Each process creates a draft of its own. The first one that is complete is used.
    let draft = folder.with_extension(std::process::id().to_string());
    let result = mirror(library, &draft.join("library"), Path::new(""), toolchain);
    result.inspect_err(|_| drop(fs::remove_dir_all(&draft)))?;
    if fs::rename(&draft, &folder).is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    match made.is_dir() {
        true => Ok(made),
        false => Err(BuildError::file(&made, &io::ErrorKind::NotFound.into())),
    }
}

/// Mirrors a folder: edited files as copies, all others as links.
fn mirror(from: &Path, to: &Path, within: &Path, toolchain: &str) -> Result<(), BuildError> {
    let failed = |error| BuildError::file(to, &error);
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(|error| BuildError::file(from, &error))? {
        let name = entry.map_err(|error| BuildError::file(from, &error))?.file_name();
        let (from, to, within) = (from.join(&name), to.join(&name), within.join(&name));
        let concerned = |path: &str| Path::new(path).starts_with(&within);
        let edited = EDITS.iter().any(|it| concerned(it.path));
        if from.is_dir() && (edited || ADDED.iter().any(|(path, _)| concerned(path))) {
            mirror(&from, &to, &within, toolchain)?;
        } else if edited {
            let text = input::text(&from, input::TEXT_BYTES_MAX)
                .map_err(|error| BuildError::file(&from, &error))?;
            fs::write(&to, edit(&within, text, toolchain)?).map_err(failed)?;
        } else {
            link(&from, &to).map_err(failed)?;
        }
    }
    let added = ADDED.iter().map(|&(path, text)| (Path::new(path), text));
    for (path, text) in added.filter(|(path, _)| path.parent() == Some(within)) {
        fs::write(to.join(path.file_name().unwrap_or_default()), text).map_err(failed)?;
    }
    Ok(())
}

fn edit(path: &Path, mut text: String, toolchain: &str) -> Result<String, BuildError> {
    for it in EDITS.iter().filter(|it| Path::new(it.path) == path) {
        if !text.contains(it.from) {
            return Err(BuildError::setup(
                format!("the standard library of {toolchain} is not supported: {}", it.path),
                format!("install a supported toolchain: {}", crate::toolchain::INSTALL),
            ));
        }
        text = text.replace(it.from, it.to);
    }
    Ok(text)
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        link(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}
