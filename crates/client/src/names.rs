//! Resolves addresses and keys of the command line: base58, names, key files, derived addresses.
//!
//! User-defined names (`--name vault=ADDRESS`) are stored in a JSON object beside the state of the
//! cluster. The names of well-known programs and sysvars are reserved.

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use selkie::{Keypair, Pubkey, Signer as _, Svm, names::well_known, programs, token};
use selkie_isa::suggest::nearest;

use crate::{data, keys, read::read};

/// The name of the account that pays for transactions.
pub const PAYER: &str = "payer";
const NAME_BYTES_MAX: usize = 64;
/// The longest text of an address. Also bounds the nesting of derived addresses.
const ADDRESS_BYTES_MAX: usize = 1024;
/// The most seeds of a program derived address, including the bump.
const SEEDS_MAX: usize = 16;

const FORMS: &str = "an address is 32 bytes in base58, a name, a key file, test:NAME, \
                     pda:PROGRAM:SEED,… or ata:OWNER:MINT";

/// Resolves addresses and keys by the names of a cluster.
#[derive(Debug)]
pub struct Names {
    state: PathBuf,
    /// User-defined names with an address, `test:NAME`, or the path of a key file.
    defined: BTreeMap<String, String>,
    payer: Option<Payer>,
    /// Names of this command alone: of the program that it runs.
    own: BTreeMap<Pubkey, String>,
}

/// The fee payer.
#[derive(Debug)]
pub struct Payer {
    /// The address.
    pub address: Pubkey,
    /// The key, unless only the address is known.
    pub key: Option<Keypair>,
}

impl Payer {
    /// Returns the payer with a key.
    #[must_use]
    pub fn of_key(key: Keypair) -> Self {
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
    /// Returns the names that need no cluster.
    pub fn well_known() -> Self {
        Self { state: PathBuf::new(), defined: BTreeMap::new(), payer: None, own: BTreeMap::new() }
    }

    /// Loads the names of the cluster in this file.
    pub fn load(state: &Path) -> Result<Self> {
        let mut names = Self { state: state.to_owned(), ..Self::well_known() };
        let path = names.path();
        if path.exists() {
            let text = read(&path)?;
            names.defined = serde_json::from_slice(&text)
                .with_context(|| format!("{} is not a JSON object of names", path.display()))
                .advise("it maps names to addresses: {\"NAME\": \"ADDRESS\"}")?;
        }
        Ok(names)
    }

    fn path(&self) -> PathBuf {
        let mut name = self.state.as_os_str().to_owned();
        name.push(".names.json");
        name.into()
    }

    /// Returns the folder that paths of key files are relative to.
    fn folder(&self) -> &Path {
        self.state.parent().unwrap_or(Path::new(""))
    }

    /// Sets what the name `payer` resolves to.
    pub fn set_payer(&mut self, payer: Payer) {
        self.payer = Some(payer);
    }

    /// Names an account for this command.
    pub fn add_own(&mut self, key: Pubkey, name: &str) {
        self.own.insert(key, name.to_owned());
    }

    /// Gives the names to the accounts of a chain, whose receipts and replays then have them.
    pub fn give_to(&self, svm: &mut Svm) {
        let defined = self.defined.keys().filter_map(|it| Some((self.address(it).ok()?, it)));
        let payer = self.payer.as_ref().map(|it| (it.address, PAYER));
        let own = self.own.iter().map(|(key, name)| (*key, name.as_str()));
        for (key, name) in payer.into_iter().chain(own) {
            svm.set_name(key, name);
        }
        defined.for_each(|(key, name)| svm.set_name(key, name));
    }

    /// Defines names, each as `NAME=ADDRESS`, and writes them beside the state.
    pub fn define(&mut self, texts: &[String]) -> Result<()> {
        for text in texts {
            let pair = text
                .split_once('=')
                .ok_or_else(|| Failure::new(format!("`{text}` is not NAME=ADDRESS")));
            let (name, target) = pair.advise("for example --name vault=pda:counter:vault")?;
            self.define_one(name, target)?;
        }
        if texts.is_empty() { Ok(()) } else { self.save() }
    }

    fn define_one(&mut self, name: &str, target: &str) -> Result<()> {
        check_name(name)?;
        let kept = match self.key_file(target) {
            Some(path) => self.stored_path(&path)?,
            None if target.starts_with("test:") => target.to_owned(),
            None => self.address(target).with_context(|| format!("name `{name}`"))?.to_string(),
        };
        self.defined.insert(name.to_owned(), kept);
        Ok(())
    }

    /// Names an address and writes the name beside the state.
    pub fn remember(&mut self, name: &str, address: &Pubkey) -> Result<()> {
        check_name(name)?;
        self.defined.insert(name.to_owned(), address.to_string());
        self.save()
    }

    /// Names a program after its file, if that is a valid name.
    pub fn remember_program(state: &Path, file: &Path, id: &Pubkey) -> Result<()> {
        let stem = file.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        match check_name(stem) {
            Ok(()) => Self::load(state)?.remember(stem, id),
            Err(_) => Ok(()),
        }
    }

    /// Whether a text is a valid name that is neither defined nor a file.
    pub fn is_new(&self, text: &str) -> bool {
        check_name(text).is_ok() && !self.defined.contains_key(text) && !Path::new(text).exists()
    }

    fn save(&self) -> Result<()> {
        let path = self.path();
        let text = format!("{:#}\n", serde_json::to_value(&self.defined).or_failure()?);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Returns the path of a key file as it is stored: relative to the folder of the state, or absolute.
    fn stored_path(&self, path: &Path) -> Result<String> {
        let absolute = path.canonicalize()?;
        let folder = Path::new(".").join(self.folder()).canonicalize()?;
        let kept = absolute.strip_prefix(folder).unwrap_or(&absolute);
        let text =
            kept.to_str().ok_or_else(|| Failure::new(format!("{} is not UTF-8", path.display())));
        text.map(str::to_owned)
    }

    /// Returns the file that a text names, if it exists.
    pub fn key_file(&self, text: &str) -> Option<PathBuf> {
        let path = match self.defined.get(text) {
            Some(kept) => self.folder().join(kept),
            None => PathBuf::from(text),
        };
        path.is_file().then_some(path)
    }

    /// Resolves an address.
    pub fn address(&self, text: &str) -> Result<Pubkey> {
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(Failure::new(format!("a text of {} bytes is not an address", text.len())))
                .advise(FORMS);
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
        let kept = self.defined.get(text).map_or(text, String::as_str);
        if let Ok(address) = kept.parse() {
            return Ok(address);
        }
        if let Some(key) = self.key(text)? {
            return Ok(key.pubkey());
        }
        if text == PAYER {
            return Err(Failure::new("this cluster has no payer yet"))
                .advise("--payer KEY names one");
        }
        Err(Failure::new(format!("`{text}` is not an address, a known name or a file")))
            .advise(self.advice(text))
    }

    /// Resolves an address derived from others; `None` if `text` has another form.
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
            return Err(Failure::new(format!(
                "a program address has at most {} seeds, not {}",
                SEEDS_MAX - 1,
                seeds.len()
            )));
        }
        let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
        let found = Pubkey::try_find_program_address(&seeds, &program);
        let (address, _) = found
            .ok_or_else(|| Failure::new("these seeds derive no address"))
            .advise("a seed has at most 32 bytes")?;
        Ok(address)
    }

