//! Addresses and keys as commands take them: in base58, by name, by the file of a key, or computed.
//!
//! Names that the user gives (`--name vault=ADDRESS`) are kept in a JSON object beside the state of
//! the cluster. Well-known programs and sysvars have names that cannot be given away.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie::{Keypair, Pubkey, Signer as _, ids, programs, token};
use selkie_asm::suggest::nearest;

use crate::{args::program::StateArgs, data, keys, program::read, ui::Advise as _};

/// The name of the account that pays for transactions.
pub(crate) const PAYER: &str = "payer";
const NAME_BYTES_MAX: usize = 64;
/// The longest text of an address. Expressions nest, so this bounds how deeply, too.
const ADDRESS_BYTES_MAX: usize = 1024;
/// The most seeds that a program address is derived from, the bump among them.
const SEEDS_MAX: usize = 16;

const FORMS: &str = "an address is 32 bytes in base58, a name, the file of a key, test:NAME, \
                     pda:PROGRAM:SEED,… or ata:OWNER:MINT";

/// Sysvars, and what else has an address that people know.
#[allow(deprecated, reason = "old programs still take these sysvars")]
const WELL_KNOWN: &[(&str, Pubkey)] = &[
    ("ata", programs::ASSOCIATED_TOKEN.id),
    ("native-mint", Pubkey::from_str_const("So11111111111111111111111111111111111111112")),
    ("clock", ids::sysvar::clock::ID),
    ("rent", ids::sysvar::rent::ID),
    ("epoch-schedule", ids::sysvar::epoch_schedule::ID),
    ("epoch-rewards", ids::sysvar::epoch_rewards::ID),
    ("instructions", ids::sysvar::instructions::ID),
    ("last-restart-slot", ids::sysvar::last_restart_slot::ID),
    ("recent-blockhashes", ids::sysvar::recent_blockhashes::ID),
    ("slot-hashes", ids::sysvar::slot_hashes::ID),
    ("slot-history", ids::sysvar::slot_history::ID),
    ("stake-history", ids::sysvar::stake_history::ID),
];

/// Well-known names with their addresses. Where an address has several, the first is the usual one.
fn well_known() -> impl Iterator<Item = (String, Pubkey)> {
    let builtins = selkie_builtins::PROGRAMS.iter().map(|row| (short(row.name), row.address));
    let bundled = programs::ALL.iter().map(|program| (program.name.to_owned(), program.id));
    let others = WELL_KNOWN.iter().map(|(name, id)| ((*name).to_owned(), *id));
    builtins.chain(bundled).chain(others)
}

/// The name of a builtin program as one word: `compute-budget` for "compute budget program".
fn short(name: &str) -> String {
    let name = name.trim_end_matches(" program").trim_end_matches(" precompile");
    name.to_lowercase().replace(' ', "-")
}

/// The names of a cluster, and how addresses and keys are found by them.
pub(crate) struct Names {
    state: PathBuf,
    given: BTreeMap<String, String>,
    payer: Option<Payer>,
}

/// Who pays.
pub(crate) struct Payer {
    pub(crate) address: Pubkey,
    /// The key, unless it is known by its address alone.
    pub(crate) key: Option<Keypair>,
}

impl Payer {
    pub(crate) fn of_key(key: Keypair) -> Self {
        Self { address: key.pubkey(), key: Some(key) }
    }
}

impl Clone for Payer {
    fn clone(&self) -> Self {
        let key = self.key.as_ref().map(Keypair::insecure_clone);
        Self { address: self.address, key }
    }
}

impl Names {
    /// The names that have a meaning without any cluster.
    pub(crate) fn well_known() -> Self {
        Self { state: PathBuf::new(), given: BTreeMap::new(), payer: None }
    }

    /// The names that were given to the cluster in this file.
    pub(crate) fn load(state: &Path) -> Result<Self> {
        let mut names = Self { state: state.to_owned(), ..Self::well_known() };
        let path = names.path();
        if path.exists() {
            let text = read(&path)?;
            names.given = serde_json::from_slice(&text)
                .with_context(|| format!("{} is not a JSON object of names", path.display()))
                .advise("each line of it is \"NAME\": \"ADDRESS\"")?;
        }
        Ok(names)
    }

