//! Transfers that are signed before they are sent.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signer::Signer as _;
use solana_transaction::versioned::VersionedTransaction;

use crate::client::Client;

/// What each payer gets.
const FUNDS_LAMPORTS: u64 = 1_000_000_000_000_000;
/// The number of `Transfer` among the system program's instructions.
const TRANSFER: u32 = 2;
/// The fee of a transfer.
pub(crate) const FEE_LAMPORTS: u64 = 5000;
/// Above the minimum balance of an account without data, so that receivers may be new.
const LEAST_LAMPORTS: u64 = 1_000_000;

/// A signed transaction.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) signature: String,
    /// In base64.
    pub(crate) wire: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) lamports: u64,
}

impl Signed {
    /// Returns the body of the request that sends it.
    pub(crate) fn body(&self, skip_preflight: bool) -> String {
        let wire = &self.wire;
        let options = format!(r#"{{"encoding":"base64","skipPreflight":{skip_preflight}}}"#);
        Client::body("sendTransaction", &format!(r#"["{wire}",{options}]"#))
    }
}

/// Returns a key pair that is the same in each run.
pub(crate) fn key(kind: u8, number: u64) -> Keypair {
    let mut seed = [kind; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    Keypair::new_from_array(seed)
}

/// Who pays and who receives.
#[derive(Debug)]
pub(crate) struct Payers {
    payers: Vec<Keypair>,
    /// Makes each transfer's amount, and so its signature, different.
    sent: u64,
}

impl Payers {
    /// Creates payers and funds them by airdrops.
    pub(crate) fn fund(client: &mut Client, count: u64) -> Result<Self> {
        let payers: Vec<Keypair> = (0..count).map(|number| key(1, number)).collect();
        for payer in &payers {
            let params = json!([payer.pubkey().to_string(), FUNDS_LAMPORTS]);
            client.call("requestAirdrop", &params.to_string())?;
        }
        for payer in &payers {
            await_balance(client, &payer.pubkey())?;
        }
        Ok(Self { payers, sent: 0 })
    }

    /// Returns the addresses of those who pay.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.payers.iter().map(|it| it.pubkey().to_string()).collect()
    }

    /// Leaves out as many amounts, which another row has used.
    pub(crate) fn skip(&mut self, count: u64) {
        self.sent += count;
    }

    /// Signs transfers with the newest blockhash, each payer's turn after the other's. The
    /// receivers are as many as the payers.
    pub(crate) fn sign(&mut self, client: &mut Client, count: usize) -> Result<Vec<Signed>> {
        let blockhash = latest_blockhash(client)?;
        let mut signed = Vec::with_capacity(count);
        for _ in 0..count {
            let turn = usize::try_from(self.sent).context("a small number")? % self.payers.len();
            let lamports = LEAST_LAMPORTS + self.sent;
            let to = key(2, u64::try_from(turn)?).pubkey();
            signed.push(transfer(&self.payers[turn], &to, lamports, blockhash)?);
            self.sent += 1;
        }
        Ok(signed)
    }
}

/// Returns the newest blockhash.
pub(crate) fn latest_blockhash(client: &mut Client) -> Result<Hash> {
    let answer = client.call("getLatestBlockhash", "[]")?;
    let text = answer["value"]["blockhash"].as_str().context("a blockhash is text")?;
    Ok(text.parse()?)
}

fn await_balance(client: &mut Client, address: &Pubkey) -> Result<()> {
    for _ in 0..600 {
        if client.balance(&address.to_string(), "finalized")? > 0 {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    ensure!(false, "the airdrop to {address} does not land");
    Ok(())
}

/// Signs a transfer.
pub(crate) fn transfer(
    from: &Keypair,
    to: &Pubkey,
    lamports: u64,
    blockhash: Hash,
) -> Result<Signed> {
    let mut data = TRANSFER.to_le_bytes().to_vec();
    data.extend(lamports.to_le_bytes());
    let accounts = vec![AccountMeta::new(from.pubkey(), true), AccountMeta::new(*to, false)];
    let instruction = Instruction { program_id: Pubkey::default(), accounts, data };
    let message = Message::new_with_blockhash(&[instruction], Some(&from.pubkey()), &blockhash);
    let transaction = VersionedTransaction::try_new(VersionedMessage::Legacy(message), &[from])?;
    let wire = wincode::serialize(&transaction).context("a transaction has a wire format")?;
    let signature = transaction.signatures.first().context("it is signed")?.to_string();
    Ok(Signed {
        signature,
        wire: BASE64_STANDARD.encode(wire),
        from: from.pubkey().to_string(),
        to: to.to_string(),
        lamports,
    })
}
