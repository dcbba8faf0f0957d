//! The accounts of one case, and the keys that can sign.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use solana_pubkey::Pubkey;

use super::{
    encode::Bytes,
    ids::*,
    message::{Draft, Format},
    world::{World, program_data_of, rent},
};
use crate::{
    case::{Account, Accounts, Key},
    rng::Rng,
};

pub(crate) struct Scene<'a> {
    pub(crate) rng: Rng,
    pub(crate) world: &'a World,
    /// Calm scenes have few defects, so that most transactions succeed.
    calm: bool,
    pub(crate) accounts: Accounts,
    /// The addresses that pay and sign.
    pub(crate) wallets: Vec<Key>,
    /// Unused addresses whose keys are known.
    fresh: Vec<Key>,
    /// Nonce accounts with their authority and stored value.
    pub(crate) nonces: Vec<(Key, Key, Key)>,
    /// Lookup tables with their addresses.
    pub(crate) tables: Vec<(Key, Vec<Key>)>,
    /// Keys that themes have recorded, by name.
    pub(crate) props: BTreeMap<&'static str, Vec<Key>>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(mut rng: Rng, world: &'a World) -> Self {
        let calm = rng.chance(60);
        let mut fresh = world.actors.clone();
        for index in (1..fresh.len()).rev() {
            fresh.swap(index, rng.below(index + 1));
        }
        let wallets = fresh.split_off(fresh.len() - 6);
        let mut scene = Self {
            rng,
            world,
            calm,
            accounts: world.accounts.clone(),
            wallets,
            fresh,
            nonces: Vec::new(),
            tables: Vec::new(),
            props: BTreeMap::new(),
        };
        for index in 0..scene.wallets.len() {
            let lamports = if index == 0 { 1_000_000_000_000 } else { scene.balance() };
            if lamports > 0 {
                scene.put(scene.wallets[index], Account::new(lamports, SYSTEM, Vec::new()));
            }
        }
        for _ in 0..2 {
            scene.add_nonce();
        }
        scene
    }

    /// Returns true in `percent` of cases of wild scenes, and rarely in calm ones.
    pub(crate) fn odd(&mut self, percent: usize) -> bool {
        self.rng.chance(percent) && (!self.calm || self.rng.chance(7))
    }

    /// A number below `odd` where [`Scene::odd`] is true, else one below `usual`.
    pub(crate) fn roll(&mut self, percent: usize, odd: usize, usual: usize) -> usize {
        let limit = if self.odd(percent) { odd } else { usual };
        self.rng.below(limit)
    }

    /// An unused address that can sign.
    pub(crate) fn fresh(&mut self) -> Key {
        self.fresh.pop().unwrap_or_else(|| self.noise())
    }

    /// A random address.
    pub(crate) fn noise(&mut self) -> Key {
        let mut key = [0; 32];
        key.chunks_mut(8).for_each(|it| it.copy_from_slice(&self.rng.word().to_le_bytes()));
        key
    }

    pub(crate) fn put(&mut self, key: Key, account: Account) {
        self.accounts.insert(key, account);
    }

    /// Records a key under a name.
    pub(crate) fn prop(&mut self, name: &'static str, key: Key) {
        self.props.entry(name).or_default().push(key);
    }

    pub(crate) fn pick_prop(&mut self, name: &'static str) -> Option<Key> {
        let list = self.props.get(name).filter(|it| !it.is_empty())?;
        Some(list[self.rng.below(list.len())])
    }

    pub(crate) fn wallet(&mut self) -> Key {
        // The first has the most.
        if self.rng.chance(50) { self.wallets[0] } else { self.rng.pick(&self.wallets.clone()) }
    }

    /// Any address that a transaction may contain.
    pub(crate) fn anybody(&mut self) -> Key {
        match self.rng.below(12) {
            0 => self.rng.pick(&[CLOCK, RENT, SLOT_HASHES, RECENT_BLOCKHASHES, INSTRUCTIONS]),
            1 => self.rng.pick(&[SYSTEM, TOKEN, MEMO_V4, LOADER_V3, STAKE, INCINERATOR]),
            2 => self.fresh(),
            3 => self.nonces[self.rng.below(self.nonces.len())].0,
            4..6 => {
                let props: Vec<Key> = self.props.values().flatten().copied().collect();
                if props.is_empty() { self.wallet() } else { self.rng.pick(&props) }
            }
            _ => self.wallet(),
        }
    }

    /// A balance: large, zero, or close to a limit.
    pub(crate) fn balance(&mut self) -> u64 {
        let edge = self.rng.pick(&[rent(0), rent(80), 5000, 10_000, 5000 + rent(0), 890_880, 0]);
        if !self.odd(50) {
            return 1_000_000_000 + self.rng.word() % 1_000_000_000;
        }
        match self.rng.below(5) {
            0 => 0,
            1 => edge,
            2 => edge.saturating_add_signed(self.rng.range(-2, 2)),
            3 => self.rng.word() >> 1,
            _ => 1_000_000_000 + self.rng.word() % 1_000_000_000,
        }
    }

    /// An amount to transfer.
    pub(crate) fn amount(&mut self) -> u64 {
        if !self.odd(45) {
            return 1 + self.rng.word() % 10_000_000;
        }
        match self.rng.below(6) {
            0 => 0,
            1 => self.rng.pick(&[rent(0), rent(0) - 1, rent(80), rent(165), rent(82)]),
            2 => self.balance(),
            3 => u64::MAX - self.rng.below(3) as u64,
            4 => self.rng.word(),
            _ => 1 + self.rng.word() % 10_000_000,
        }
    }

    /// A size of account data.
    pub(crate) fn space(&mut self) -> u64 {
        if !self.odd(40) {
            return self.rng.below(600) as u64;
        }
        match self.rng.below(4) {
            0 => self.rng.pick(&[10_240, 10_241, 10_485_760, 10_485_761, u64::MAX]),
            1 => self.rng.pick(&[80, 82, 165, 355, 36, 45]),
            2 => 0,
            _ => self.rng.below(600) as u64,
        }
    }

    pub(crate) fn blockhash(&mut self) -> Key {
        self.rng.pick(&self.world.blockhashes.clone())
    }

    fn add_nonce(&mut self) {
        let (key, authority) = (self.fresh(), self.wallet());
        // A nonce made from the last blockhash cannot be advanced.
        let of = if self.odd(20) { self.blockhash() } else { [0xee; 32] };
        let value = durable_nonce(&of);
        let legacy = self.rng.chance(5);
        let state = Bytes::new().u32(u32::from(!legacy)).u32(u32::from(!self.odd(8)));
        let data = state.key(&authority).key(&value).u64(5000).0;
        let extra = self.rng.pick(&[0, 0, 1, 5000, 1_000_000]);
        self.put(key, Account::new(rent(80) + extra, SYSTEM, data));
        self.nonces.push((key, authority, value));
    }

    /// Adds a lookup table that holds `keys`.
    pub(crate) fn add_table(&mut self, keys: Vec<Key>) -> Key {
        use super::world::SLOT;
        let (key, authority) = (self.noise(), self.wallets[0]);
        let deactivated = match self.odd(12) {
            true => SLOT - self.rng.below(12) as u64,
            _ => u64::MAX,
        };
        let (extended, start) = match self.odd(20) {
            true => (SLOT, self.rng.below(keys.len() + 1) as u8),
            _ => (SLOT - 5, 0),
        };
        let has_authority = self.rng.chance(80);
        let mut data = Bytes::new().u32(1).u64(deactivated).u64(extended).u8(start);
        data = data.u8(u8::from(has_authority)).key(&authority).u16(0).bytes(&keys.concat());
        let owner = if self.odd(4) { SYSTEM } else { TABLES };
        self.put(key, Account::new(rent(data.0.len()), owner, data.0));
        self.tables.push((key, keys));
        self.prop("table", key);
        key
    }

    pub(crate) fn draft(&mut self) -> Draft {
        let payer = match self.roll(22, 12, 1000) {
            0 => self.anybody(),
            1..12 => self.wallet(),
            _ => self.wallets[0],
        };
        let blockhash = if self.odd(3) { self.noise() } else { self.blockhash() };
        Draft { payer, instructions: Vec::new(), blockhash, format: Format::Legacy }
    }

    /// Removes accounts that no transaction with `keys` can observe.
    pub(crate) fn prune(&mut self, keys: &BTreeSet<Key>) {
        let data: Vec<Key> = keys
            .iter()
            .filter(|key| self.accounts.get(*key).is_some_and(|it| it.owner == LOADER_V3))
            .map(program_data_of)
            .collect();
        let is_seen = |key: &Key, account: &Account| {
            account.owner == SYSVAR || keys.contains(key) || data.contains(key)
        };
        self.accounts.retain(|key, account| is_seen(key, account));
        // Accounts from the time when rent was collected have other rent epochs.
        for key in keys {
            let epoch = self.rng.pick(&[0, 361, 1036]);
            let is_old = self.odd(8);
            if let Some(account) = self.accounts.get_mut(key).filter(|_| is_old) {
                account.rent_epoch = epoch;
            }
        }
    }
}

pub(crate) fn durable_nonce(blockhash: &Key) -> Key {
    Sha256::new().chain_update(b"DURABLE_NONCE").chain_update(blockhash).finalize().into()
}

/// The address that the system program derives with a seed.
pub(crate) fn with_seed(base: &Key, seed: &[u8], owner: &Key) -> Key {
    Sha256::new().chain_update(base).chain_update(seed).chain_update(owner).finalize().into()
}

/// A program derived address with its seeds.
pub(crate) fn own_address(program: &Key, seed: &[u8]) -> (Key, u8) {
    let (key, bump) = Pubkey::find_program_address(&[seed], &Pubkey::from(*program));
    (key.to_bytes(), bump)
}
