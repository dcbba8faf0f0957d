//! The session of a command that sends transactions: a cluster, its names, and the payer.

use selkie_client::{Cluster, sign};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use selkie::{
    Account, Instruction, Keypair, Pubkey, Receipt, Signer as _, Svm, VersionedTransaction,
    message::{Message, VersionedMessage},
};

use crate::{
    args::send::SessionArgs,
    keys,
    names::{self, Names, Payer},
    sent,
    ui::{Status, Ui},
};

/// A cluster with its names and payer.
pub(crate) struct Session {
    cluster: Cluster,
    pub(crate) names: Names,
    /// The payer given by the arguments.
    payer: Option<Payer>,
    /// Names to define once the payer is known.
    names_by_payer: Vec<String>,
}

impl Session {
    /// Opens an existing cluster.
    pub(crate) fn open(args: &SessionArgs) -> Result<Self> {
        Self::with(args.state.open()?, args)
    }

    /// Opens a cluster, or creates one.
    pub(crate) fn open_or_new(args: &SessionArgs) -> Result<Self> {
        Self::with(args.state.open_or_new()?, args)
    }

    fn with(cluster: Cluster, args: &SessionArgs) -> Result<Self> {
        let (names, payer, names_by_payer) = names(args)?;
        Ok(Self { cluster, names, payer, names_by_payer })
    }

    /// Defines the names for a command that needs no payer.
    pub(crate) fn without_payer(mut self) -> Result<Self> {
        self.names.define(&self.names_by_payer)?;
        self.names.give_to(&mut self.cluster.svm);
        Ok(self)
    }

    /// The cluster, or the copy of a running one.
    pub(crate) fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// Returns an account, as it is now.
    pub(crate) fn account(&mut self, key: &Pubkey) -> Result<Option<Account>> {
        self.cluster.fetch(&[*key])?;
        Ok(self.svm().account(key))
    }

    /// Sends a transaction, and returns its receipt; to a running cluster only if it succeeds in the copy,
    /// unless it is to be sent anyway.
    pub(crate) fn execute(
        &mut self,
        transaction: &VersionedTransaction,
        skip_preflight: bool,
    ) -> Result<(Arc<Receipt>, sent::How)> {
        match self.svm_mut().send(transaction) {
            Ok(receipt) => {
                Ok((self.cluster.publish_one(receipt, skip_preflight)?, sent::How::Sent))
            }
            Err(failed) if self.cluster.is_copy() && skip_preflight => {
                Ok((self.cluster.publish_one(failed.receipt, true)?, sent::How::Sent))
            }
            Err(failed) if self.cluster.is_copy() => Ok((failed.receipt, sent::How::Simulated)),
            Err(failed) => Ok((failed.receipt, sent::How::Sent)),
        }
    }

    pub(crate) fn svm(&self) -> &Svm {
        &self.cluster.svm
    }

    pub(crate) fn svm_mut(&mut self) -> &mut Svm {
        &mut self.cluster.svm
    }

    /// Saves the cluster and shows the messages about side effects.
    pub(crate) fn save(&mut self, ui: &mut Ui) -> Result<()> {
        self.cluster.save()?;
        ui.show_notes(&mut self.cluster)?;
        self.cluster.new_key_files().try_for_each(|path| keys::warn_of_git(ui, path))
    }

    /// Saves the cluster if it or its payer is new, for a command that changes nothing else.
    pub(crate) fn save_if_new(&mut self, ui: &mut Ui) -> Result<()> {
        if self.cluster.has_unsaved_notes() { self.save(ui) } else { Ok(()) }
    }

    /// Returns the payer: the given or the default one. Airdrops lamports to it if it has none.
    pub(crate) fn payer(&mut self) -> Result<Payer> {
        let payer = match self.payer.take() {
            Some(payer) => payer,
            None => Payer::of_key(self.cluster.default_payer()?),
        };
        self.names.set_payer(payer.clone());
        self.names.define(&self.names_by_payer)?;
        self.names.give_to(&mut self.cluster.svm);
        self.cluster.fund(&payer.address)?;
        Ok(payer)
    }

    /// Sends instructions signed by `signers`, the first of which pays, and shows the result.
    pub(crate) fn send(
        &mut self,
        ui: &mut Ui,
        instructions: &[Instruction],
        signers: &[&Keypair],
        done: sent::Done,
    ) -> Result<Status> {
        let payer = signers.first().map(|key| key.pubkey());
        let blockhash = self.cluster.blockhash()?;
        let message = Message::new_with_blockhash(instructions, payer.as_ref(), &blockhash);
        let transaction = sign::sign(VersionedMessage::Legacy(message), signers);
        self.cluster.fetch_for(&transaction.message)?;
        let (receipt, how) = self.execute(&transaction, false)?;
        self.save(ui)?;
        match receipt.is_ok() {
            true => sent::show_done(ui, &receipt, done),
            false => sent::show(ui, &receipt, &self.names, how),
        }
    }
}

/// Returns the names of a cluster, for a command that needs nothing else.
pub(crate) fn names_only(args: &SessionArgs) -> Result<Names> {
    let (mut names, _, names_by_payer) = names(args)?;
    names.define(&names_by_payer)?;
    Ok(names)
}

/// Returns the names of a cluster, the payer if given, and the names that depend on the payer.
fn names(args: &SessionArgs) -> Result<(Names, Option<Payer>, Vec<String>)> {
    let mut names = Names::load(&args.state.state)?;
    let (names_by_payer, others): (Vec<_>, Vec<_>) =
        args.names.iter().cloned().partition(|text| text.contains(names::PAYER));
    names.define(&others)?;
    let Some(text) = &args.payer else { return Ok((names, None, names_by_payer)) };
    let key = names.key(text).with_context(|| format!("payer `{text}`"))?;
    let payer = Payer { address: names.address(text)?, key };
    names.set_payer(payer.clone());
    Ok((names, Some(payer), names_by_payer))
}