    fn path(&self) -> PathBuf {
        let mut name = self.state.as_os_str().to_owned();
        name.push(".names.json");
        name.into()
    }

    /// The folder that files of keys are relative to.
    fn folder(&self) -> &Path {
        self.state.parent().unwrap_or(Path::new(""))
    }

    /// Decides what the name `payer` stands for.
    pub(crate) fn set_payer(&mut self, payer: Payer) {
        self.payer = Some(payer);
    }

    /// Gives names, each as `NAME=ADDRESS`, and writes them beside the state.
    pub(crate) fn give(&mut self, texts: &[String]) -> Result<()> {
        for text in texts {
            let pair = text.split_once('=').ok_or_else(|| anyhow!("`{text}` is not NAME=ADDRESS"));
            let (name, target) = pair.advise("for example --name vault=pda:counter:vault")?;
            self.give_one(name, target)?;
        }
        if texts.is_empty() { Ok(()) } else { self.save() }
    }

    fn give_one(&mut self, name: &str, target: &str) -> Result<()> {
        check_name(name)?;
        let kept = match self.key_file(target) {
            Some(path) => self.relative(&path)?,
            None if target.starts_with("test:") => target.to_owned(),
            None => self.address(target).with_context(|| format!("name `{name}`"))?.to_string(),
        };
        self.given.insert(name.to_owned(), kept);
        Ok(())
    }

    /// Gives a name to an address, and writes it beside the state.
    pub(crate) fn remember(&mut self, name: &str, address: &Pubkey) -> Result<()> {
        check_name(name)?;
        self.given.insert(name.to_owned(), address.to_string());
        self.save()
    }

    /// Gives a program the name of its file, if that can be a name.
    pub(crate) fn remember_program(state: &Path, file: &Path, id: &Pubkey) -> Result<()> {
        let stem = file.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        match check_name(stem) {
            Ok(()) => Self::load(state)?.remember(stem, id),
            Err(_) => Ok(()),
        }
    }

    /// Whether a text could be the name of something new.
    pub(crate) fn is_new(&self, text: &str) -> bool {
        check_name(text).is_ok() && !self.given.contains_key(text) && !Path::new(text).exists()
    }

    fn save(&self) -> Result<()> {
        let path = self.path();
        let text = format!("{:#}\n", serde_json::to_value(&self.given)?);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The path of a key as it is kept: from the folder of the state, or absolute.
    fn relative(&self, path: &Path) -> Result<String> {
        let absolute = path.canonicalize()?;
        let folder = Path::new(".").join(self.folder()).canonicalize()?;
        let kept = absolute.strip_prefix(folder).unwrap_or(&absolute);
        let text = kept.to_str().ok_or_else(|| anyhow!("{} is not UTF-8", path.display()));
        text.map(str::to_owned)
    }

    /// The file that a text names, if there is one.
    pub(crate) fn key_file(&self, text: &str) -> Option<PathBuf> {
        let path = match self.given.get(text) {
            Some(kept) => self.folder().join(kept),
            None => PathBuf::from(text),
        };
        path.is_file().then_some(path)
    }

    /// The address that a text stands for.
    pub(crate) fn address(&self, text: &str) -> Result<Pubkey> {
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(anyhow!("a text of {} bytes is no address", text.len())).advise(FORMS);
        }
        if let Some(derived) = self.derived(text) {
            return derived.with_context(|| format!("address `{text}`"));
        }
        if let Some((_, id)) = well_known().find(|(name, _)| name == text) {
            return Ok(id);
        }
        if let (PAYER, Some(payer)) = (text, &self.payer) {
            return Ok(payer.address);
        }
        let kept = self.given.get(text).map_or(text, String::as_str);
        if let Ok(address) = kept.parse() {
            return Ok(address);
        }
        if let Some(key) = self.key(text)? {
            return Ok(key.pubkey());
        }
        if text == PAYER {
            return Err(anyhow!("nothing was paid for in this cluster yet, so there is no payer"))
                .advise("--payer KEY names one");
        }
        Err(anyhow!("`{text}` is no address, no known name and no file")).advise(self.advice(text))
    }

