//! The state that a transaction is executed on: an environment in its slot, and the accounts of its
//! item.

use std::sync::Arc;

use selkie_svm::{AccountStore, BlockhashQueue, Environment, Pubkey, ReadableAccount};
use solana_account::{AccountSharedData, WritableAccount as _};
use solana_hash::Hash;
use solana_sdk_ids::sysvar::clock;

use crate::{
    Sha256,
    base::{Base, Content, Prepared, sysvar_account},
    item::{Item, ItemAccount, ItemData, Override},
    replacement::Replacement,
};

/// The maximum length of an account's data in bytes.
const DATA_BYTES_MAX: usize = 10 << 20;
/// How many overrides an item may have: several times as many accounts as a transaction can name.
const OVERRIDES_MAX: usize = 1024;

/// An environment in the slot of an item. Items that follow each other mostly have the same one.
pub(crate) struct Moment {
    key: MomentKey,
    base: Arc<Prepared>,
    pub(crate) environment: Environment,
    /// The blockhashes that items which check theirs may name.
    pub(crate) blockhash_queue: BlockhashQueue,
    clock: Option<AccountSharedData>,
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
    ) -> Result<&'m Self, String> {
        let key = MomentKey::of(item);
        let kept = last.take().filter(|it| it.key == key);
        let moment = match kept {
            Some(kept) => kept,
            None => Self::new(key, base.environment(&key.env_ref)?),
        };
        Ok(last.insert(moment))
    }

    fn new(key: MomentKey, base: Arc<Prepared>) -> Self {
        let mut environment = base.environment.clone();
        if key.slot.is_some() || key.epoch.is_some() || key.unix_timestamp.is_some() {
            let mut clock = environment.sysvars.clock().unwrap_or_default();
            clock.slot = key.slot.unwrap_or(clock.slot);
            clock.epoch = key.epoch.unwrap_or(clock.epoch);
            clock.unix_timestamp = key.unix_timestamp.unwrap_or(clock.unix_timestamp);
            environment.sysvars.set_clock(&clock);
        }
        let mut blockhash_queue = base.blockhash_queue.clone();
        if let Some(blockhash) = key.blockhash {
            environment.blockhash = Hash::new_from_array(blockhash);
            blockhash_queue.register(environment.blockhash);
        }
        let rent = environment.rent();
        let clock = environment.sysvars.get(&clock::ID).map(|data| sysvar_account(data, &rent));
        Self { key, base, environment, blockhash_queue, clock }
    }

    /// Returns the account that all items of the environment have at an address.
    fn account(&self, key: &Pubkey) -> Option<&AccountSharedData> {
        let clock = self.clock.as_ref().filter(|_| *key == clock::ID);
        clock.or_else(|| self.base.account(key))
    }
}

/// The accounts of an item, over those of its environment.
pub(crate) struct ItemAccounts<'m> {
    moment: &'m Moment,
    /// Sorted by address.
    own: Vec<(Pubkey, AccountSharedData)>,
}

impl<'m> ItemAccounts<'m> {
    /// Collects the accounts of an item.
    ///
    /// # Errors
    /// If there are too many, an address occurs twice, data are missing, or an override or the
    /// replacement of a program does not fit.
    pub(crate) fn new(item: &Item<'_>, moment: &'m Moment, base: &Base) -> Result<Self, String> {
        check_number(item.accounts.len(), "accounts", item.kind.accounts_max())?;
        check_number(item.overrides.len(), "overrides", OVERRIDES_MAX)?;
        let own = item.accounts.iter().map(|account| Ok((account.pubkey, read(account, base)?)));
        let mut own = own.collect::<Result<Vec<_>, String>>()?;
        own.sort_unstable_by_key(|(key, _)| *key);
        let mut pairs = own.iter().zip(own.iter().skip(1));
        if let Some(((key, _), _)) = pairs.find(|(left, right)| left.0 == right.0) {
            return Err(format!("the account {key} occurs twice"));
        }
        let mut accounts = Self { moment, own };
        for change in &item.overrides {
            accounts.apply(change)?;
        }
        for replacement in base.replacements() {
            accounts.replace_program(replacement)?;
        }
        Ok(accounts)
    }

    /// Returns the environment of the item.
    pub(crate) fn moment(&self) -> &'m Moment {
        self.moment
    }

    /// Returns all accounts. Of several at an address the last one counts.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Pubkey, AccountSharedData)> {
        let Moment { base, clock, .. } = self.moment;
        let clock = clock.iter().map(|account| (clock::ID, account.clone()));
        base.accounts.iter().cloned().chain(clock).chain(self.own.iter().cloned())
    }

    fn apply(&mut self, change: &Override<'_>) -> Result<(), String> {
        let account = self.own_mut(change.pubkey);
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
    fn replace_program(&mut self, replacement: &Replacement) -> Result<(), String> {
        let Some(program) = self.account(&replacement.program) else { return Ok(()) };
        let (address, header) = replacement.holder(&program)?;
        let Some(holder) = self.account(&address) else { return Ok(()) };
        *self.own_mut(address) = replacement.replaced(&holder, header)?;
        Ok(())
    }

    /// Returns the item's own account at an address: a copy of the environment's, or an empty one, if
    /// it has none yet.
    fn own_mut(&mut self, key: Pubkey) -> &mut AccountSharedData {
        let index = match self.own.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(index) => index,
            Err(index) => {
                let shared = self.moment.account(&key).cloned().unwrap_or_default();
                self.own.insert(index, (key, shared));
                index
            }
        };
        &mut self.own[index].1
    }
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

fn check_number(number: usize, what: &str, max: usize) -> Result<(), String> {
    if number > max {
        return Err(format!("there are {number} {what}, but an item may have up to {max}"));
    }
    Ok(())
}

fn too_long(key: &Pubkey) -> String {
    format!("an override makes the data of {key} longer than {DATA_BYTES_MAX} bytes")
}

fn read(account: &ItemAccount<'_>, base: &Base) -> Result<AccountSharedData, String> {
    let ItemAccount { pubkey, lamports, ref owner, executable, data } = *account;
    let data = match data {
        ItemData::Inline(data) => Content::new(data.to_vec()),
        ItemData::Ref(hash) => Arc::clone(base.content(&hash)?),
    };
    if data.len() > DATA_BYTES_MAX {
        return Err(format!("the data of {pubkey} are longer than {DATA_BYTES_MAX} bytes"));
    }
    Ok(AccountSharedData::new_with_shared_data(lamports, data, owner, executable))
}

impl AccountStore for ItemAccounts<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.with_account(key, |account| account.cloned())
    }

    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        let own = self.own.binary_search_by(|(known, _)| known.cmp(key)).ok();
        let own = own.and_then(|index| self.own.get(index)).map(|(_, account)| account);
        then(match own {
            Some(account) => Some(account).filter(|account| account.lamports() > 0),
            None => self.moment.account(key),
        })
    }
}