    fn associated_address(&self, text: &str) -> Result<Pubkey> {
        // The colon of `test:alice` does not separate parts.
        let text = text.replace("test:", "test=");
        let parts: Vec<String> = text.split(':').map(|it| it.replace("test=", "test:")).collect();
        let (owner, mint, program) = match &parts[..] {
            [owner, mint] => (owner, mint, programs::TOKEN.id),
            [owner, mint, program] => (owner, mint, self.address(program)?),
            _ => return Err(Failure::new("expected ata:OWNER:MINT or ata:OWNER:MINT:PROGRAM")),
        };
        Ok(token::associated_address(&program, &self.address(owner)?, &self.address(mint)?))
    }

    /// Returns the key that a text names; `None` if only its address is known, or nothing.
    pub fn key(&self, text: &str) -> Result<Option<Keypair>> {
        if text == PAYER {
            return match &self.payer {
                Some(payer) => Ok(payer.clone().key),
                None => keys::payer_file(&self.state).map(|path| keys::read(&path)).transpose(),
            };
        }
        if let Some(path) = self.key_file(text) {
            return Ok(Some(keys::read(&path)?));
        }
        let kept = self.defined.get(text).map_or(text, String::as_str);
        Ok(kept.strip_prefix("test:").map(selkie::keypair))
    }

    /// Returns the key that a text names, which is required.
    pub fn signer(&self, text: &str) -> Result<Keypair> {
        if let Some(key) = self.key(text)? {
            return Ok(key);
        }
        Err(match self.address(text) {
            Ok(_) => Failure::new(format!("`{text}` cannot sign: its key is unknown")),
            Err(_) => Failure::new(format!("unknown key `{text}`")),
        })
        .advise(
            "name its key file, or test:NAME; `selkie keygen new FILE` creates a key, and \
             `selkie send --skip-signatures` needs none",
        )
    }

