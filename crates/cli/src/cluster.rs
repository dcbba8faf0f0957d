//! The cluster in a file that commands work on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie::{Keypair, Pubkey, Signer as _, Svm};

use crate::{
    args::program::{SignerArgs, StateArgs},
    keys,
    names::Names,
    ui::{Advise as _, Ui},
};

/// What somebody gets who has nothing: as much as anybody needs.
const GIFT_LAMPORTS: u64 = 1_000_000_000_000;

/// A cluster, and where it is kept.
pub(crate) struct Cluster {
    pub(crate) svm: Svm,
    path: PathBuf,
    /// Keys that were made, to be written when the cluster is.
    new_keys: Vec<(PathBuf, Keypair)>,
    /// What was done besides what was asked for, to be told.
    notes: Vec<String>,
}

/// Who pays and who decides.
pub(crate) struct Signers {
    pub(crate) payer: Keypair,
    pub(crate) authority: Keypair,
    /// The files that their keys are in.
    pub(crate) files: Vec<PathBuf>,
}

impl Cluster {
    /// The cluster, which has to be there.
    pub(crate) fn open(args: &StateArgs) -> Result<Self> {
        let path = args.state.clone();
        if !path.exists() {
            return Err(anyhow!("there is no cluster in {}", path.display()))
                .advise("`selkie deploy PROGRAM` makes one; --state names another file");
        }
        Self::load(path)
    }

    /// The cluster, or a new one, of which nothing is written before it is saved.
    pub(crate) fn open_or_new(args: &StateArgs) -> Result<Self> {
        let path = args.state.clone();
        if path.exists() {
            return Self::load(path);
        }
        check_folder(&path)
            .advise("--state names the file of a cluster, in a folder that exists")?;
        let notes = vec![format!("made a new cluster in {}", path.display())];
        Ok(Self { svm: Svm::new(), path, new_keys: Vec::new(), notes })
    }

    fn load(path: PathBuf) -> Result<Self> {
        let svm = Svm::load(&path).with_context(|| format!("{} is unusable", path.display()))?;
        Ok(Self { svm, path, new_keys: Vec::new(), notes: Vec::new() })
    }

    /// Writes the cluster, and the keys that were made for it.
    pub(crate) fn save(&self) -> Result<()> {
        for (path, key) in &self.new_keys {
            keys::write(path, key)?;
        }
        Ok(self.svm.save(&self.path)?)
    }

    /// Tells what was done besides what was asked for.
    pub(crate) fn tell(&mut self, ui: &mut Ui) -> Result<()> {
        let notes = std::mem::take(&mut self.notes);
        Ok(notes.iter().try_for_each(|note| ui.aside(&format!("{note}\n")))?)
    }

    /// Who pays and who decides. A payer without lamports gets some, since those of this cluster
    /// cost nothing.
    pub(crate) fn choose_signers(&mut self, args: &SignerArgs) -> Result<Signers> {
        let names = Names::load(&self.path)?;
        let payer = match &args.payer {
            Some(text) => names.signer(text)?,
            None => self.usual_payer()?,
        };
        let authority = match &args.authority {
            Some(text) => names.signer(text)?,
            None => payer.insecure_clone(),
        };
        self.fund(&payer.pubkey())?;
        let usual = || keys::usual().unwrap_or_else(|| keys::own_payer(&self.path));
        let payer_file = args.payer.as_ref().map_or_else(|| Some(usual()), |it| names.key_file(it));
        let authority_file = args.authority.as_ref().and_then(|it| names.key_file(it));
        Ok(Signers {
            payer,
            authority,
            files: payer_file.into_iter().chain(authority_file).collect(),
        })
    }

    /// Who pays if no other is named: the key of Solana's own tools, or one beside the state.
    pub(crate) fn usual_payer(&mut self) -> Result<Keypair> {
        match keys::usual() {
            Some(path) => keys::read(&path),
            None => self.read_or_make_key(&keys::own_payer(&self.path)),
        }
    }

    /// Whether there is something that was not asked for and is not written yet.
    pub(crate) fn has_news(&self) -> bool {
        !self.notes.is_empty()
    }

    /// The files of the keys that were made.
    pub(crate) fn new_key_files(&self) -> impl Iterator<Item = &Path> {
        self.new_keys.iter().map(|(path, _)| path.as_path())
    }

    /// The key of a file; one that is missing is made, and written when the cluster is.
    pub(crate) fn read_or_make_key(&mut self, path: &Path) -> Result<Keypair> {
        if path.exists() {
            return keys::read(path);
        }
        check_folder(path)?;
        let key = Keypair::new();
        self.notes.push(format!("made the key {} for {}", path.display(), key.pubkey()));
        self.new_keys.push((path.to_owned(), key.insecure_clone()));
        Ok(key)
    }

    /// Gives lamports to an account that has none.
    pub(crate) fn fund(&mut self, payer: &Pubkey) -> Result<()> {
        if self.svm.balance(payer) == 0 {
            self.svm.airdrop(payer, GIFT_LAMPORTS)?;
            let sol = GIFT_LAMPORTS / 1_000_000_000;
            self.notes.push(format!("gave {sol} SOL of this cluster to {payer}"));
        }
        Ok(())
    }
}

/// Whether a file can be made at a path: its folder has to be there.
fn check_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            bail!("cannot write {}: there is no folder {}", path.display(), folder.display())
        }
        _ => Ok(()),
    }
}
