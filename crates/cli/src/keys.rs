//! Keys in files, as `solana-keygen` writes them, and addresses.

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
        .advise("`solana-keygen new -o FILE` makes one")?;
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

/// An address as people give it: in base58, or by the file of its key.
pub(crate) fn address(text: &str) -> Result<Pubkey> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let path = Path::new(text);
    if path.exists() {
        return Ok(read(path)?.pubkey());
    }
    Err(anyhow!("`{text}` is no address, and there is no such file"))
        .advise("addresses are 32 bytes in base58; keys are files as `solana-keygen` writes them")
}

/// Where Solana's own tools keep the key of who uses them, if there is one.
pub(crate) fn usual() -> Option<PathBuf> {
    let path = env::home_dir()?.join(".config/solana/id.json");
    path.is_file().then_some(path)
}
