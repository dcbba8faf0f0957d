//! Reads and writes key files in the format of `solana-keygen`.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, anyhow};
use selkie::{Keypair, Pubkey, Signer as _};
use selkie_isa::input;

use crate::ui::{Advise as _, Ui};

/// Reads a key file.
pub(crate) fn read(path: &Path) -> Result<Keypair> {
    let shown = path.display();
    let text = input::text(path, input::TEXT_BYTES_MAX)
        .with_context(|| format!("cannot read the key file {shown}"))
        .advise("`selkie keygen new FILE` creates one")?;
    parse(&text)
        .with_context(|| format!("{shown} is not a key file"))
        .advise("a key file is a JSON list of 64 numbers, as `solana-keygen` writes it")
}

fn parse(text: &str) -> Result<Keypair> {
    let bytes: Vec<u8> = serde_json::from_str(text)?;
    Keypair::try_from(bytes.as_slice()).map_err(|error| anyhow!("{error}"))
}

/// Generates a key and writes it to a new file that only its owner can read.
pub(crate) fn create(path: &Path) -> Result<Keypair> {
    let key = Keypair::new();
    write(path, &key)?;
    Ok(key)
}

/// Writes a key to a new file that only its owner can read. Fails if the file exists.
pub(crate) fn write(path: &Path, key: &Keypair) -> Result<()> {
    let text = serde_json::to_string(key.to_bytes().as_slice())?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write the key file {}", path.display()))
}

/// Reads a key file, or creates it with a new key.
pub(crate) fn read_or_create(ui: &mut Ui, path: &Path) -> Result<Keypair> {
    if path.exists() {
        return read(path);
    }
    let key = create(path)?;
    ui.aside(&format!("created the key file {} for {}\n", path.display(), key.pubkey()))?;
    warn_of_git(ui, path)?;
    Ok(key)
}

/// Warns about a private key that git does not ignore: once pushed, it is public.
pub(crate) fn warn_of_git(ui: &mut Ui, path: &Path) -> Result<()> {
    if !is_unignored_by_git(path) {
        return Ok(());
    }
    let shown = path.display();
    ui.warning(&format!("{shown} is a private key, and git does not ignore it"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ui.help(&format!("add this line to .gitignore: {}", ignore_pattern(&name)));
    Ok(())
}

/// Whether a file is in the work tree of a git repository that does not ignore it. False if git is
/// not installed.
fn is_unignored_by_git(path: &Path) -> bool {
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
fn ignore_pattern(name: &str) -> String {
    let endings = ["-keypair.json", ".payer.json"].into_iter();
    let pattern = endings.map(|it| format!("*{it}")).find(|it| name.ends_with(&it[1..]));
    pattern.unwrap_or_else(|| name.to_owned())
}

/// Whether a key file holds the key of this address; false if it cannot be read.
pub(crate) fn is_of(path: &Path, address: &Pubkey) -> bool {
    read(path).is_ok_and(|key| key.pubkey() == *address)
}

/// Returns the path of the default payer's key file beside the state of a cluster.
pub(crate) fn payer_beside(state: &Path) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(".payer.json");
    name.into()
}

/// Returns the default payer's key file, if it exists.
pub(crate) fn payer_file(state: &Path) -> Option<PathBuf> {
    let beside = || Some(payer_beside(state)).filter(|path| path.is_file());
    solana_cli().or_else(beside)
}

/// Returns the default key file of the Solana CLI, if it exists.
pub(crate) fn solana_cli() -> Option<PathBuf> {
    let path = env::home_dir()?.join(".config/solana/id.json");
    path.is_file().then_some(path)
}
