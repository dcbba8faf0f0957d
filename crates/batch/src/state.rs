//! The case of an item: its environment in its slot, its accounts, and what it runs.

use std::sync::Arc;

use selkie_builtins::sysvar_account;
use selkie_case::{Accounts, Case, CaseOptions, Input, KeyedAccount, sorted};
use selkie_svm::{BlockhashQueue, Environment, Pubkey, ReadableAccount};
use solana_account::{AccountSharedData, WritableAccount as _};
use solana_hash::Hash;
use solana_sdk_ids::sysvar::clock;

use crate::{
    Sha256,
    base::{Base, Content, LoadedEnvironment},
    error::Malformed,
    item::{Item, ItemAccount, ItemData, Kind, Override},
    replacement::Replacement,
};

/// The maximum length of an account's data in bytes.
const DATA_BYTES_MAX: usize = 10 << 20;
/// How many overrides an item may have: several times as many accounts as a transaction can name.
const OVERRIDES_MAX: usize = 1024;

/// An environment in the slot of an item, as cases have it. Items that follow each other mostly have the
/// same one. Threads do not share them, since counting references would take them turns.
pub(crate) struct Moment {
    key: MomentKey,
    environment: Arc<Environment>,
    /// The blockhashes that items which check theirs may name.
    blockhashes: Arc<BlockhashQueue>,
    /// The accounts that all items have.
    accounts: Arc<[KeyedAccount]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct MomentKey {
    env_ref: Sha256,
    slot: Option<u64>,
    epoch: Option<u64>,
    unix_timestamp: Option<i64>,
    blockhash: Option<Sha256>,
}

impl MomentKey {
    fn of(item: &Item<'_>) -> Self {
        let Item { env_ref, slot, epoch, unix_timestamp, blockhash, .. } = *item;
        Self { env_ref, slot, epoch, unix_timestamp, blockhash }
    }
}

impl Moment {
    /// Returns the environment of an item: the one of the item before, if it is the same.
    ///
    /// # Errors
    /// If the environment is missing or invalid.
    pub(crate) fn of<'m>(
        last: &'m mut Option<Self>,
        item: &Item<'_>,
        base: &Base,
    ) -> Result<&'m Self, Malformed> {
        let key = MomentKey::of(item);
        let kept = last.take().filter(|it| it.key == key);
        let moment = match kept {
            Some(kept) => kept,
            None => Self::new(key, &*base.environment(&key.env_ref)?),
        };
        Ok(last.insert(moment))
    }

    fn new(key: MomentKey, base: &LoadedEnvironment) -> Self {
        let mut environment = base.environment.clone();
        let mut accounts = base.accounts.clone();
        if key.slot.is_some() || key.epoch.is_some() || key.unix_timestamp.is_some() {
            let mut clock = environment.sysvars.clock().unwrap_or_default();
            clock.slot = key.slot.unwrap_or(clock.slot);
            clock.epoch = key.epoch.unwrap_or(clock.epoch);
            clock.unix_timestamp = key.unix_timestamp.unwrap_or(clock.unix_timestamp);
            environment.sysvars.set_clock(&clock);
        }
        if let Some(data) = environment.sysvars.get(&clock::ID) {
            let account = (clock::ID, sysvar_account(None, data.to_vec(), &environment.rent()));
            accounts = sorted(accounts.into_iter().chain([account]));
        }
        let mut blockhashes = base.blockhashes.clone();
        if let Some(blockhash) = key.blockhash {
            environment.blockhash = Hash::new_from_array(blockhash);
            blockhashes.register(environment.blockhash);
        }
        Self {
            key,
            environment: Arc::new(environment),
            blockhashes: Arc::new(blockhashes),
            accounts: accounts.into(),
        }
    }
}

