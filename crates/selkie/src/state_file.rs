//! A chain's state in a file, to continue with it in another process.
//!
//! ```text
//! "selkie state 1\n"
//! a line of JSON: slot, features, blockhash, prices, stakes, how many accounts, mainnet's programs
//! for each account, by address: address, owner, lamports, rent epoch, executable, length, data
//! SHA-256 of all that
//! ```
//!
//! Numbers are little-endian. Parts of the runtime are not stored, but referred to: builtin
//! programs follow from the features; unchanged accounts of mainnet's programs are listed by
//! address.

use core::fmt;
use std::{
    io,
    path::{Path, PathBuf},
};

use selkie_bank::{Stakes, alpenglow, sysvars::slot_history_passing};
use selkie_builtins::sysvar_account;
use selkie_isa::input;
use selkie_programs::accounts::{WellKnownAccount, WellKnownAccountSet};
use selkie_svm::{
    EpochStake, Feature, FeatureSet, Release, Rules, cost::ACCOUNT_BYTES_MAX, sysvars::SysvarError,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar::{self, slot_history};

use crate::{account_error::AccountError, genesis, recording::replace, svm::Svm};

const MAGIC: &[u8] = b"selkie state 1\n";
const HASH_BYTES: usize = 32;
/// Ten times the size of a header with every feature.
const HEADER_BYTES_MAX: usize = 256 << 10;
/// The most bytes of a file.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// A state file that cannot be read or written.
#[non_exhaustive]
pub enum StateFileError {
    /// The file cannot be read or written.
    File(PathBuf, io::Error),
    /// The file is not a valid state file.
    Format(String),
}

impl fmt::Display for StateFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "cannot use {}: {error}", path.display()),
            Self::Format(why) => write!(f, "not a valid state file: {why}"),
        }
    }
}

impl core::error::Error for StateFileError {}

fn format_error(why: impl Into<String>) -> StateFileError {
    StateFileError::Format(why.into())
}

impl Svm {
    /// Writes the state to a file: accounts, time, features, fees. The file is replaced atomically.
    /// It omits the history, all blockhashes but the last, builtin programs added by
    /// [`Svm::add_builtin`], and how transactions are run here: which checks are made, budgets,
    /// the engine, the limit of logs.
    ///
    /// ```no_run
    /// # use selkie::Svm;
    /// let svm = Svm::new();
    /// svm.save("cluster.selkie")?;
    /// let again = Svm::load("cluster.selkie")?;
    /// assert_eq!(again.slot(), svm.slot() + 1);
    /// # Ok::<(), selkie::StateFileError>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written, or would be larger than the 4 GiB that [`Svm::load`] reads.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), StateFileError> {
        let path = path.as_ref();
        let bytes = self.to_bytes();
        let written = match bytes.len() as u64 {
            0..=FILE_BYTES_MAX => replace(path, &bytes),
            len => {
                let why = format!("its {len} bytes are more than can be loaded: {FILE_BYTES_MAX}");
                Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
            }
        };
        written.map_err(|error| StateFileError::File(path.to_owned(), error))
    }

    /// Loads a file that [`Svm::save`] wrote. The chain continues in the next slot with a new
    /// blockhash: transactions signed with an older one are dropped.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, StateFileError> {
        let path = path.as_ref();
        let bytes = input::read(path, FILE_BYTES_MAX)
            .map_err(|error| StateFileError::File(path.to_owned(), error))?;
        Self::from_bytes(&bytes)
    }

    /// Encodes the state as [`Svm::save`] does.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let features = self.features();
        let ids: Vec<_> = features.iter().map(|feature| feature.address().to_string()).collect();
        let accounts = &self.journal.state().accounts;
        let mut written = accounts.written();
        let history = whole_history(self.slot());
        written.retain(|(key, account)| *key != slot_history::ID || account.data() != history);
        let programs = accounts.programs().iter().map(|it| it.key().to_string());
        let header = json!({
            "slot": self.slot(),
            "features": ids,
            "release": self.rules().release.to_string(),
            "blockhash": self.latest_blockhash().to_string(),
            "lamportsPerSignature": self.environment().lamports_per_signature,
            "slotMilliseconds": self.slot_milliseconds,
            "stakes": stakes_to_json(&self.journal.state().stakes),
            "accounts": written.len(),
            "programs": programs.collect::<Vec<_>>(),
        });
        let mut bytes = MAGIC.to_vec();
        bytes.extend(format!("{header}\n").as_bytes());
        for (key, account) in written {
            write_account(&mut bytes, &key, account);
        }
        let hash: [u8; HASH_BYTES] = Sha256::digest(&bytes).into();
        bytes.extend(hash);
        bytes
    }

    /// Decodes a state as [`Svm::load`] does.
    ///
    /// # Errors
    /// If the bytes are not the output of [`Svm::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateFileError> {
        let rest = bytes.strip_prefix(MAGIC);
        let rest = rest.ok_or_else(|| format_error("its magic number is wrong"))?;
        let body = bytes.len().checked_sub(HASH_BYTES).and_then(|len| bytes.split_at_checked(len));
        let is_whole = body.is_some_and(|(body, hash)| *Sha256::digest(body) == *hash);
        let rest = rest.len().checked_sub(HASH_BYTES).and_then(|len| rest.get(..len));
        let rest = rest.filter(|_| is_whole);
        let rest = rest.ok_or_else(|| format_error("it is truncated or modified"))?;
        let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (header, accounts) = rest.split_at(line);
        if header.len() > HEADER_BYTES_MAX {
            return Err(format_error("its header is too long"));
        }
        let header: Value =
            serde_json::from_slice(header).map_err(|error| format_error(error.to_string()))?;
        let accounts = accounts.get(1..).unwrap_or_default();
        let header = Header::read(&header).ok_or_else(|| format_error("its header is invalid"))?;
        header.restore(accounts)
    }
}