    /// The addresses that are computed from others.
    fn derived(&self, text: &str) -> Option<Result<Pubkey>> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "pda" => Some(self.program_address(rest)),
            "ata" => Some(self.associated_address(rest)),
            _ => None,
        }
    }

    fn program_address(&self, text: &str) -> Result<Pubkey> {
        let (program, seeds) = text.split_once(':').unwrap_or((text, ""));
        let program = self.address(program)?;
        let parts = seeds.split(',').filter(|it| !it.is_empty());
        let seeds = parts.map(|it| data::parse_seed(it, &|key| self.address(key)));
        let seeds = seeds.collect::<Result<Vec<_>>>()?;
        if seeds.len() >= SEEDS_MAX {
            bail!("a program address has at most {} seeds, not {}", SEEDS_MAX - 1, seeds.len());
        }
        let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
        let found = Pubkey::try_find_program_address(&seeds, &program);
        let (address, _) = found
            .ok_or_else(|| anyhow!("no address is derived from these seeds"))
            .advise("a seed has at most 32 bytes")?;
        Ok(address)
    }

    fn associated_address(&self, text: &str) -> Result<Pubkey> {
        // `test:alice` is one of the parts.
        let text = text.replace("test:", "test=");
        let parts: Vec<String> = text.split(':').map(|it| it.replace("test=", "test:")).collect();
        let (owner, mint, program) = match &parts[..] {
            [owner, mint] => (owner, mint, programs::TOKEN.id),
            [owner, mint, program] => (owner, mint, self.address(program)?),
            _ => bail!("it is not ata:OWNER:MINT or ata:OWNER:MINT:PROGRAM"),
        };
        Ok(token::associated_address(&program, &self.address(owner)?, &self.address(mint)?))
    }

    /// The key that a text stands for, if it is one whose key there is.
    pub(crate) fn key(&self, text: &str) -> Result<Option<Keypair>> {
        if text == PAYER {
            return match &self.payer {
                Some(payer) => Ok(payer.clone().key),
                None => keys::payer_file(&self.state).map(|path| keys::read(&path)).transpose(),
            };
        }
        if let Some(path) = self.key_file(text) {
            return Ok(Some(keys::read(&path)?));
        }
        let kept = self.given.get(text).map_or(text, String::as_str);
        Ok(kept.strip_prefix("test:").map(selkie::keypair))
    }

    /// The key that a text stands for.
    pub(crate) fn signer(&self, text: &str) -> Result<Keypair> {
        if let Some(key) = self.key(text)? {
            return Ok(key);
        }
        Err(match self.address(text) {
            Ok(_) => anyhow!("`{text}` is an address without a key, so it cannot sign"),
            Err(_) => anyhow!("there is no key `{text}`"),
        })
        .advise(
            "name the file of its key, or test:NAME; `selkie keygen new FILE` makes one, and \
             `selkie send --skip-signatures` does without",
        )
    }

    /// The name of an address, if it has one.
    pub(crate) fn label(&self, address: &Pubkey) -> Option<String> {
        let is_it = |text: &str| match text.strip_prefix("test:") {
            Some(name) => selkie::keypair(name).pubkey() == *address,
            None => text.parse() == Ok(*address),
        };
        let given = self.given.iter().find(|(name, kept)| {
            is_it(kept) || self.key_file(name).is_some_and(|path| keys::is_of(&path, address))
        });
        let given = given.map(|(name, _)| name.clone());
        given.or_else(|| well_known().find(|(_, id)| id == address).map(|(name, _)| name)).or_else(
            || {
                let payer = self.payer.as_ref().map(|it| it.address);
                (payer == Some(*address)).then(|| PAYER.to_owned())
            },
        )
    }

    /// An address as it is shown: with its name behind it, if it has one.
    pub(crate) fn show(&self, address: &Pubkey) -> String {
        match self.label(address) {
            Some(name) => format!("{address} ({name})"),
            None => address.to_string(),
        }
    }

    fn advice(&self, text: &str) -> String {
        let known: Vec<String> = well_known().map(|(name, _)| name).collect();
        let given = self.given.keys().map(String::as_str);
        match nearest(text, given.chain(known.iter().map(String::as_str))) {
            Some(name) => format!("did you mean `{name}`?"),
            None => FORMS.to_owned(),
        }
    }
}

