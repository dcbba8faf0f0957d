//! The cluster in a file that commands work on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use selkie::{Keypair, Pubkey, Signer as _, Svm};

use crate::{
    args::program::{SignerArgs, StateArgs},
    keys,
    ui::{Advise as _, Ui},
};

/// What somebody gets who has nothing: as much as anybody needs.
const GIFT_LAMPORTS: u64 = 1_000_000_000_000;

/// A cluster, and where it is kept.
pub(crate) struct Cluster {
    pub(crate) svm: Svm,
    path: PathBuf,
}

/// Who pays and who decides.
pub(crate) struct Signers {
    pub(crate) payer: Keypair,
    pub(crate) authority: Keypair,
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

    /// The cluster, or a new one.
    pub(crate) fn open_or_create(ui: &mut Ui, args: &StateArgs) -> Result<Self> {
        let path = args.state.clone();
        if path.exists() {
            return Self::load(path);
        }
        ui.aside(&format!("made a new cluster in {}\n", path.display()))?;
        Ok(Self { svm: Svm::new(), path })
    }

    fn load(path: PathBuf) -> Result<Self> {
        let svm = Svm::load(&path).with_context(|| format!("{} is unusable", path.display()))?;
        Ok(Self { svm, path })
    }

    pub(crate) fn save(&self) -> Result<()> {
        Ok(self.svm.save(&self.path)?)
    }

    /// Who pays and who decides. Who pays and has nothing gets something: this is nobody's money.
    pub(crate) fn signers(&mut self, ui: &mut Ui, args: &SignerArgs) -> Result<Signers> {
        let payer = match args.payer.clone().or_else(keys::usual) {
            Some(path) => keys::read(&path)?,
            None => keys::read_or_create(ui, &beside(&self.path, "payer.json"))?,
        };
        let authority = match &args.authority {
            Some(path) => keys::read(path)?,
            None => payer.insecure_clone(),
        };
        self.fund(ui, &payer.pubkey())?;
        Ok(Signers { payer, authority })
    }

    fn fund(&mut self, ui: &mut Ui, payer: &Pubkey) -> Result<()> {
        if self.svm.balance(payer) == 0 {
            self.svm.airdrop(payer, GIFT_LAMPORTS)?;
            let sol = GIFT_LAMPORTS / 1_000_000_000;
            ui.aside(&format!("gave {sol} SOL of this cluster to {payer}\n"))?;
        }
        Ok(())
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}