/// Returns the slot history of a chain on which every slot before this one had a block. Files omit it.
fn whole_history(slot: u64) -> Vec<u8> {
    slot_history_passing(&[], slot.saturating_sub(1))
}

fn stakes_to_json(stakes: &Stakes) -> Value {
    let stake = |stake: &EpochStake| {
        let voters = stake.vote_accounts.iter().map(|(key, stake)| (key.to_string(), json!(stake)));
        json!({ "total": stake.total, "voteAccounts": voters.collect::<Map<_, _>>() })
    };
    let epochs = stakes.epochs.iter().map(|(epoch, it)| (epoch.to_string(), stake(it)));
    json!({ "besides": stake(&stakes.additional), "epochs": epochs.collect::<Map<_, _>>() })
}

fn stakes_from_json(value: &Value) -> Option<Stakes> {
    let stake = |value: &Value| {
        let voters = value.get("voteAccounts")?.as_object()?.iter();
        let voters = voters.map(|(key, stake)| Some((key.parse().ok()?, stake.as_u64()?)));
        let total = value.get("total")?.as_u64()?;
        Some(EpochStake { total, vote_accounts: voters.collect::<Option<_>>()? })
    };
    let epochs = value.get("epochs")?.as_object()?.iter();
    let epochs = epochs.map(|(epoch, value)| Some((epoch.parse().ok()?, stake(value)?)));
    let epochs = epochs.collect::<Option<_>>()?;
    Some(Stakes { additional: stake(value.get("besides")?)?, epochs, ..Stakes::default() })
}

fn write_account(bytes: &mut Vec<u8>, key: &Pubkey, account: &AccountSharedData) {
    bytes.extend(key.as_ref());
    bytes.extend(account.owner().as_ref());
    bytes.extend(account.lamports().to_le_bytes());
    bytes.extend(account.rent_epoch().to_le_bytes());
    bytes.push(account.executable().into());
    bytes.extend((account.data().len() as u64).to_le_bytes());
    bytes.extend(account.data());
}

