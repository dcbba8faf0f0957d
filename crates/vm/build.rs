//! Tells builds apart: what one of them froze no other may thaw. And tells whether the optimizer is off
//! (`unoptimized`), where a handler per instruction would take most of the time of a first `cargo test`.

#![allow(clippy::disallowed_methods, reason = "cargo passes everything in variables")]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The sources that decide what machine code looks like, and what a frozen program does: this
/// crate's, and beside it in the repository those that it stands on. From a registry the versions
/// of these are fixed by the version of this one.
const SOURCES: [&str; 3] = ["src", "../isa/src", "../elf/src"];

fn main() -> io::Result<()> {
    println!("cargo:rustc-check-cfg=cfg(unoptimized)");
    if env::var_os("OPT_LEVEL").is_some_and(|it| it == "0") {
        println!("cargo:rustc-cfg=unoptimized");
    }
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for folder in SOURCES {
        let folder = root.join(folder);
        if folder.is_dir() {
            println!("cargo:rerun-if-changed={}", folder.display());
            add(&folder, &mut hash)?;
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=SELKIE_VM_SOURCES={:016x}", hash.0);
    Ok(())
}

/// FNV-1a: it meets accidents, not adversaries.
struct Hash(u64);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Adds the files of a folder, in the order of their names.
fn add(folder: &Path, hash: &mut Hash) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        hash.add(path.file_name().unwrap_or_default().as_encoded_bytes());
        if path.is_dir() {
            add(&path, hash)?;
        } else {
            hash.add(&fs::read(&path)?);
        }
    }
    Ok(())
}