    /// Returns the name of an address, if it has one.
    pub fn label(&self, address: &Pubkey) -> Option<String> {
        let is_it = |text: &str| match text.strip_prefix("test:") {
            Some(name) => selkie::keypair(name).pubkey() == *address,
            None => text.parse() == Ok(*address),
        };
        let defined = self.defined.iter().find(|(name, kept)| {
            is_it(kept) || self.key_file(name).is_some_and(|path| keys::is_of(&path, address))
        });
        let defined = defined.map(|(name, _)| name.clone());
        let payer = self.payer.as_ref().filter(|it| it.address == *address);
        defined
            .or_else(|| self.own.get(address).cloned())
            .or_else(|| payer.map(|_| PAYER.to_owned()))
            .or_else(|| selkie::names::name_of(address))
    }

    /// Returns the address of a name that was defined for the cluster.
    pub fn defined(&self, name: &str) -> Option<Pubkey> {
        self.defined.contains_key(name).then(|| self.address(name).ok()).flatten()
    }

    /// Returns an account that exists and has a name like that of an address.
    pub fn similar(&self, key: &Pubkey, svm: &Svm) -> Option<(String, Pubkey)> {
        let name = self.label(key)?;
        let all = self.defined.keys().filter_map(|it| Some((it.as_str(), self.address(it).ok()?)));
        let all: BTreeMap<&str, Pubkey> =
            all.filter(|(_, it)| it != key && svm.shared_account(it).is_some()).collect();
        // A name of `test:` may be defined for another address.
        let found = all.get_key_value(name.as_str()).map(|(found, _)| *found);
        let found = found.or_else(|| nearest(&name, all.keys().copied()))?;
        Some((found.to_owned(), all[found]))
    }

    /// Formats an address with its name before it, if it has one.
    pub fn show(&self, address: &Pubkey) -> String {
        selkie::names::show(address, self.label(address).as_deref())
    }

    /// Adds names to the addresses in a line of a log or a note.
    pub fn annotate<'t>(&self, line: &'t str) -> Cow<'t, str> {
        selkie::names::annotate(line, |key| self.label(key))
    }

    fn advice(&self, text: &str) -> String {
        let known: Vec<Cow<'_, str>> = well_known().map(|(name, _)| name).collect();
        let defined = self.defined.keys().map(String::as_str);
        match nearest(text, defined.chain(known.iter().map(|it| &**it))) {
            Some(name) => format!("did you mean `{name}`?"),
            None => FORMS.to_owned(),
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_word) {
        return Err(Failure::new(format!("`{name}` is not a valid name")))
            .advise("a name has at most 64 letters, digits, `-`, `_` and `.`");
    }
    if name == PAYER || well_known().any(|(known, _)| known == name) {
        return Err(Failure::new(format!("the name `{name}` is reserved")))
            .advise("choose another name");
    }
    if name.parse::<Pubkey>().is_ok() {
        return Err(Failure::new(format!("`{name}` is an address, not a name")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let defined = [
            ("vault", "7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq".to_owned()),
            ("alice", "test:alice".to_owned()),
        ];
        Names {
            state: "nowhere.state".into(),
            defined: defined.into_iter().map(|(name, kept)| (name.to_owned(), kept)).collect(),
            payer: Some(Payer::of_key(selkie::keypair("payer"))),
            own: BTreeMap::new(),
        }
    }

    fn check(text: &str, expected: Pubkey) {
        assert_eq!(names().address(text).expect("the text is an address"), expected, "{text}");
    }

    #[test]
    fn names_resolve_to_addresses() {
        let alice = selkie::keypair("alice").pubkey();
        check("system", selkie::system::ID);
        check("compute-budget", selkie::ids::compute_budget::ID);
        check("token", programs::TOKEN.id);
        check("clock", selkie::ids::sysvar::clock::ID);
        check("alice", alice);
        check("test:alice", alice);
        check("payer", selkie::keypair("payer").pubkey());
        check("vault", Pubkey::from_str_const("7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq"));
    }

    #[test]
    fn pda_and_ata_expressions_derive_addresses() {
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
    fn malformed_addresses_are_rejected() {
        let long = format!("pda:token:{}", "x".repeat(33));
        let many = format!("pda:token:{}", ["x"; 16].join(","));
        let deep = "pda:token:key:".repeat(100_000);
        assert!(names().address(&deep).is_err());
        for text in ["", "vaul", "pda:unknown:x", "ata:alice", "ata:a:b:c:d", &long, &many] {
            assert!(names().address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reserved_and_malformed_names_are_rejected() {
        for name in ["", "token", "payer", "a b", "11111111111111111111111111111111", "a:b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("my-vault_2").is_ok());
    }

    #[test]
    fn known_addresses_are_shown_with_their_names() {
        let alice = selkie::keypair("alice").pubkey();
        assert_eq!(names().show(&alice), format!("alice ({alice})"));
        assert_eq!(names().label(&selkie::keypair("payer").pubkey()).as_deref(), Some("payer"));
        assert_eq!(names().label(&Pubkey::new_from_array([9; 32])), None);
    }
}
