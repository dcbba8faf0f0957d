//! Keys in files, as `solana-keygen` writes them.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, anyhow};
use selkie::{Keypair, Pubkey, Signer as _};

use crate::ui::{Advise as _, Ui};

/// Reads the file of a key.
pub(crate) fn read(path: &Path) -> Result<Keypair> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the key {shown}"))
        .advise("`selkie keygen new FILE` makes one")?;
    parse(&text)
        .with_context(|| format!("{shown} is no key"))
        .advise("the file of a key is a list of 64 numbers, as `solana-keygen` writes it")
}

fn parse(text: &str) -> Result<Keypair> {
    let bytes: Vec<u8> = serde_json::from_str(text)?;
    Keypair::try_from(bytes.as_slice()).map_err(|error| anyhow!("{error}"))
}

/// Makes a key, and writes it where only its owner can read it.
pub(crate) fn create(path: &Path) -> Result<Keypair> {
    let key = Keypair::new();
    write(path, &key)?;
    Ok(key)
}

/// Writes a key where only its owner can read it. A file that is there is kept.
pub(crate) fn write(path: &Path, key: &Keypair) -> Result<()> {
    let text = serde_json::to_string(key.to_bytes().as_slice())?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write the key {}", path.display()))
}

/// The key of a file, which is made if it is missing.
pub(crate) fn read_or_create(ui: &mut Ui, path: &Path) -> Result<Keypair> {
    if path.exists() {
        return read(path);
    }
    let key = create(path)?;
    ui.aside(&format!("made the key {} for {}\n", path.display(), key.pubkey()))?;
    warn_of_git(ui, path)?;
    Ok(key)
}

/// Warns of a private key that git would add with everything else: what is pushed once is known
/// for ever.
pub(crate) fn warn_of_git(ui: &mut Ui, path: &Path) -> Result<()> {
    if !is_open_to_git(path) {
        return Ok(());
    }
    let shown = path.display();
    ui.warning(&format!("{shown} is a private key, and git does not ignore it"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ui.help(&format!("add a line to .gitignore: {}", ignored_as(&name)));
    Ok(())
}

/// Whether a file is in the work tree of a git repository that does not ignore it. Without git, it
/// is taken to be in none.
fn is_open_to_git(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
    if !folder.ancestors().any(|it| it.join(".git").exists()) {
        return false;
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["check-ignore", "--quiet", "--"]).arg(name);
    git.stdout(Stdio::null()).stderr(Stdio::null());
    // 0 says that it is ignored, 1 that it is not, and others that git could not tell.
    git.status().is_ok_and(|status| status.code() == Some(1))
}

/// A pattern that covers a key and others like it.
fn ignored_as(name: &str) -> String {
    let endings = ["-keypair.json", ".payer.json"].into_iter();
    let pattern = endings.map(|it| format!("*{it}")).find(|it| name.ends_with(&it[1..]));
    pattern.unwrap_or_else(|| name.to_owned())
}

/// Whether the file of a key has the key of this address; it is not if it cannot be read.
pub(crate) fn is_of(path: &Path, address: &Pubkey) -> bool {
    read(path).is_ok_and(|key| key.pubkey() == *address)
}

/// The key beside the state of a cluster that pays if no other is named.
pub(crate) fn own_payer(state: &Path) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(".payer.json");
    name.into()
}

/// The file of the key that pays if no other is named, if there is one.
pub(crate) fn payer_file(state: &Path) -> Option<PathBuf> {
    let own = || Some(own_payer(state)).filter(|path| path.is_file());
    usual().or_else(own)
}

/// Where Solana's own tools keep the key of who uses them, if there is one.
pub(crate) fn usual() -> Option<PathBuf> {
    let path = env::home_dir()?.join(".config/solana/id.json");
    path.is_file().then_some(path)
}
