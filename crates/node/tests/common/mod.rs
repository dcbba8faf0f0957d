//! Helpers of the tests: a node whose clock stands still, keys, and transactions.
#![allow(dead_code, reason = "each test file uses some of them")]

use core::time::Duration;
use std::sync::Arc;

use selkie_node::{Landed, ManualClock, Node, Options, SendError, SendOptions};
use solana_commitment_config::CommitmentLevel;
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;

pub(crate) const SOL: u64 = 1_000_000_000;
pub(crate) const SLOT: Duration = Duration::from_millis(selkie_node::SLOT_MILLISECONDS);

/// A node and its clock.
pub(crate) struct Cluster {
    pub(crate) node: Node,
    pub(crate) clock: Arc<ManualClock>,
}

pub(crate) fn cluster() -> Cluster {
    cluster_with(Options::default())
}

pub(crate) fn cluster_with(options: Options) -> Cluster {
    let clock = Arc::new(ManualClock::at(Duration::from_secs(1_800_000_000)));
    let node = Node::start(Options { clock: clock.clone(), ..options }).unwrap();
    Cluster { node, clock }
}

pub(crate) fn key(number: u8) -> Keypair {
    Keypair::new_from_array([number; 32])
}

pub(crate) fn address(number: u8) -> Pubkey {
    Pubkey::new_from_array([number; 32])
}

pub(crate) fn transfer(from: &Pubkey, to: &Pubkey, lamports: u64) -> Instruction {
    let accounts = vec![AccountMeta::new(*from, true), AccountMeta::new(*to, false)];
    let data = [&2_u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat();
    Instruction { program_id: solana_sdk_ids::system_program::ID, accounts, data }
}

pub(crate) fn sign(
    blockhash: Hash,
    instructions: &[Instruction],
    signers: &[&Keypair],
) -> VersionedTransaction {
    let payer = signers[0].pubkey();
    let message = Message::new_with_blockhash(instructions, Some(&payer), &blockhash);
    VersionedTransaction::try_new(VersionedMessage::Legacy(message), signers).unwrap()
}

impl Cluster {
    pub(crate) fn blockhash(&self) -> Hash {
        self.node.view(CommitmentLevel::Finalized).blockhash()
    }

    /// Sends instructions and waits for their block.
    pub(crate) fn run(
        &self,
        instructions: &[Instruction],
        signers: &[&Keypair],
    ) -> Result<Arc<Landed>, SendError> {
        let transaction = sign(self.blockhash(), instructions, signers);
        self.node.send_and_wait(transaction, &SendOptions::default())
    }

    /// A new wallet with 10 SOL.
    pub(crate) fn wallet(&self, number: u8) -> Keypair {
        let key = key(number);
        self.node.airdrop_and_wait(&key.pubkey(), 10 * SOL).unwrap();
        key
    }

    pub(crate) fn balance(&self, key: &Pubkey) -> u64 {
        self.node.view(CommitmentLevel::Finalized).balance(key)
    }
}
