//! The state with which every case begins: sysvars, builtins, and mainnet's programs.

use std::{collections::HashMap, fs, io, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use solana_pubkey::Pubkey;

use super::{
    encode::Bytes,
    ids::*,
    proofs::{Proof, proofs},
};
use crate::case::{Account, Accounts, Key};

pub(crate) const SLOT: u64 = 448_000_100;
pub(crate) const EPOCH: u64 = 1037;
/// The number of blockhashes in the queue.
const BLOCKHASHES: u8 = 5;
/// The number of addresses whose keys are known.
const ACTORS: u8 = 60;
pub(crate) const VOTE_ACCOUNT: Key = [0xaa; 32];

/// Returns the rent-exempt minimum of an account of `len` bytes.
pub(crate) const fn rent(len: usize) -> u64 {
    (128 + len as u64) * 5080
}

/// A program of mainnet: file, address, loader.
const PROGRAMS: [(&str, Key, Key); 8] = [
    ("53e587eee80c", TOKEN, LOADER_V3),
    ("495e9d7680dd", TOKEN_2022, LOADER_V3),
    ("6804554e69fd", ASSOCIATED, LOADER_V2),
    ("67053ed6b0c4", MEMO_V1, LOADER_V1),
    ("0c92063c6838", MEMO_V4, LOADER_V2),
    ("e264e1537c5e", TABLES, LOADER_V3),
    ("c9cba7f3d9fe", STAKE, LOADER_V3),
    // SPL Token 3.5 may stand in for the first.
    ("7b44674b9704", [0; 32], LOADER_V2),
];

const BUILTINS: [(Key, &str); 7] = [
    (SYSTEM, "solana_system_program"),
    (VOTE, "solana_vote_program"),
    (LOADER_V1, "solana_bpf_loader_deprecated_program"),
    (LOADER_V2, "solana_bpf_loader_program"),
    (LOADER_V3, "solana_bpf_loader_upgradeable_program"),
    (COMPUTE_BUDGET, "compute_budget_program"),
    (ZK_ELGAMAL, "zk_elgamal_proof_program"),
];

pub(crate) struct World {
    /// Mainnet's programs except [`World::spl_token`].
    pub(crate) accounts: Accounts,
    pub(crate) spl_token: Account,
    pub(crate) blockhashes: Vec<Key>,
    /// Addresses whose keys are known.
    pub(crate) actors: Vec<Key>,
    secrets: HashMap<Key, SigningKey>,
    /// A proof for each instruction of the ZK ElGamal proof program.
    pub(crate) proofs: Vec<Proof>,
}

impl World {
    /// Reads the programs from the folder of `cargo xtask fixtures`.
    pub(crate) fn new(elfs: &Path) -> io::Result<Self> {
        let mut world = Self::bare();
        for (file, id, loader) in PROGRAMS {
            let elf = fs::read(elfs.join(format!("{file}.so")))?;
            if id == [0; 32] {
                world.spl_token = program_of(loader, elf);
            } else {
                install(&mut world.accounts, id, loader, elf, SLOT - 1000, Some([7; 32]));
            }
        }
        Ok(world)
    }

    /// A world without mainnet's programs.
    pub(crate) fn bare() -> Self {
        let blockhashes: Vec<Key> = (0..BLOCKHASHES).map(|it| [0x10 + it; 32]).collect();
        let mut accounts = sysvars(&blockhashes);
        for (id, name) in BUILTINS {
            accounts.insert(id, native(name));
        }
        for id in [ED25519, SECP256K1, SECP256R1] {
            accounts.insert(id, native(""));
        }
        let secrets: Vec<_> = (1..=ACTORS).map(|it| SigningKey::from_bytes(&[it; 32])).collect();
        let actors = secrets.iter().map(|it| it.verifying_key().to_bytes()).collect::<Vec<_>>();
        let secrets = actors.iter().copied().zip(secrets).collect();
        Self {
            accounts,
            spl_token: Account::default(),
            blockhashes,
            actors,
            secrets,
            proofs: proofs(),
        }
    }

    pub(crate) fn secret(&self, actor: &Key) -> Option<SigningKey> {
        self.secrets.get(actor).cloned()
    }
}

fn native(name: &str) -> Account {
    let data = Arc::new(name.as_bytes().to_vec());
    Account { lamports: 1, owner: NATIVE_LOADER, executable: true, rent_epoch: 0, data }
}

/// An account that is the program itself.
fn program_of(loader: Key, elf: Vec<u8>) -> Account {
    Account { executable: true, ..Account::new(rent(elf.len()), loader, elf) }
}

/// Returns the address of the programdata account of a program of loader v3.
pub(crate) fn program_data_of(program: &Key) -> Key {
    let loader = Pubkey::from(LOADER_V3);
    Pubkey::find_program_address(&[program], &loader).0.to_bytes()
}

pub(crate) fn program_account(id: &Key) -> Account {
    let data = Bytes::new().u32(2).key(&program_data_of(id)).0;
    Account { executable: true, ..Account::new(rent(36), LOADER_V3, data) }
}

pub(crate) fn program_data(elf: &[u8], spare: usize, slot: u64, authority: Option<Key>) -> Account {
    let state = Bytes::new().u32(3).u64(slot).u8(u8::from(authority.is_some()));
    let state = state.key(&authority.unwrap_or_default()).0;
    let mut data = state;
    data.extend_from_slice(elf);
    data.resize(data.len() + spare, 0);
    Account::new(rent(data.len()), LOADER_V3, data)
}

/// Adds the accounts of a program.
pub(crate) fn install(
    accounts: &mut Accounts,
    id: Key,
    loader: Key,
    elf: Vec<u8>,
    slot: u64,
    authority: Option<Key>,
) {
    if loader == LOADER_V3 {
        accounts.insert(program_data_of(&id), program_data(&elf, 0, slot, authority));
        accounts.insert(id, program_account(&id));
    } else {
        accounts.insert(id, program_of(loader, elf));
    }
}

fn sysvars(blockhashes: &[Key]) -> Accounts {
    let mut recent = Bytes::new().u64(blockhashes.len() as u64);
    for hash in blockhashes.iter().rev() {
        recent = recent.key(hash).u64(5000);
    }
    let mut hashes = Bytes::new().u64(8);
    for age in 1..=8 {
        hashes = hashes.u64(SLOT - age).key(&[0x80 + age as u8; 32]);
    }
    let mut history = Bytes::new().u64(3);
    for age in 1..=3 {
        history = history.u64(EPOCH - age).u64(400_000_000 + age).u64(age * 1000).u64(age * 77);
    }
    let clock = Bytes::new().u64(SLOT).u64(1_789_000_000).u64(EPOCH).u64(EPOCH + 1);
    let schedule = Bytes::new().u64(432_000).u64(432_000).u8(0).u64(0).u64(0);
    let rewards =
        Bytes::new().u64(7).u64(3).key(&[0x5a; 32]).u64(1 << 40).u64(0).u64(1000).u64(900);
    let rows = [
        (CLOCK, clock.u64(1_789_040_000).0),
        (RENT, Bytes::new().u64(5080).u64(1.0_f64.to_bits()).u8(50).0),
        (EPOCH_SCHEDULE, schedule.0),
        (EPOCH_REWARDS, rewards.u8(0).0),
        (LAST_RESTART_SLOT, Bytes::new().u64(246_464_040).0),
        (RECENT_BLOCKHASHES, recent.padded(6008)),
        (SLOT_HASHES, hashes.padded(20_488)),
        (STAKE_HISTORY, history.padded(16_392)),
    ];
    rows.into_iter().map(|(id, data)| (id, Account::new(rent(data.len()), SYSVAR, data))).collect()
}
