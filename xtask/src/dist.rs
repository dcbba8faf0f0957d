//! `cargo xtask dist`: archives of the command for other machines, with licences and checksums.
//!
//! `--quick` makes the same archives with the profile `quick`, in less time: to try a change of this chore.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    io::{Cursor, Write as _},
    iter,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    cross::{self, Platform, Product},
    output, print, repository, say,
    steps::{cargo_command, step, succeed},
};

/// Files of the repository that are in each archive.
const FILES: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// What the archives' checksums are written to.
const SUMS: &str = "SHA256SUMS";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (profile, names) = match arguments {
        [first, names @ ..] if first == "--quick" => ("quick", names),
        names => ("lto", names),
    };
    let folder = repository().join("target/dist");
    fs::create_dir_all(&folder)?;
    for platform in cross::named(names, |it| it.has_archive)? {
        step(platform.target, || {
            build(&platform, profile)?;
            let path = folder.join(archive_name(&platform));
            fs::write(&path, archive(&platform, &files(&platform, profile)?)?)?;
            say(&format!("{}: {} bytes", path.display(), path.metadata()?.len()));
            Ok(())
        })?;
    }
    let sums = checksums(&folder)?;
    fs::write(folder.join(SUMS), &sums)?;
    print(sums.trim_end());
    Ok(())
}

fn build(platform: &Platform, profile: &str) -> Result<()> {
    let mut command = platform.cargo(repository(), Product::Program)?;
    command.args(["--profile", profile, "--locked", "--package", "selkie-cli"]);
    command.env(format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase()), "symbols");
    succeed(&mut command)
}

fn stem(platform: &Platform) -> String {
    format!("selkie-{}-{}", env!("CARGO_PKG_VERSION"), platform.target)
}

fn archive_name(platform: &Platform) -> String {
    stem(platform) + if platform.is_windows() { ".zip" } else { ".tar.gz" }
}

/// A file of an archive: its name, and what is in it.
type Entry = (String, Vec<u8>);

/// Returns the files of a target's archive, the command first.
fn files(platform: &Platform, profile: &str) -> Result<Vec<Entry>> {
    let binary = if platform.is_windows() { "selkie.exe" } else { "selkie" };
    let built = repository().join("target").join(platform.target).join(profile).join(binary);
    let mut files = vec![(binary.to_owned(), read(&built)?)];
    for name in FILES {
        files.push(((*name).to_owned(), read(&repository().join(name))?));
    }
    files.push((
        "LICENSES-OF-LIBRARIES.txt".to_owned(),
        licences(repository(), "selkie-cli", platform.target)?.into_bytes(),
    ));
    Ok(files)
}

/// Returns an archive of files, the first of which can be executed: the same files give the same bytes.
fn archive(platform: &Platform, files: &[Entry]) -> Result<Vec<u8>> {
    let modes = [0o755].into_iter().chain(iter::repeat(0o644));
    let stem = stem(platform);
    if platform.is_windows() {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for ((name, bytes), mode) in files.iter().zip(modes) {
            let options = SimpleFileOptions::default().unix_permissions(mode);
            archive.start_file(format!("{stem}/{name}"), options)?;
            archive.write_all(bytes)?;
        }
        return Ok(archive.finish()?.into_inner());
    }
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for ((name, bytes), mode) in files.iter().zip(modes) {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_mtime(0);
        archive.append_data(&mut header, format!("{stem}/{name}"), &bytes[..])?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the checksums of all archives in a folder, as `sha256sum --check` reads them.
fn checksums(folder: &Path) -> Result<String> {
    let mut sums = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != SUMS {
            sums.insert(name, hex(&Sha256::digest(read(&entry.path())?)));
        }
    }
    let mut text = String::new();
    sums.iter().try_for_each(|(name, sum)| writeln!(text, "{sum}  {name}"))?;
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// A library's licence: the names of its files, and where they are.
struct Library {
    title: String,
    folder: PathBuf,
}

/// Returns the licences of all libraries that a package of a workspace has in it for a target, each text
/// once.
pub(crate) fn licences(workspace: &Path, package: &str, target: &str) -> Result<String> {
    let mut by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut text = "The libraries in this file, and their licences.\n".to_owned();
    for library in libraries(workspace, package, target)? {
        let texts = licence_texts(&library.folder)?;
        if texts.is_empty() {
            writeln!(text, "\n{}: its package contains no text of the licence.", library.title)?;
        }
        for it in texts {
            by_text.entry(it).or_default().insert(library.title.clone());
        }
    }
    for (licence, titles) in by_text {
        let titles: Vec<String> = titles.into_iter().collect();
        write!(text, "\n{}\n{}\n\n{licence}\n", "=".repeat(80), titles.join("\n"))?;
    }
    Ok(text)
}

fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    const NAMES: &[&str] = &["license", "licence", "copying", "notice", "copyright", "unlicense"];
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if NAMES.iter().any(|it| name.starts_with(it)) && path.is_file() {
            texts.insert(String::from_utf8_lossy(&read(&path)?).trim().replace('\r', ""));
        }
    }
    Ok(texts.into_iter().collect())
}

