//! Between the copy of a running cluster and the cluster.

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{
    Account, AccountMeta, Hash, Instruction, Keypair, Message, Pubkey, ReadableAccount as _,
    Receipt, Signer as _, VersionedMessage, VersionedTransaction, ids, loader, programs,
};
use selkie_layout::lookup_table;
use serde_json::json;

use crate::{cluster::Cluster, rpc::LandedIn, sign};

/// The first bytes of an instruction of loader v3 that writes into a buffer.
const WRITE: [u8; 4] = [1, 0, 0, 0];

impl Cluster {
    /// Brings accounts of a running cluster up to date in the copy, and the data of programs among
    /// them. Does nothing for a cluster in a file.
    pub fn fetch(&mut self, keys: &[Pubkey]) -> Result<()> {
        let Some(client) = &self.remote else { return Ok(()) };
        for (key, account) in client.with_program_data(keys)? {
            let owner = account.as_ref().map(|it| *it.owner());
            if owner == Some(ids::native_loader::ID) || (owner.is_none() && !self.has(&key)) {
                continue;
            }
            self.svm.set_account(key, account.unwrap_or_default()).with_context(|| {
                format!("the account {key} of {} is not understood", client.url())
            })?;
        }
        // Fetching may make blocks: the cluster may fetch from another one.
        let next = client.slot()?.saturating_add(1).max(self.svm.slot());
        self.svm.warp_to_slot(next).or_failure()
    }

    fn has(&self, key: &Pubkey) -> bool {
        self.svm.shared_account(key).is_some()
    }

    /// Fetches the accounts of a message, those from its lookup tables included.
    pub fn fetch_for(&mut self, message: &VersionedMessage) -> Result<()> {
        let lookups = message.address_table_lookups().unwrap_or_default();
        let tables: Vec<Pubkey> = lookups.iter().map(|it| it.account_key).collect();
        self.fetch(&[message.static_account_keys(), &tables].concat())?;
        let mut loaded = Vec::new();
        for lookup in lookups {
            let table = self.svm.shared_account(&lookup.account_key).unwrap_or_default();
            let addresses = lookup_addresses(table.data());
            let indexes = lookup.writable_indexes.iter().chain(&lookup.readonly_indexes);
            loaded.extend(indexes.filter_map(|it| addresses.get(usize::from(*it)).copied()));
        }
        self.fetch(&loaded)
    }

    /// Fetches the programs of a running cluster.
    pub fn fetch_programs(&mut self) -> Result<()> {
        let Some(client) = &self.remote else { return Ok(()) };
        let programs = client.programs()?;
        self.fetch(&programs)
    }

    /// Fetches the token accounts of an owner, and the account at that address.
    pub fn fetch_tokens(&mut self, owner: &Pubkey) -> Result<()> {
        let Some(client) = &self.remote else { return Ok(()) };
        let mut keys = client.tokens(owner, &programs::TOKEN.id)?;
        keys.extend(client.tokens(owner, &programs::TOKEN_2022.id)?);
        keys.push(*owner);
        self.fetch(&keys)
    }

    /// Returns the blockhash for new transactions.
    pub fn blockhash(&self) -> Result<Hash> {
        match &self.remote {
            Some(client) => client.latest_blockhash(),
            None => Ok(self.svm.latest_blockhash()),
        }
    }

    /// Gives lamports to an account.
    pub fn airdrop(&mut self, to: &Pubkey, lamports: u64) -> Result<()> {
        match &self.remote {
            Some(client) => {
                client.airdrop(to, lamports)?;
                self.fetch(&[*to])
            }
            None => Ok(self.svm.airdrop(to, lamports).or_failure()?),
        }
    }

    /// Sets an account without a transaction.
    pub fn set_account(&mut self, key: Pubkey, account: Account) -> Result<()> {
        if let Some(client) = &self.remote {
            let params = json!([key.to_string(), {
                "lamports": account.lamports,
                "owner": account.owner.to_string(),
                "executable": account.executable,
                "data": [BASE64_STANDARD.encode(&account.data), "base64"],
            }]);
            client.call::<serde::de::IgnoredAny>("selkie_setAccount", &params).advise(
                "only a node of Selkie on this machine sets accounts without transactions",
            )?;
        }
        self.svm.set_account(key, account).map_err(|error| Failure::new(format!("{error}")))
    }

