//! ELF files for tests and conformance vectors, extracted from crates.io packages.
//!
//! They are not part of the repository: `elf-sources.tsv` and `blob-sources.tsv` in `testdata/elf`
//! list package, path and hash of each. `cargo` downloads the packages; the files are checked
//! against their hashes and copied to `testdata/elfs`, unless they are already there. So a test
//! that needs a file gets it, or fails with the reason.

mod registry;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use registry::Registry;

/// Returns the path of an ELF file, fetching it if necessary. `base` is the first 12 hex digits of
/// its SHA-256.
///
/// # Panics
/// If the file is missing and cannot be fetched: the test cannot run without it.
#[must_use]
pub fn elf(base: &str) -> PathBuf {
    let all = elf_rows().expect("the repository's list is well-formed");
    let name = format!("{base}.so");
    let fixture = all.iter().find(|it| it.file == name).expect("`base` is in `elf-sources.tsv`");
    provided(fixture)
}

/// Returns the paths of all ELF files in the order of the list, fetching them if necessary.
///
/// # Panics
/// If a file is missing and cannot be fetched.
#[must_use]
pub fn elfs() -> Vec<PathBuf> {
    let all = elf_rows().expect("the repository's list is well-formed");
    all.iter().map(provided).collect()
}

/// Fetches all files of the lists in the folder `sources`, and reports progress to `tell`.
///
/// # Errors
/// If a list is malformed or a file cannot be fetched.
pub fn fetch(sources: &Path, tell: &dyn Fn(&str)) -> Result<()> {
    let mut fixtures = read_list(&sources.join("elf-sources.tsv"), Fixture::from_elf_row)?;
    fixtures.extend(read_list(&sources.join("blob-sources.tsv"), Fixture::from_blob_row)?);
    let total = fixtures.len();
    for (index, fixture) in (1..).zip(&fixtures) {
        let state = fixture.provide(&target(), tell)?;
        tell(&format!("[{index}/{total}] {} {state}", fixture.file));
    }
    Ok(())
}

/// Returns the folder of a package's sources, downloading it if necessary.
///
/// # Errors
/// If cargo cannot download the package.
pub fn package(name: &str, version: &str, tell: &dyn Fn(&str)) -> Result<PathBuf> {
    let registry = Registry { scratch: repository().join("target/fixtures"), tell };
    let manifest = registry.file(name, version, Path::new("Cargo.toml"))?;
    Ok(manifest.parent().context("the manifest is in no folder")?.to_owned())
}

