//! A node for the cases, and what most of them do with it.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use solana_commitment_config::CommitmentConfig;
use solana_instruction::Instruction;
use solana_keypair::{Keypair, Signer as _};
use solana_pubkey::Pubkey;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_signature::Signature;
use solana_system_interface::instruction::transfer;
use solana_transaction::Transaction;

pub const SOL: u64 = 1_000_000_000;

/// A node on free ports, which ends with the value.
pub struct Cluster {
    process: Child,
    pub url: String,
    pub websocket_url: String,
    pub rpc: RpcClient,
}

impl Cluster {
    pub fn start(program: OsString) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["node", "--json", "--quiet", "--rpc-port", "0"]).stdout(Stdio::piped());
        let mut process = command.spawn().context("cannot start the node")?;
        let mut line = String::new();
        let out = process.stdout.take().context("the output is a pipe")?;
        BufReader::new(out).read_line(&mut line)?;
        let ready: serde_json::Value =
            serde_json::from_str(&line).context("the node does not start")?;
        let text = |name: &str| ready[name].as_str().map(str::to_owned).context("no address");
        let url = text("rpcUrl")?;
        let rpc = RpcClient::new_with_commitment(url.clone(), CommitmentConfig::confirmed());
        Ok(Self { process, url, websocket_url: text("websocketUrl")?, rpc })
    }

    /// A wallet with 10 SOL, whose airdrop was confirmed by polling.
    pub async fn funded(&self) -> Result<Keypair> {
        let wallet = Keypair::new();
        let signature = self.rpc.request_airdrop(&wallet.pubkey(), 10 * SOL).await?;
        self.rpc.poll_for_signature(&signature).await?;
        ensure!(self.rpc.confirm_transaction(&signature).await?, "the airdrop is not confirmed");
        Ok(wallet)
    }

    pub async fn signed(
        &self,
        instructions: &[Instruction],
        signers: &[&Keypair],
    ) -> Result<Transaction> {
        let blockhash = self.rpc.get_latest_blockhash().await?;
        let payer = signers[0].pubkey();
        Ok(Transaction::new_signed_with_payer(instructions, Some(&payer), signers, blockhash))
    }

    /// Sends instructions, whose first signer pays, and waits until they are confirmed.
    pub async fn send(
        &self,
        instructions: &[Instruction],
        signers: &[&Keypair],
    ) -> Result<Signature> {
        let transaction = self.signed(instructions, signers).await?;
        Ok(self.rpc.send_and_confirm_transaction(&transaction).await?)
    }

    /// Pays an amount to a new address, and returns the two.
    pub async fn pay(&self, from: &Keypair, lamports: u64) -> Result<(Pubkey, Signature)> {
        let to = Pubkey::new_unique();
        let signature = self.send(&[transfer(&from.pubkey(), &to, lamports)], &[from]).await?;
        Ok((to, signature))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