    /// Sends a transaction that was run in the copy to the running cluster, and returns its receipt with
    /// the slot of that cluster, and with its result if that differs. Does nothing for a cluster in a file.
    ///
    /// Without the cluster's own simulation before that, also what fails lands.
    pub fn publish_one(
        &mut self,
        receipt: Arc<Receipt>,
        skip_preflight: bool,
    ) -> Result<Arc<Receipt>> {
        let Some(client) = &self.remote else { return Ok(receipt) };
        let landed = match skip_preflight {
            false => {
                LandedIn { slot: client.send(&receipt.transaction.to_versioned())?, error: None }
            }
            true => client.send_unchecked(&receipt.transaction.to_versioned())?,
        };
        let mut receipt = Arc::unwrap_or_clone(receipt);
        receipt.slot = landed.slot;
        if receipt.is_ok() == landed.error.is_some() {
            let result =
                landed.error.map_or_else(|| "it succeeded".to_owned(), |it| it.to_string());
            self.notes.push(format!("on the cluster the result is another one: {result}"));
        }
        Ok(Arc::new(receipt))
    }

    /// Sends the transactions of a command, all of which have succeeded in the copy, to the running
    /// cluster. They are signed again, for its blockhash; signers that are not among `keys` are new
    /// accounts, and get new keys. Returns the slot of the last one; `None` for a cluster in a file.
    pub fn publish(&self, receipts: &[Arc<Receipt>], keys: &[&Keypair]) -> Result<Option<u64>> {
        let Some(client) = &self.remote else { return Ok(None) };
        let replay = Replay::new(receipts, keys);
        let mut last = None;
        for group in receipts.chunk_by(|a, b| writes(a) && writes(b)) {
            let sign = |blockhash| group.iter().map(|it| replay.sign(it, blockhash)).collect();
            let slots = client.send_all(&sign, &client.latest_blockhash()?)?;
            last = slots.into_iter().max();
        }
        Ok(last)
    }
}

/// Returns the addresses in the data of a lookup table.
pub fn lookup_addresses(data: &[u8]) -> Vec<Pubkey> {
    let addresses = lookup_table::addresses(data).unwrap_or_default();
    addresses.iter().copied().map(Pubkey::new_from_array).collect()
}

/// Whether a transaction does nothing but write into a buffer, in any order with others.
fn writes(receipt: &Receipt) -> bool {
    let message = receipt.message();
    let keys = message.static_account_keys();
    message.instructions().iter().all(|it| {
        keys.get(usize::from(it.program_id_index)) == Some(&loader::ID)
            && it.data.starts_with(&WRITE)
    })
}

/// Whether a message of the legacy form asks for an account to be writable.
fn is_writable(message: &VersionedMessage, index: usize) -> bool {
    let header = message.header();
    let signers = usize::from(header.num_required_signatures);
    let (end, read_only) = if index < signers {
        (signers, header.num_readonly_signed_accounts)
    } else {
        (message.static_account_keys().len(), header.num_readonly_unsigned_accounts)
    };
    index < end.saturating_sub(read_only.into())
}

/// How transactions of the copy are signed for the cluster.
struct Replay<'k> {
    keys: &'k [&'k Keypair],
    /// New keys in place of signers whose keys are not known.
    new: BTreeMap<Pubkey, Keypair>,
}

impl<'k> Replay<'k> {
    fn new(receipts: &[Arc<Receipt>], keys: &'k [&'k Keypair]) -> Self {
        let signers = receipts.iter().flat_map(|it| {
            let message = it.message();
            let count = usize::from(message.header().num_required_signatures);
            message.static_account_keys().iter().take(count)
        });
        let unknown = signers.filter(|signer| keys.iter().all(|key| key.pubkey() != **signer));
        let new = unknown.map(|signer| (*signer, Keypair::new())).collect();
        Self { keys, new }
    }

    fn sign(&self, receipt: &Receipt, blockhash: Hash) -> VersionedTransaction {
        let message = receipt.message();
        let key = |index: u8| {
            let key = message.static_account_keys().get(usize::from(index)).copied();
            let key = key.unwrap_or_default();
            self.new.get(&key).map_or(key, |new| new.pubkey())
        };
        let meta = |index: &u8| AccountMeta {
            pubkey: key(*index),
            is_signer: message.is_signer((*index).into()),
            is_writable: is_writable(message, (*index).into()),
        };
        let instructions: Vec<Instruction> = message
            .instructions()
            .iter()
            .map(|it| Instruction {
                program_id: key(it.program_id_index),
                accounts: it.accounts.iter().map(meta).collect(),
                data: it.data.clone(),
            })
            .collect();
        let message = Message::new_with_blockhash(&instructions, Some(&key(0)), &blockhash);
        let keys: Vec<&Keypair> = self.keys.iter().copied().chain(self.new.values()).collect();
        sign::sign(VersionedMessage::Legacy(message), &keys)
    }
}
