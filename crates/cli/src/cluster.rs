//! The cluster that commands work on: one in a file, which they load and save, or a running one.
//!
//! For a running cluster there is a copy in memory of those accounts that a command needs. Commands
//! work on the copy as on any other cluster, so that they explain failures in the same way and send
//! nothing that would fail; what has succeeded is then sent to the cluster ([`Cluster::publish`]).

mod lock;
mod publish;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie::{Keypair, Pubkey, Signer as _, Svm, ids::sysvar};

use self::lock::Lock;
pub(crate) use self::publish::lookup_addresses;
use crate::{
    args::program::{SignerArgs, StateArgs},
    client::Client,
    keys,
    names::Names,
    ui::{Advise as _, Ui},
};

/// The balance given to a payer without lamports.
const AIRDROP_LAMPORTS: u64 = 1_000_000_000_000;

/// The sysvars that are copied from a running cluster.
const SYSVARS: &[Pubkey] =
    &[sysvar::clock::ID, sysvar::rent::ID, sysvar::epoch_schedule::ID, sysvar::slot_hashes::ID];

/// A cluster and its file.
pub(crate) struct Cluster {
    pub(crate) svm: Svm,
    /// The running cluster of which this is a copy.
    remote: Option<Client>,
    /// The file; names and keys are beside it.
    path: PathBuf,
    /// Generated keys, to be written when the cluster is saved.
    new_keys: Vec<(PathBuf, Keypair)>,
    /// Messages about side effects such as generated keys.
    notes: Vec<String>,
    /// Keeps other commands from the file until this one has written it.
    _lock: Option<Lock>,
}

/// The payer and the authority of a deployment.
pub(crate) struct Signers {
    pub(crate) payer: Keypair,
    pub(crate) authority: Keypair,
    /// The files of their keys.
    pub(crate) files: Vec<PathBuf>,
}

impl Cluster {
    /// Loads an existing cluster.
    pub(crate) fn open(args: &StateArgs) -> Result<Self> {
        if let Some(url) = &args.url {
            return Self::copy(url, &args.state);
        }
        let path = args.state.clone();
        if !path.exists() {
            return Err(anyhow!("cluster file {} does not exist", path.display()))
                .advise("`selkie deploy PROGRAM` creates one; --state names another file");
        }
        let lock = Lock::of(&path)?;
        Self::load(path, lock)
    }

    /// Loads a cluster, or creates one in memory if its file does not exist.
    pub(crate) fn open_or_new(args: &StateArgs) -> Result<Self> {
        if let Some(url) = &args.url {
            return Self::copy(url, &args.state);
        }
        let path = args.state.clone();
        check_folder(&path).advise("--state names the cluster file; its folder must exist")?;
        let lock = Lock::of(&path)?;
        if path.exists() {
            return Self::load(path, lock);
        }
        let notes = vec![format!("created a cluster in {}", path.display())];
        Ok(Self { svm: Svm::new(), remote: None, path, new_keys: Vec::new(), notes, _lock: lock })
    }

    fn load(path: PathBuf, lock: Option<Lock>) -> Result<Self> {
        let svm = Svm::load(&path)
            .with_context(|| format!("cannot load the cluster in {}", path.display()))?;
        let (new_keys, notes) = (Vec::new(), Vec::new());
        let mut cluster = Self { svm, remote: None, path, new_keys, notes, _lock: lock };
        cluster.name_accounts();
        Ok(cluster)
    }

    /// Gives the accounts their names, for receipts. A file of names that cannot be read is reported by
    /// commands that take names.
    fn name_accounts(&mut self) {
        if let Ok(names) = Names::load(&self.path) {
            names.give_to(&mut self.svm);
        }
    }

