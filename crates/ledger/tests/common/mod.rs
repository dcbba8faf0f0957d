//! Blocks and commits for the tests.
#![allow(dead_code, reason = "each test file uses some of them")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie_ledger::{
    Block, Commit, DiskStore, Header, Landed, Meta, RewardRecord, Store, StoreError,
};
use solana_account::{Account, AccountSharedData};
use solana_hash::Hash;
use solana_message::{Message, VersionedMessage, compiled_instruction::CompiledInstruction};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;

/// A folder of its own for each test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn open(&self) -> Result<DiskStore, StoreError> {
        DiskStore::open(&self.0)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("ledger.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn address(number: u8) -> Pubkey {
    Pubkey::new_from_array([number; 32])
}

pub(crate) fn account(lamports: u64, bytes: usize) -> AccountSharedData {
    let data = (0..bytes).map(|it| u8::try_from(it % 251).unwrap()).collect();
    Account { lamports, data, owner: address(99), executable: true, rent_epoch: 7 }.into()
}

pub(crate) fn signature(slot: u64, index: u32) -> Signature {
    let mut bytes = [3; 64];
    bytes[..8].copy_from_slice(&slot.to_le_bytes());
    bytes[8..12].copy_from_slice(&index.to_le_bytes());
    bytes.into()
}

/// A block with `count` transactions, all of which name the addresses 1 and 2.
pub(crate) fn block(slot: u64, count: u32) -> Arc<Block> {
    let hash = |number: u64| Hash::new_from_array([u8::try_from(number % 200).unwrap(); 32]);
    let message = Message {
        account_keys: vec![address(1), address(2)],
        instructions: vec![CompiledInstruction::new_from_raw_parts(1, vec![1, 2, 3], vec![0])],
        ..Message::default()
    };
    let landed = |index| Landed {
        slot,
        index,
        block_time: 1000,
        signature: signature(slot, index),
        transaction: VersionedTransaction {
            signatures: vec![signature(slot, index)],
            message: VersionedMessage::Legacy(message.clone()),
        },
        result: if index == 1 {
            Err(solana_transaction_error::TransactionError::AccountInUse)
        } else {
            Ok(())
        },
        meta: Meta { logs: vec!["a line".to_owned()], fee: 5000, ..Meta::default() },
    };
    Arc::new(Block {
        slot,
        parent_slot: slot.saturating_sub(1),
        blockhash: hash(slot),
        previous_blockhash: hash(slot.saturating_sub(1)),
        block_time: 1000,
        block_height: slot,
        transaction_count: slot * u64::from(count),
        transactions: (0..count).map(landed).map(Arc::new).collect(),
        rewards: vec![RewardRecord {
            address: address(5),
            kind: selkie_svm::RewardKind::Fee,
            lamports: 7,
            post_balance: 9,
            commission: None,
            commission_bps: None,
        }],
        reward_partitions: None,
        accounts: vec![(address(1), account(slot, 10))],
    })
}

pub(crate) fn header(slot: u64) -> Header {
    Header {
        slot,
        features: vec![address(4)],
        blockhashes: vec![Hash::new_from_array([8; 32])],
        ..Header::default()
    }
}

pub(crate) fn commit(slot: u64, accounts: &[(u8, u64, usize)]) -> Commit {
    let accounts =
        accounts.iter().map(|(key, lamports, len)| (address(*key), account(*lamports, *len)));
    Commit {
        accounts: accounts.collect(),
        blocks: vec![block(slot, 2)],
        header: header(slot),
        ..Commit::default()
    }
}

/// Everything that a store holds: its header, the addresses with lamports and length, and the slots
/// with their transactions.
pub(crate) type Content = (Option<Header>, Vec<(Pubkey, u64, usize)>, Vec<(u64, Vec<Landed>)>);

pub(crate) fn content(store: &mut DiskStore) -> Result<Content, StoreError> {
    use solana_account::ReadableAccount;
    let (mut accounts, mut blocks) = (Vec::new(), Vec::new());
    store.accounts(&mut |key, it| accounts.push((key, it.lamports(), it.data().len())))?;
    store.blocks(&mut |block| {
        let transactions = block.transactions.iter().map(|it| Landed::clone(it)).collect();
        blocks.push((block.slot, transactions));
    })?;
    Ok((store.header()?, accounts, blocks))
}
