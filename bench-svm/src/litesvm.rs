//! Builds and loads the library with LiteSVM's side, which has dependencies of its own.
//!
//! This is the only file with `unsafe`.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use libloading::{Library, Symbol, library_filename};
use selkie_bench_seam::{Failure, Side};

/// Builds the library with some features of `peer` if it is out of date, and loads it until the process
/// ends.
///
/// # Errors
/// If it cannot be built or loaded.
pub fn load(features: &[&str]) -> Result<Box<dyn Side>, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peer");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Its packages declare a newer compiler than they need.
    let arguments = ["build", "--release", "--locked", "--ignore-rust-version"];
    let built = Command::new(cargo)
        .args(arguments)
        .args(["--features", &features.join(",")])
        .args(["--target-dir", "target"])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .status();
    if !built.map_err(|error| format!("cargo cannot be run: {error}"))?.success() {
        return Err("LiteSVM does not build".into());
    }
    let file = folder.join("target/release").join(library_filename("selkie_bench_litesvm"));
    // SAFETY: the library was built from this repository; it has no constructors that run when it is loaded.
    let library = unsafe { Library::new(&file) }.map_err(|error| error.to_string())?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: `peer/src/lib.rs` declares the function with this type. Both sides come from the same
    // compiler, the same source of `seam` and the same profile, and have the system's allocator, so
    // that they agree on trait objects and on who frees what.
    let side: Symbol<'static, fn() -> Box<dyn Side>> =
        unsafe { library.get(b"selkie_bench_side\0") }.map_err(|error| error.to_string())?;
    Ok(side())
}