    /// Begins a copy of a running cluster, with its features and sysvars, in its next slot: that is
    /// where transactions will land at the earliest.
    pub(crate) fn copy(url: &str, path: &Path) -> Result<Self> {
        let client = Client::new(url)?;
        let svm = Svm::new().with_features(client.features()?).with_blockhash_checks(false);
        let (path, remote) = (path.to_owned(), Some(client));
        let (new_keys, notes) = (Vec::new(), Vec::new());
        let mut copy = Self { svm, remote, path, new_keys, notes, _lock: None };
        copy.fetch(SYSVARS)?;
        copy.name_accounts();
        Ok(copy)
    }

    /// Writes the cluster, unless it is a running one, and the keys generated for it.
    pub(crate) fn save(&self) -> Result<()> {
        for (path, key) in &self.new_keys {
            keys::write(path, key)?;
        }
        match self.remote {
            Some(_) => Ok(()),
            // A link stays one: what it leads to is replaced.
            None => Ok(self.svm.save(lock::target(&self.path))?),
        }
    }

    /// Prints the messages about side effects.
    pub(crate) fn show_notes(&mut self, ui: &mut Ui) -> Result<()> {
        let notes = std::mem::take(&mut self.notes);
        Ok(notes.iter().try_for_each(|note| ui.aside(&format!("{note}\n")))?)
    }

    /// Returns the payer and the authority. Airdrops lamports to a payer without any.
    pub(crate) fn choose_signers(&mut self, args: &SignerArgs) -> Result<Signers> {
        let names = Names::load(&self.path)?;
        let payer = match &args.payer {
            Some(text) => names.signer(text)?,
            None => self.default_payer()?,
        };
        let authority = match &args.authority {
            Some(text) => names.signer(text)?,
            None => payer.insecure_clone(),
        };
        self.fund(&payer.pubkey())?;
        let default = || keys::solana_cli().unwrap_or_else(|| keys::payer_beside(&self.path));
        let payer_file =
            args.payer.as_ref().map_or_else(|| Some(default()), |it| names.key_file(it));
        let authority_file = args.authority.as_ref().and_then(|it| names.key_file(it));
        Ok(Signers {
            payer,
            authority,
            files: payer_file.into_iter().chain(authority_file).collect(),
        })
    }

    /// Returns the default payer: the key of the Solana CLI, or one beside the state.
    pub(crate) fn default_payer(&mut self) -> Result<Keypair> {
        match keys::solana_cli() {
            Some(path) => keys::read(&path),
            None => self.read_or_generate_key(&keys::payer_beside(&self.path)),
        }
    }

    /// Whether this is a copy of a running cluster.
    pub(crate) fn is_copy(&self) -> bool {
        self.remote.is_some()
    }

    /// Whether there are side effects that are not saved yet.
    pub(crate) fn has_unsaved_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    /// Returns the files of the generated keys.
    pub(crate) fn new_key_files(&self) -> impl Iterator<Item = &Path> {
        self.new_keys.iter().map(|(path, _)| path.as_path())
    }

    /// Reads a key file, or generates its key, which is written when the cluster is saved.
    pub(crate) fn read_or_generate_key(&mut self, path: &Path) -> Result<Keypair> {
        if path.exists() {
            return keys::read(path);
        }
        check_folder(path)?;
        let key = Keypair::new();
        self.notes.push(format!("created the key file {} for {}", path.display(), key.pubkey()));
        self.new_keys.push((path.to_owned(), key.insecure_clone()));
        Ok(key)
    }

    /// Airdrops lamports to an account without any.
    pub(crate) fn fund(&mut self, payer: &Pubkey) -> Result<()> {
        self.fetch(&[*payer])?;
        if self.remote.is_none() && self.svm.balance(payer) == 0 {
            self.svm.airdrop(payer, AIRDROP_LAMPORTS)?;
            let sol = AIRDROP_LAMPORTS / 1_000_000_000;
            self.notes.push(format!("airdropped {sol} SOL to {payer}"));
        }
        Ok(())
    }
}

/// Checks that the folder of a path exists, so that a file can be created there.
fn check_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            bail!("cannot write {}: folder {} does not exist", path.display(), folder.display())
        }
        _ => Ok(()),
    }
}
