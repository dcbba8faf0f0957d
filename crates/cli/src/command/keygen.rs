//! `selkie keygen`.

use std::{
    io::Write as _,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::{Result, anyhow, bail};
use selkie::{Keypair, Signer as _};
use serde_json::json;

use crate::{
    args::keygen::{KeygenArgs, KeygenCommand, NewArgs, PubkeyArgs},
    keys, session,
    ui::{Advise as _, GOOD, Status, Ui},
};

/// The base58 alphabet.
const BASE58: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// The most letters to search for: five take some 650 million keys.
const LETTERS_MAX: usize = 5;

pub(crate) fn run(ui: &mut Ui, args: &KeygenArgs) -> Result<Status> {
    match &args.command {
        KeygenCommand::New(args) => new(ui, args),
        KeygenCommand::Pubkey(args) => pubkey(ui, args),
    }
}

fn new(ui: &mut Ui, args: &NewArgs) -> Result<Status> {
    refuse_to_overwrite(&args.file)?;
    let key = match (&args.starts_with[..], &args.ends_with[..]) {
        ("", "") => Keypair::new(),
        (start, end) => grind(start, end)?,
    };
    keys::write(&args.file, &key)?;
    keys::warn_of_git(ui, &args.file)?;
    let (address, file) = (key.pubkey().to_string(), args.file.display());
    if ui.json {
        ui.object(&json!({ "address": address, "file": args.file }))?;
    } else {
        writeln!(ui.out, "{GOOD}ok{GOOD:#} {address}, in {file}")?;
    }
    Ok(Status::Success)
}

fn refuse_to_overwrite(path: &Path) -> Result<()> {
    // A dangling symbolic link counts as existing.
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(anyhow!("{} already exists, and key files are never overwritten", path.display()))
        .advise("choose another file, or delete this one if its key is no longer needed")
}

/// Generates keys on all processors until an address has this prefix and suffix.
fn grind(start: &str, end: &str) -> Result<Keypair> {
    if let Some(letter) = start.chars().chain(end.chars()).find(|it| !BASE58.contains(*it)) {
        return Err(anyhow!("`{letter}` is not a base58 character"))
            .advise("base58 has all digits and letters except 0, O, I and l");
    }
    if start.len() + end.len() > LETTERS_MAX {
        bail!("a search for more than {LETTERS_MAX} letters would take too long");
    }
    let (found, is_done) = (Mutex::new(None), AtomicBool::new(false));
    let search = || {
        while !is_done.load(Ordering::Relaxed) {
            let key = Keypair::new();
            let address = key.pubkey().to_string();
            if address.starts_with(start) && address.ends_with(end) {
                is_done.store(true, Ordering::Relaxed);
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(search))));
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.ok_or_else(|| anyhow!("no key was found"))
}

fn pubkey(ui: &mut Ui, args: &PubkeyArgs) -> Result<Status> {
    let names = session::names_only(&args.session)?;
    let address = names.address(&args.key)?.to_string();
    if ui.json {
        ui.object(&json!({ "address": address }))?;
    } else {
        writeln!(ui.out, "{address}")?;
    }
    Ok(Status::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_addresses_have_the_prefix_and_suffix() {
        let address = grind("A", "").expect("it is found").pubkey().to_string();
        assert!(address.starts_with('A'), "{address}");
        let address = grind("", "z").expect("it is found").pubkey().to_string();
        assert!(address.ends_with('z'), "{address}");
    }

    #[test]
    fn impossible_or_long_searches_are_rejected() {
        assert!(grind("O", "").is_err() && grind("", "é").is_err() && grind("AAA", "BBB").is_err());
    }
}