/// Returns the folder of the repository's lists.
#[must_use]
pub fn sources() -> PathBuf {
    repository().join("testdata/elf")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folder that files are copied to.
fn target() -> PathBuf {
    repository().join("testdata/elfs")
}

fn elf_rows() -> Result<Vec<Fixture>> {
    read_list(&sources().join("elf-sources.tsv"), Fixture::from_elf_row)
}

fn provided(fixture: &Fixture) -> PathBuf {
    if let Err(error) = fixture.provide(&target(), &|_| ()) {
        panic!("this test needs a program that cargo cannot fetch: {error:#}");
    }
    target().join(&fixture.file)
}

/// A file to be extracted from a package.
#[derive(Debug, PartialEq, Eq)]
struct Fixture {
    /// The name of the copy.
    file: String,
    sha256: String,
    /// Bytes to be prepended to the package's file.
    prefix: Vec<u8>,
    /// Name and version of the package.
    package: (String, String),
    /// Path of the file within the package.
    path: PathBuf,
}

impl Fixture {
    /// Parses a row with the columns base, SHA-256, package, path.
    fn from_elf_row(row: &[&str]) -> Option<Self> {
        let [base, sha256, package, path] = row else { return None };
        Some(Self {
            file: format!("{base}.so"),
            sha256: (*sha256).to_owned(),
            prefix: Vec::new(),
            package: registry::split_version(package)?,
            path: path.into(),
        })
    }

    /// Parses a row with the columns SHA-256, prefix, package, path.
    fn from_blob_row(row: &[&str]) -> Option<Self> {
        let [sha256, prefix, package, path] = row else { return None };
        Some(Self {
            file: format!("{sha256}.bin"),
            sha256: (*sha256).to_owned(),
            prefix: unhex(prefix)?,
            package: registry::split_version(package)?,
            path: path.into(),
        })
    }

    fn is_up_to_date(&self, target: &Path) -> bool {
        fs::read(target.join(&self.file)).is_ok_and(|bytes| sha256(&bytes) == self.sha256)
    }

    /// Copies the file unless it is there; returns what was done.
    fn provide(&self, target: &Path, tell: &dyn Fn(&str)) -> Result<&'static str> {
        if self.is_up_to_date(target) {
            return Ok("is up to date");
        }
        let scratch = repository().join("target/fixtures");
        fs::create_dir_all(&scratch)?;
        fs::create_dir_all(target)?;
        // Tests run in many threads and processes: only one fetches at a time.
        let lock = File::create(scratch.join("lock"))?;
        lock.lock()?;
        if !self.is_up_to_date(target) {
            let bytes = self.extract(&Registry { scratch, tell })?;
            // Rename when complete, so that readers see the whole file or none.
            let temporary = target.join(format!("{}.part", self.file));
            let write = || {
                fs::write(&temporary, bytes)?;
                fs::rename(&temporary, target.join(&self.file))
            };
            write().with_context(|| format!("cannot write to {}", target.display()))?;
        }
        Ok("fetched")
    }

    fn extract(&self, registry: &Registry<'_>) -> Result<Vec<u8>> {
        let (name, version) = &self.package;
        let source = registry.file(name, version, &self.path)?;
        let content =
            fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let bytes = [self.prefix.as_slice(), &content].concat();
        let found = sha256(&bytes);
        ensure!(
            found == self.sha256,
            "{} of {name} {version} has another hash than the list\n  \
             expected SHA-256 {}\n  found    SHA-256 {found}",
            self.path.display(),
            self.sha256,
        );
        Ok(bytes)
    }
}

/// Parses a list of tab-separated rows below a heading.
fn read_list(path: &Path, row: fn(&[&str]) -> Option<Fixture>) -> Result<Vec<Fixture>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty());
    rows.map(|(index, line)| {
        let columns: Vec<&str> = line.split('\t').collect();
        row(&columns)
            .with_context(|| format!("{}:{}: not a row of this list", path.display(), index + 1))
    })
    .collect()
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
    fn the_repository_lists_are_well_formed() {
        let blobs = sources().join("blob-sources.tsv");
        let blobs = read_list(&blobs, Fixture::from_blob_row).unwrap();
        let elfs = elf_rows().unwrap();
        assert_eq!((elfs.len(), blobs.len()), (42, 6));
        assert!(elfs.iter().all(|elf| elf.sha256.starts_with(&elf.file[..12])));
    }

    #[test]
    fn missing_and_damaged_files_are_fetched() {
        let target = std::env::temp_dir().join(format!("selkie-testdata-{}", std::process::id()));
        let all = elf_rows().unwrap();
        let smallest = all.iter().find(|it| it.file == "47f1a3af2045.so").unwrap();
        assert_eq!(smallest.provide(&target, &|_| ()).unwrap(), "fetched");
        assert_eq!(smallest.provide(&target, &|_| ()).unwrap(), "is up to date");
        fs::write(target.join(&smallest.file), "damaged").unwrap();
        assert_eq!(smallest.provide(&target, &|_| ()).unwrap(), "fetched");
        assert!(smallest.is_up_to_date(&target));
        fs::remove_dir_all(target).unwrap();
    }

    #[test]
    fn a_file_with_another_hash_is_refused() {
        let mut all = elf_rows().unwrap();
        let wrong =
            Fixture { sha256: "00".to_owned(), file: "wrong.so".to_owned(), ..all.remove(1) };
        let error = wrong.provide(&target(), &|_| ()).unwrap_err().to_string();
        assert!(error.contains("has another hash than the list"), "{error}");
        assert!(!target().join("wrong.so").exists());
    }

    #[test]
    fn sha256_and_unhex_match_known_values() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
        assert_eq!((unhex("00ff"), unhex("0g")), (Some(vec![0, 255]), None));
    }
}
