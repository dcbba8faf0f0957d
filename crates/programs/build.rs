//! Copies each program of the table from its package into the output folder: `NAME.so` is the ELF
//! file, `NAME.data` the programdata address for programs of loader v3, and empty for others.

#![cfg_attr(
    not(feature = "files"),
    allow(dead_code, reason = "without the feature nothing is written")
)]
#![allow(clippy::disallowed_methods, reason = "cargo passes everything in variables")]

use std::{env, error::Error, fs, path::Path};

/// Bytes of a programdata account in front of the ELF file.
const PROGRAM_DATA_HEADER_BYTES: usize = 45;

type Written = Result<(), Box<dyn Error>>;

fn main() -> Written {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/table.rs");
    if env::var_os("CARGO_FEATURE_FILES").is_some() {
        write_all(Path::new(&env::var("OUT_DIR")?))?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, elf: &[u8], data_address: &[u8]) -> Written {
    if !elf.starts_with(b"\x7fELF") {
        return Err(format!("the package's file of program `{name}` is not an ELF file").into());
    }
    fs::write(folder.join(name).with_extension("so"), elf)?;
    fs::write(folder.join(name).with_extension("data"), data_address)?;
    Ok(())
}

/// Copies a program from a package. A macro, since the packages' types differ by version.
#[cfg(feature = "files")]
macro_rules! copy {
    ($folder:expr, $name:literal, $address:literal, $package:ident) => {{
        let accounts = $package::by_id(&$address.parse()?, &Default::default());
        let accounts = accounts.ok_or(concat!("the package does not have program ", $name))?;
        match accounts.as_slice() {
            [(_, program)] => write($folder, $name, &program.data_clone(), &[])?,
            [_, (address, data)] => {
                let data = data.data_clone();
                let elf = data.get(PROGRAM_DATA_HEADER_BYTES..).unwrap_or_default();
                write($folder, $name, elf, address.as_ref())?;
            }
            _ => return Err(concat!("unexpected number of accounts of program ", $name).into()),
        }
    }};
}

#[cfg(feature = "files")]
macro_rules! table {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $address:literal, $loader:ident, $package:ident;)*) => {
        fn write_all(folder: &Path) -> Written {
            $(copy!(folder, $name, $address, $package);)*
            Ok(())
        }
    };
}

#[cfg(feature = "files")]
include!("src/table.rs");

#[cfg(not(feature = "files"))]
fn write_all(_: &Path) -> Written {
    Ok(())
}