/// The address that a text stands for in a cluster.
pub(crate) fn find(state: &StateArgs, text: &str) -> Result<Pubkey> {
    Names::load(&state.state)?.address(text)
}

fn check_name(name: &str) -> Result<()> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_word) {
        return Err(anyhow!("`{name}` cannot be a name"))
            .advise("names are letters, digits, `-`, `_` and `.`, 64 at most");
    }
    if name == PAYER || well_known().any(|(known, _)| known == name) {
        return Err(anyhow!("`{name}` already has a meaning")).advise("choose another name");
    }
    if name.parse::<Pubkey>().is_ok() {
        bail!("`{name}` is an address, and cannot be a name");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let given = [
            ("vault", "7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq".to_owned()),
            ("alice", "test:alice".to_owned()),
        ];
        Names {
            state: "nowhere.state".into(),
            given: given.into_iter().map(|(name, kept)| (name.to_owned(), kept)).collect(),
            payer: Some(Payer::of_key(selkie::keypair("payer"))),
        }
    }

    fn check(text: &str, expected: Pubkey) {
        assert_eq!(names().address(text).expect("the text is an address"), expected, "{text}");
    }

    #[test]
    fn addresses_are_found_by_name() {
        let alice = selkie::keypair("alice").pubkey();
        check("system", selkie::system::ID);
        check("compute-budget", ids::compute_budget::ID);
        check("token", programs::TOKEN.id);
        check("clock", ids::sysvar::clock::ID);
        check("alice", alice);
        check("test:alice", alice);
        check("payer", selkie::keypair("payer").pubkey());
        check("vault", Pubkey::from_str_const("7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq"));
    }

    #[test]
    fn addresses_are_derived() {
        let (alice, token) = (selkie::keypair("alice").pubkey(), programs::TOKEN.id);
        let vault = names().address("vault").expect("it was given");
        let derive = |seeds: &[&[u8]]| Pubkey::find_program_address(seeds, &token).0;
        check("pda:token", derive(&[]));
        check("pda:token:vault", derive(&[b"vault"]));
        check(
            "pda:token:vault,key:alice,u64:7",
            derive(&[b"vault", alice.as_ref(), &7_u64.to_le_bytes()]),
        );
        check("ata:test:alice:vault", token::associated_address(&token, &alice, &vault));
        let new = programs::TOKEN_2022.id;
        check("ata:alice:vault:token-2022", token::associated_address(&new, &alice, &vault));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("pda:token:{}", "x".repeat(33));
        let many = format!("pda:token:{}", ["x"; 16].join(","));
        let deep = "pda:token:key:".repeat(100_000);
        assert!(names().address(&deep).is_err());
        for text in ["", "vaul", "pda:nobody:x", "ata:alice", "ata:a:b:c:d", &long, &many] {
            assert!(names().address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_with_a_meaning_cannot_be_given() {
        for name in ["", "token", "payer", "a b", "11111111111111111111111111111111", "a:b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("my-vault_2").is_ok());
    }

    #[test]
    fn addresses_are_shown_with_their_names() {
        let alice = selkie::keypair("alice").pubkey();
        assert_eq!(names().show(&alice), format!("{alice} (alice)"));
        assert_eq!(names().label(&selkie::keypair("payer").pubkey()).as_deref(), Some("payer"));
        assert_eq!(names().label(&Pubkey::new_from_array([9; 32])), None);
    }
}
