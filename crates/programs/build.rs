//! Writes each program of the table into the output folder, as the packages that carry it give it:
//! `NAME.so`, and `NAME.data`, the address of its data account, for programs of loader v3.

#![cfg_attr(not(feature = "files"), allow(dead_code, reason = "then nothing is written"))]

use std::{env, error::Error, fs, path::Path};

/// Bytes of a data account in front of the file.
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
        return Err(format!("what the package has of program `{name}` is no ELF file").into());
    }
    fs::write(folder.join(name).with_extension("so"), elf)?;
    fs::write(folder.join(name).with_extension("data"), data_address)?;
    Ok(())
}

/// Takes a program from a package. The types are the package's own, which differ by version.
#[cfg(feature = "files")]
macro_rules! take {
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
            _ => return Err(concat!("the accounts of program ", $name, " are not known").into()),
        }
    }};
}

#[cfg(feature = "files")]
macro_rules! table {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $address:literal, $loader:ident, $package:ident;)*) => {
        fn write_all(folder: &Path) -> Written {
            $(take!(folder, $name, $address, $package);)*
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