/// Reads an account and advances `bytes` past it.
fn read_account(bytes: &mut &[u8]) -> Option<(Pubkey, Account)> {
    fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (first, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(*first)
    }
    let [key, owner] = [take(bytes)?, take(bytes)?].map(Pubkey::new_from_array);
    let [lamports, rent_epoch] = [take(bytes)?, take(bytes)?].map(u64::from_le_bytes);
    let executable = take::<1>(bytes)? == [1];
    let len = usize::try_from(u64::from_le_bytes(take(bytes)?)).ok()?;
    let (data, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    let data = data.to_vec();
    Some((key, Account { lamports, data, owner, executable, rent_epoch }))
}

struct Header {
    slot: u64,
    rules: Rules,
    blockhash: Hash,
    lamports_per_signature: u64,
    slot_milliseconds: u64,
    stakes: Stakes,
    accounts: u64,
    programs: Vec<Pubkey>,
}

fn addresses(list: &Value) -> Option<Vec<Pubkey>> {
    list.as_array()?.iter().map(|address| address.as_str()?.parse().ok()).collect()
}

impl Header {
    fn read(value: &Value) -> Option<Self> {
        let number = |name: &str| value.get(name)?.as_u64();
        let mut features = FeatureSet::none();
        for id in value.get("features")?.as_array()? {
            // A feature that is active on all clusters may have lost its row.
            let feature = Feature::from_address(&id.as_str()?.parse().ok()?);
            features = feature.map_or(features, |feature| features.with(feature));
        }
        Some(Self {
            slot: number("slot")?,
            // Files of earlier versions follow the release of their time.
            rules: Rules {
                features,
                release: value
                    .get("release")
                    .map_or(Some(Release::V4_3), |it| it.as_str()?.parse().ok())?,
            },
            blockhash: value.get("blockhash")?.as_str()?.parse().ok()?,
            lamports_per_signature: number("lamportsPerSignature")?,
            slot_milliseconds: number("slotMilliseconds")?,
            // Missing in files of earlier versions.
            stakes: value.get("stakes").map_or(Some(Stakes::default()), stakes_from_json)?,
            accounts: number("accounts")?,
            // Files of earlier versions store all accounts.
            programs: value.get("programs").map_or(Some(Vec::new()), addresses)?,
        })
    }

    /// Returns the well-known accounts that the file lists.
    fn well_known_accounts(&self) -> Result<WellKnownAccountSet, StateFileError> {
        let mut accounts = WellKnownAccountSet::default();
        for key in &self.programs {
            let it = WellKnownAccount::of(key).ok_or_else(|| {
                format_error(format!(
                    "this build has no program whose account is {key}\nhelp: build with the \
                     feature `programs`, and with the version that wrote the file or a newer one"
                ))
            })?;
            accounts.insert(it);
        }
        Ok(accounts)
    }

    fn restore(self, mut bytes: &[u8]) -> Result<Svm, StateFileError> {
        let mut svm = Svm::new();
        *svm.journal.state_mut() = genesis::empty_state(self.rules);
        svm.slot_milliseconds = self.slot_milliseconds;
        for _ in 0..self.accounts {
            let (key, account) = read_account(&mut bytes)
                .ok_or_else(|| format_error("it has fewer accounts than its header says"))?;
            if account.data.len() > ACCOUNT_BYTES_MAX {
                let bytes = account.data.len();
                return Err(format_error(AccountError::TooLong { key, bytes }.to_string()));
            }
            if account.owner == sysvar::ID {
                match svm.set_sysvar(key, &account.data) {
                    // The runtime ignores some sysvar accounts.
                    Ok(()) | Err(SysvarError::UnknownAddress(_)) => {}
                    Err(error) => return Err(format_error(error.to_string())),
                }
            }
            svm.journal.set_account(key, Some(account.into()));
        }
        if svm.journal.state().accounts.get(&slot_history::ID).is_none() {
            let history = sysvar_account(None, whole_history(self.slot), &svm.rent());
            svm.journal.set_account(slot_history::ID, Some(history));
        }
        svm.journal.state_mut().accounts.set_programs(self.well_known_accounts()?);
        if !bytes.is_empty() {
            return Err(format_error("there are extra bytes after its accounts"));
        }
        if svm.slot() != self.slot {
            return Err(format_error("its clock has another slot than its header"));
        }
        let epoch = svm.epoch_schedule().get_epoch(self.slot);
        let is_alpenglow = alpenglow::genesis_slot(&svm.journal.state().accounts).is_some();
        let environment = svm.journal.environment_mut();
        environment.epoch_stake = self.stakes.current(epoch).clone();
        environment.blockhash = self.blockhash;
        environment.is_alpenglow = is_alpenglow;
        environment.lamports_per_signature = self.lamports_per_signature;
        svm.journal.set_stakes(self.stakes);
        svm.journal.blockhash_queue_mut().register(self.blockhash);
        svm.warp_by_slots(1);
        svm.expire_blockhash();
        Ok(svm)
    }
}
