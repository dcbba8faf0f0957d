//! The stand-in for rustc's linker: keeps the objects that rustc passes to it.
//!
//! Rustc runs a linker after compiling, and deletes its objects afterwards. This linker copies them,
//! and writes a list of them in place of the program, which is linked after cargo has finished. So
//! cargo still decides what to recompile, linker errors are shown without rustc's own error around
//! them, and a program can be relinked without compiling.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use selkie_isa::input;
use serde::{Deserialize, Serialize};

/// The argument that tells a program that rustc started it as its linker.
pub(crate) const ARGUMENT: &str = "--collect-for-selkie";

/// The inputs of the linker.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Collected {
    pub(crate) objects: Vec<PathBuf>,
}

impl Collected {
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&input::read(path, input::FILE_BYTES_MAX)?)?)
    }
}

/// Runs as rustc's linker with its arguments.
///
/// # Errors
///
/// If a file cannot be read or written, or the arguments name no output.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let (output, objects) = files(arguments);
    let output = output.ok_or_else(|| io::Error::other("the linker was given no -o"))?;
    let mut folder = output.clone().into_os_string();
    folder.push(".objects");
    let folder = PathBuf::from(folder);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut kept = Vec::new();
    for (index, object) in objects.into_iter().enumerate() {
        if object.extension().is_some_and(|it| it == "rlib") {
            kept.push(object);
            continue;
        }
        let name = object.file_name().map(|it| it.to_string_lossy().into_owned());
        let copy = folder.join(format!("{index}-{}", name.unwrap_or_default()));
        fs::copy(&object, &copy)?;
        kept.push(copy);
    }
    fs::write(&output, serde_json::to_vec(&Collected { objects: kept })?)
}

/// Returns output and inputs from the arguments that rustc passes to linkers for BPF.
fn files(mut arguments: impl Iterator<Item = OsString>) -> (Option<PathBuf>, Vec<PathBuf>) {
    let mut output = None;
    let mut objects = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-o") => output = arguments.next().map(PathBuf::from),
            Some("--export-symbols" | "--cpu" | "--cpu-features" | "-L" | "-l") => {
                arguments.next();
            }
            Some(other) if other.starts_with('-') => {}
            _ => objects.push(PathBuf::from(argument)),
        }
    }
    (output, objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_inputs_are_found_in_the_arguments_of_rustc() {
        let said = "--export-symbols /t/symbols --collect-for-selkie /t/symbols.o a.o libcore.rlib -L /t --cpu v2 \
                    --cpu-features +x -o out.so -O3 --debug";
        let (output, objects) = files(said.split_whitespace().map(OsString::from));
        assert_eq!(output, Some("out.so".into()));
        assert_eq!(objects, ["/t/symbols.o", "a.o", "libcore.rlib"].map(PathBuf::from));
    }
}
