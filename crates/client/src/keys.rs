//! Reads and writes key files in the format of `solana-keygen`.

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use selkie::{Keypair, Pubkey, Signer as _};
use selkie_isa::input;

/// Reads a key file.
pub fn read(path: &Path) -> Result<Keypair> {
    let shown = path.display();
    let text = input::text(path, input::TEXT_BYTES_MAX)
        .with_context(|| format!("cannot read the key file {shown}"))
        .advise("`selkie keygen new FILE` creates one")?;
    parse(&text)
        .with_context(|| format!("{shown} is not a key file"))
        .advise("a key file is a JSON list of 64 numbers, as `solana-keygen` writes it")
}

fn parse(text: &str) -> Result<Keypair> {
    let bytes: Vec<u8> = serde_json::from_str(text).or_failure()?;
    Keypair::try_from(bytes.as_slice()).map_err(|error| Failure::new(format!("{error}")))
}

/// Generates a key and writes it to a new file that only its owner can read.
pub fn create(path: &Path) -> Result<Keypair> {
    let key = Keypair::new();
    write(path, &key)?;
    Ok(key)
}

/// Writes a key to a new file that only its owner can read. Fails if the file exists.
pub fn write(path: &Path, key: &Keypair) -> Result<()> {
    let text = serde_json::to_string(key.to_bytes().as_slice()).or_failure()?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write the key file {}", path.display()))
}

/// Whether a file is in the work tree of a git repository that does not ignore it. False if git is
/// not installed.
pub fn is_unignored_by_git(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
    if !folder.ancestors().any(|it| it.join(".git").exists()) {
        return false;
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["check-ignore", "--quiet", "--"]).arg(name);
    git.stdout(Stdio::null()).stderr(Stdio::null());
    // 0: ignored; 1: not ignored; others: git failed.
    git.status().is_ok_and(|status| status.code() == Some(1))
}

/// Returns a `.gitignore` pattern that covers a key file and others of its kind.
pub fn ignore_pattern(name: &str) -> String {
    let endings = ["-keypair.json", ".payer.json"].into_iter();
    let pattern = endings.map(|it| format!("*{it}")).find(|it| name.ends_with(&it[1..]));
    pattern.unwrap_or_else(|| name.to_owned())
}

/// Whether a key file holds the key of this address; false if it cannot be read.
pub fn is_of(path: &Path, address: &Pubkey) -> bool {
    read(path).is_ok_and(|key| key.pubkey() == *address)
}

/// Returns the path of the default payer's key file beside the state of a cluster.
pub fn payer_beside(state: &Path) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(".payer.json");
    name.into()
}

/// Returns the default payer's key file, if it exists.
pub fn payer_file(state: &Path) -> Option<PathBuf> {
    let beside = || Some(payer_beside(state)).filter(|path| path.is_file());
    solana_cli().or_else(beside)
}

/// Returns the default key file of the Solana CLI, if it exists.
pub fn solana_cli() -> Option<PathBuf> {
    let path = env::home_dir()?.join(".config/solana/id.json");
    path.is_file().then_some(path)
}