/// Returns the libraries of other people in a package of a workspace.
fn libraries(workspace: &Path, package: &str, target: &str) -> Result<Vec<Library>> {
    let arguments = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
    let mut metadata = cargo_command();
    metadata.args(arguments).current_dir(workspace);
    let metadata: Value = serde_json::from_slice(&output(&mut metadata)?.stdout)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|it| (text(&it["id"]), it)).collect();
    let nodes: BTreeMap<String, Value> =
        list(&metadata["resolve"]["nodes"]).into_iter().map(|it| (text(&it["id"]), it)).collect();
    let root = packages.iter().find(|it| it.1["name"] == package).context(package.to_owned())?;
    let mut waiting = vec![root.0.clone()];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let is_linked = |it: &&Value| list(&it["dep_kinds"]).iter().any(|it| it["kind"].is_null());
        let dependencies = list(&nodes.get(&id).context("a package without dependencies")?["deps"]);
        waiting.extend(dependencies.iter().filter(is_linked).map(|it| text(&it["pkg"])));
    }
    let others = seen.iter().filter_map(|id| packages.get(id)).filter(|it| !it["source"].is_null());
    let library = |it: &Value| {
        let manifest = PathBuf::from(text(&it["manifest_path"]));
        let folder = manifest.parent().context("a manifest without a folder")?.to_owned();
        let licence = it["license"].as_str().unwrap_or("in a file of its package");
        let title = format!("{} {} ({licence})", text(&it["name"]), text(&it["version"]));
        Ok(Library { title, folder })
    };
    others.map(library).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cross::PLATFORMS;

    #[test]
    fn archives_hold_their_files() {
        let files = [("selkie", "program"), ("README.md", "text")];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        for platform in PLATFORMS.iter().filter(|it| it.has_archive) {
            let bytes = archive(platform, &files).expect("files in memory");
            let stem = stem(platform);
            let mut names = Vec::new();
            if platform.is_windows() {
                let archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
                names.extend(archive.file_names().map(str::to_owned));
            } else {
                let unpacked = flate2::read::GzDecoder::new(&bytes[..]);
                let mut archive = tar::Archive::new(unpacked);
                for entry in archive.entries().expect("an archive") {
                    let entry = entry.expect("a file");
                    let path = entry.path().expect("a path").display().to_string();
                    let mode = entry.header().mode().expect("a mode");
                    assert_eq!(mode & 0o111 != 0, path.ends_with("selkie"), "{path}");
                    names.push(path);
                }
            }
            names.sort();
            assert_eq!(names, [format!("{stem}/README.md"), format!("{stem}/selkie")]);
        }
    }

    #[test]
    fn licences_are_those_of_all_libraries() {
        let target = "x86_64-unknown-linux-musl";
        let (workspace, package) = (repository(), "selkie-cli");
        let text = licences(workspace, package, target).expect("cargo knows the libraries");
        for library in libraries(workspace, package, target).expect("cargo knows the libraries") {
            assert!(text.contains(&library.title), "{}", library.title);
        }
        for licence in ["Apache License", "Permission is hereby granted", "serde_json 1."] {
            assert!(text.contains(licence), "{licence}");
        }
    }
}