/// Returns the case of an item. That of a search or of blocks runs nothing.
///
/// # Errors
/// If there are too many accounts, an address occurs twice, data are missing, or an override or the
/// replacement of a program does not fit.
pub(crate) fn case(item: &Item<'_>, moment: &Moment, base: &Base) -> Result<Case, Malformed> {
    check_number(item.accounts.len(), "accounts", item.kind.accounts_max())?;
    check_number(item.overrides.len(), "overrides", OVERRIDES_MAX)?;
    let own = item.accounts.iter().map(|account| Ok((account.pubkey, read(account, base)?)));
    let mut own = own.collect::<Result<Vec<_>, Malformed>>()?;
    own.sort_unstable_by_key(|(key, _)| *key);
    let mut pairs = own.iter().zip(own.iter().skip(1));
    if let Some(((key, _), _)) = pairs.find(|(left, right)| left.0 == right.0) {
        return Err(Malformed::from(format!("the account {key} occurs twice")));
    }
    let mut accounts = Accounts::over(Arc::clone(&moment.accounts));
    accounts.extend(own);
    for change in &item.overrides {
        apply(&mut accounts, change)?;
    }
    for replacement in base.replacements() {
        replace_program(&mut accounts, replacement)?;
    }
    Ok(Case {
        environment: Arc::clone(&moment.environment),
        blockhashes: Arc::clone(&moment.blockhashes),
        accounts,
        input: match item.kind {
            Kind::Transaction => Input::Wire(item.message.to_vec()),
            Kind::Fuzz | Kind::Segment => Input::default(),
        },
        options: CaseOptions {
            verifies_signatures: item.verify_signatures,
            checks_blockhash: item.check_blockhash,
            budget: None,
        },
    })
}

fn apply(accounts: &mut Accounts, change: &Override<'_>) -> Result<(), Malformed> {
    let account = accounts.get_mut(change.pubkey);
    if let Some(lamports) = change.lamports {
        account.set_lamports(lamports);
    }
    if let Some(owner) = change.owner {
        account.set_owner(owner);
    }
    let Some((offset, bytes)) = change.bytes else { return Ok(()) };
    if bytes.len() > DATA_BYTES_MAX {
        return Err(too_long(&change.pubkey));
    }
    match offset {
        Some(offset) => replace(account, offset, bytes).ok_or_else(|| too_long(&change.pubkey)),
        None => {
            account.set_data_from_slice(bytes);
            Ok(())
        }
    }
}

/// Replaces the file of a program, if the item has the program.
fn replace_program(accounts: &mut Accounts, replacement: &Replacement) -> Result<(), Malformed> {
    let existing = |accounts: &Accounts, key: &Pubkey| {
        accounts.get(key).filter(|account| account.lamports() > 0).cloned()
    };
    let Some(program) = existing(accounts, &replacement.program) else { return Ok(()) };
    let (address, header) = replacement.holder(&program)?;
    let Some(holder) = existing(accounts, &address) else { return Ok(()) };
    *accounts.get_mut(address) = replacement.replaced(&holder, header)?;
    Ok(())
}

/// Replaces bytes of an account's data, which grow if they are shorter; `None` if they would be too
/// long.
fn replace(account: &mut AccountSharedData, offset: u64, bytes: &[u8]) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(bytes.len()).filter(|end| *end <= DATA_BYTES_MAX)?;
    if account.data().len() < end {
        account.resize(end, 0);
    }
    account.data_as_mut_slice().get_mut(start..end)?.copy_from_slice(bytes);
    Some(())
}

fn check_number(number: usize, what: &str, max: usize) -> Result<(), Malformed> {
    if number > max {
        return Err(Malformed::from(format!(
            "there are {number} {what}, but an item may have up to {max}"
        )));
    }
    Ok(())
}

fn too_long(key: &Pubkey) -> Malformed {
    format!("an override makes the data of {key} longer than {DATA_BYTES_MAX} bytes").into()
}

fn read(account: &ItemAccount<'_>, base: &Base) -> Result<AccountSharedData, Malformed> {
    let ItemAccount { pubkey, lamports, ref owner, executable, data } = *account;
    let data = match data {
        ItemData::Inline(data) => Content::new(data.to_vec()),
        ItemData::Ref(hash) => Arc::clone(base.content(&hash)?),
    };
    if data.len() > DATA_BYTES_MAX {
        return Err(Malformed::from(format!(
            "the data of {pubkey} are longer than {DATA_BYTES_MAX} bytes"
        )));
    }
    Ok(AccountSharedData::new_with_shared_data(lamports, data, owner, executable))
}
