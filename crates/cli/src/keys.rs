//! Key files of the user, with what is said of them.

use std::path::Path;

use anyhow::Result;
use selkie::{Keypair, Signer as _};
use selkie_client::keys::{create, ignore_pattern, is_unignored_by_git};
pub(crate) use selkie_client::keys::{read, write};

use crate::ui::Ui;

/// Reads a key file, or creates it with a new key.
pub(crate) fn read_or_create(ui: &mut Ui, path: &Path) -> Result<Keypair> {
    if path.exists() {
        return Ok(read(path)?);
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
