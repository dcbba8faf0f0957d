//! The cluster that commands work on: one in a file, which they load and save, or a running one.
//!
//! For a running cluster there is a copy in memory of those accounts that a command needs. Commands
//! work on the copy as on any other cluster, so that they explain failures in the same way and send
//! nothing that would fail; what has succeeded is then sent to the cluster ([`Cluster::publish`]).

mod lock;
mod publish;

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::path::{Path, PathBuf};

use selkie::{Keypair, Pubkey, Signer as _, Svm, ids::sysvar};

use self::lock::Lock;
pub use self::publish::lookup_addresses;
use crate::{keys, names::Names, rpc::Client};

/// The balance given to a payer without lamports.
const AIRDROP_LAMPORTS: u64 = 1_000_000_000_000;

/// The sysvars that are copied from a running cluster.
const SYSVARS: &[Pubkey] =
    &[sysvar::clock::ID, sysvar::rent::ID, sysvar::epoch_schedule::ID, sysvar::slot_hashes::ID];

/// Where a cluster is.
#[derive(Clone, Debug)]
pub struct Location {
    /// The file of its state; names and keys are beside it.
    pub state: PathBuf,
    /// The URL or name of a running cluster, which is used instead.
    pub url: Option<String>,
}

/// A cluster and its file.
#[derive(Debug)]
pub struct Cluster {
    /// The cluster, or the copy of a running one.
    pub svm: Svm,
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
#[derive(Debug)]
pub struct Signers {
    /// Who pays for transactions.
    pub payer: Keypair,
    /// Who may change the program.
    pub authority: Keypair,
    /// The files of their keys.
    pub files: Vec<PathBuf>,
}

impl Cluster {
    /// Loads an existing cluster.
    pub fn open(location: &Location) -> Result<Self> {
        if let Some(url) = &location.url {
            return Self::copy(url, &location.state);
        }
        let path = location.state.clone();
        if !path.exists() {
            return Err(Failure::new(format!("cluster file {} does not exist", path.display())))
                .advise("`selkie deploy PROGRAM` creates one; --state names another file");
        }
        let lock = Lock::of(&path)?;
        Self::load(path, lock)
    }

    /// Loads a cluster, or creates one in memory if its file does not exist.
    pub fn open_or_new(location: &Location) -> Result<Self> {
        if let Some(url) = &location.url {
            return Self::copy(url, &location.state);
        }
        let path = location.state.clone();
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
    pub fn copy(url: &str, path: &Path) -> Result<Self> {
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
    pub fn save(&self) -> Result<()> {
        for (path, key) in &self.new_keys {
            keys::write(path, key)?;
        }
        match self.remote {
            Some(_) => Ok(()),
            // A link stays one: what it leads to is replaced.
            None => Ok(self.svm.save(lock::target(&self.path)).or_failure()?),
        }
    }

    /// Takes the messages about side effects.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Returns the payer and the authority. Airdrops lamports to a payer without any.
    pub fn choose_signers(
        &mut self,
        payer: Option<&str>,
        authority: Option<&str>,
    ) -> Result<Signers> {
        let names = Names::load(&self.path)?;
        let payer_key = match payer {
            Some(text) => names.signer(text)?,
            None => self.default_payer()?,
        };
        let authority_key = match authority {
            Some(text) => names.signer(text)?,
            None => payer_key.insecure_clone(),
        };
        self.fund(&payer_key.pubkey())?;
        let default = || keys::solana_cli().unwrap_or_else(|| keys::payer_beside(&self.path));
        let payer_file = payer.map_or_else(|| Some(default()), |it| names.key_file(it));
        let authority_file = authority.and_then(|it| names.key_file(it));
        Ok(Signers {
            payer: payer_key,
            authority: authority_key,
            files: payer_file.into_iter().chain(authority_file).collect(),
        })
    }

    /// Returns the default payer: the key of the Solana CLI, or one beside the state.
    pub fn default_payer(&mut self) -> Result<Keypair> {
        match keys::solana_cli() {
            Some(path) => keys::read(&path),
            None => self.read_or_generate_key(&keys::payer_beside(&self.path)),
        }
    }

    /// Whether this is a copy of a running cluster.
    pub fn is_copy(&self) -> bool {
        self.remote.is_some()
    }

    /// Whether there are side effects that are not saved yet.
    pub fn has_unsaved_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    /// Returns the files of the generated keys.
    pub fn new_key_files(&self) -> impl Iterator<Item = &Path> {
        self.new_keys.iter().map(|(path, _)| path.as_path())
    }

    /// Reads a key file, or generates its key, which is written when the cluster is saved.
    pub fn read_or_generate_key(&mut self, path: &Path) -> Result<Keypair> {
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
    pub fn fund(&mut self, payer: &Pubkey) -> Result<()> {
        self.fetch(&[*payer])?;
        if self.remote.is_none() && self.svm.balance(payer) == 0 {
            self.svm.airdrop(payer, AIRDROP_LAMPORTS).or_failure()?;
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
        Some(folder) if !folder.is_dir() => Err(Failure::new(format!(
            "cannot write {}: folder {} does not exist",
            path.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}
