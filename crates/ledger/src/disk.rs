//! [`DiskStore`]: a store in one file, `ledger.redb` in a folder.
//!
//! | table | key | value |
//! |---|---|---|
//! | `meta` | `schema`, `header` | the number of the schema; the [`Header`] as JSON |
//! | `meta` | `lattice` | the bank hash and the lattice hash that belongs to it |
//! | `meta` | `fetched` | the addresses that were asked for at another cluster |
//! | `accounts`, `large_accounts` | address | lamports, rent epoch, owner, executable, data |
//! | `blocks` | slot | the block without transactions |
//! | `transactions` | slot, index | the landed transaction |
//!
//! Large accounts, programs as a rule, have a table of their own, so that pages with small accounts
//! stay together. Indexes are not stored: they are made from the blocks when a node starts, so that
//! they always agree with them.
//!
//! The checksums of all pages are verified when the file is opened. A file that was changed behind
//! the store's back is reported as damaged. With redb's quick repair instead, such a file would be
//! trusted, and a block would take twice as long to write, since each commit is synced twice: 8 ms
//! instead of 4 where opening 17 MB after a kill took 43 ms instead of 95 (`examples/restart.rs`).

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, Table,
    TableDefinition, TableError, WriteTransaction,
};
use serde::{Serialize, de::DeserializeOwned};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    block::{Block, BlockRecord, Landed},
    store::{Commit, Header, Store, StoreError},
};

/// The schema that this version writes. `migrate` brings older ones up to it.
///
/// Schema 2 has transactions with what each instruction used and how accounts changed, which ledgers of
/// schema 1 may lack. Schema 3 has blocks with the rewards of epochs.
const SCHEMA: u64 = 3;
/// The name of the file in the folder.
const FILE: &str = "ledger.redb";
/// The size of redb's cache: pages are read once at the start, and then only written.
const CACHE_BYTES: usize = 8 << 20;
/// Accounts with more data are in the table of large accounts.
const SMALL_BYTES_MAX: usize = 64 << 10;
/// The bytes before an account's data: lamports, rent epoch, owner, executable.
const ACCOUNT_HEADER_BYTES: usize = 8 + 8 + 32 + 1;

type Bytes = &'static [u8];
type Address = [u8; 32];

const META: TableDefinition<'_, &str, Bytes> = TableDefinition::new("meta");
const ACCOUNTS: TableDefinition<'_, Address, Bytes> = TableDefinition::new("accounts");
const LARGE_ACCOUNTS: TableDefinition<'_, Address, Bytes> = TableDefinition::new("large_accounts");
const BLOCKS: TableDefinition<'_, u64, Bytes> = TableDefinition::new("blocks");
const TRANSACTIONS: TableDefinition<'_, (u64, u32), Bytes> = TableDefinition::new("transactions");

/// A ledger in a file.
#[derive(Debug)]
pub struct DiskStore {
    path: PathBuf,
    /// `None` after an error that may have left redb inconsistent.
    database: Option<Database>,
}

impl DiskStore {
    /// Opens the ledger in a folder, creating both if they do not exist.
    ///
    /// # Errors
    /// If the file is in use, was written by a newer version, is damaged or cannot be written.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| StoreError::File(shown(folder), error.to_string());
        fs::create_dir_all(folder).map_err(failed)?;
        let database = guarded(|| {
            let mut builder = Builder::new();
            builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
            builder.create(&path).map_err(|error| database_error(&path, error))
        })?;
        let mut store = Self { path, database: Some(database) };
        store.check_schema()?;
        Ok(store)
    }

    /// Returns whether a folder has the file of a ledger, even an empty one.
    #[must_use]
    pub fn exists(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// Removes the ledger in a folder, if there is one.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn remove(folder: &Path) -> Result<(), StoreError> {
        match fs::remove_file(folder.join(FILE)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::File(shown(folder), error.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn check_schema(&mut self) -> Result<(), StoreError> {
        let schema = self.read(|it| it.meta("schema"))?;
        match schema.map(|bytes| <[u8; 8]>::try_from(bytes.as_slice())) {
            None => Ok(()),
            Some(Ok(bytes)) => match u64::from_le_bytes(bytes) {
                SCHEMA => Ok(()),
                ..SCHEMA => self.migrate(),
                newer => Err(StoreError::Newer(newer, SCHEMA)),
            },
            Some(Err(_)) => Err(StoreError::Damaged("its schema is not a number".to_owned())),
        }
    }

    /// Rewrites what older schemas encode in another way, in one transaction.
    fn migrate(&mut self) -> Result<(), StoreError> {
        self.write(|transaction| {
            complete::<_, Landed>(transaction, TRANSACTIONS)?;
            complete::<_, BlockRecord>(transaction, BLOCKS)?;
            let mut meta = transaction.open_table(META).map_err(damaged)?;
            meta.insert("schema", &SCHEMA.to_le_bytes()[..]).map_err(damaged)?;
            Ok(())
        })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.database()?;
        guarded(|| {
            let transaction = database.begin_read().map_err(damaged)?;
            read(&Reader(transaction))
        })
    }

    fn write(
        &mut self,
        write: impl FnOnce(&WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let path = shown(&self.path);
        let database = self.database()?;
        let written = guarded(|| {
            let transaction = database.begin_write().map_err(|it| failed(&path, it))?;
            write(&transaction)?;
            transaction.commit().map_err(|it| failed(&path, it))
        });
        written.map_err(|error| match error {
            StoreError::Damaged(why) => StoreError::File(path.clone(), why),
            error => error,
        })
    }

    fn database(&self) -> Result<&Database, StoreError> {
        let closed = || StoreError::File(shown(&self.path), "it was closed".to_owned());
        self.database.as_ref().ok_or_else(closed)
    }
}

impl Store for DiskStore {
    fn header(&mut self) -> Result<Option<Header>, StoreError> {
        let Some(bytes) = self.read(|it| it.meta("header"))? else { return Ok(None) };
        let mut header: Header = serde_json::from_slice(&bytes).map_err(damaged)?;
        let lattice = self.read(|it| it.meta("lattice"))?.unwrap_or_default();
        // A version that does not know the lattice hash leaves that of an older bank.
        let own = lattice.strip_prefix(header.hash.as_ref());
        header.lattice = own.unwrap_or_default().to_vec();
        Ok(Some(header))
    }

    fn accounts(
        &mut self,
        each: &mut dyn FnMut(Pubkey, AccountSharedData),
    ) -> Result<(), StoreError> {
        self.read(|it| {
            it.each(ACCOUNTS, &mut |key, bytes| read_account(key, bytes, each))?;
            it.each(LARGE_ACCOUNTS, &mut |key, bytes| read_account(key, bytes, each))
        })
    }

    fn blocks(&mut self, each: &mut dyn FnMut(Block)) -> Result<(), StoreError> {
        self.read(|it| {
            it.each(BLOCKS, &mut |slot, bytes| {
                let mut block = decode::<BlockRecord>(bytes)?.into_block(slot);
                block.transactions = it.transactions(slot)?;
                each(block);
                Ok(())
            })
        })
    }

    fn fetched(&mut self) -> Result<Vec<Pubkey>, StoreError> {
        let bytes = self.read(|it| it.meta("fetched"))?.unwrap_or_default();
        let (keys, rest) = bytes.as_chunks();
        match rest.is_empty() {
            true => Ok(keys.iter().map(|key| Pubkey::new_from_array(*key)).collect()),
            false => Err(StoreError::Damaged("an address is cut off".to_owned())),
        }
    }

    fn commit(&mut self, commit: &Commit) -> Result<(), StoreError> {
        self.write(|transaction| {
            write_accounts(transaction, &commit.accounts)?;
            write_blocks(transaction, commit)?;
            write_meta(transaction, commit)
        })
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.delete_table(META).map_err(damaged)?;
            transaction.delete_table(ACCOUNTS).map_err(damaged)?;
            transaction.delete_table(LARGE_ACCOUNTS).map_err(damaged)?;
            transaction.delete_table(BLOCKS).map_err(damaged)?;
            transaction.delete_table(TRANSACTIONS).map_err(damaged)?;
            Ok(())
        })
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let Some(database) = &mut self.database else { return Ok(()) };
        match guarded(|| database.check_integrity().map_err(damaged))? {
            true => Ok(()),
            false => Err(StoreError::Damaged("a checksum was wrong; it was repaired".to_owned())),
        }
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        let Some(database) = &mut self.database else { return Ok(()) };
        guarded(|| database.compact().map_err(damaged)).map(|_| ())
    }

    fn size_bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |it| it.len())
    }
}

/// A read transaction.
struct Reader(redb::ReadTransaction);

impl Reader {
    /// Returns a value of the table `meta`.
    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let table = match self.0.open_table(META) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table.map_err(damaged)?,
        };
        let value = table.get(name).map_err(damaged)?;
        Ok(value.map(|bytes| bytes.value().to_vec()))
    }

    /// Passes every entry of a table to `each`, in the order of the keys.
    #[expect(clippy::type_complexity, reason = "it is the type of a closure")]
    fn each<K: redb::Key + 'static>(
        &self,
        table: TableDefinition<'_, K, Bytes>,
        each: &mut dyn FnMut(K::SelfType<'_>, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let table = match self.0.open_table(table) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(()),
            table => table.map_err(damaged)?,
        };
        for entry in table.iter().map_err(damaged)? {
            let (key, value) = entry.map_err(damaged)?;
            each(key.value(), value.value())?;
        }
        Ok(())
    }

    fn transactions(&self, slot: u64) -> Result<Vec<Arc<Landed>>, StoreError> {
        let table = match self.0.open_table(TRANSACTIONS) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            table => table.map_err(damaged)?,
        };
        let range = table.range((slot, 0)..=(slot, u32::MAX)).map_err(damaged)?;
        range.map(|entry| decode(entry.map_err(damaged)?.1.value()).map(Arc::new)).collect()
    }
}

fn write_accounts(
    transaction: &WriteTransaction,
    accounts: &[(Pubkey, AccountSharedData)],
) -> Result<(), StoreError> {
    let mut small = transaction.open_table(ACCOUNTS).map_err(damaged)?;
    let mut large = transaction.open_table(LARGE_ACCOUNTS).map_err(damaged)?;
    for (key, account) in accounts {
        let key = key.to_bytes();
        let is_large = account.data().len() > SMALL_BYTES_MAX;
        let (to, from): (&mut Table<'_, _, _>, _) =
            if is_large { (&mut large, &mut small) } else { (&mut small, &mut large) };
        if account.lamports() == 0 {
            to.remove(key).map_err(damaged)?;
        } else {
            to.insert(key, account_bytes(account).as_slice()).map_err(damaged)?;
        }
        from.remove(key).map_err(damaged)?;
    }
    Ok(())
}

fn write_blocks(transaction: &WriteTransaction, commit: &Commit) -> Result<(), StoreError> {
    let mut blocks = transaction.open_table(BLOCKS).map_err(damaged)?;
    let mut transactions = transaction.open_table(TRANSACTIONS).map_err(damaged)?;
    if let Some(slot) = commit.revert_to {
        let next = slot.saturating_add(1);
        blocks.retain_in(next.., |_, _| false).map_err(damaged)?;
        transactions.retain_in((next, 0).., |_, _| false).map_err(damaged)?;
    }
    for block in &commit.blocks {
        blocks.insert(block.slot, encode(&BlockRecord::new(block))?.as_slice()).map_err(damaged)?;
        for landed in &block.transactions {
            let bytes = encode(&**landed)?;
            transactions.insert((block.slot, landed.index), bytes.as_slice()).map_err(damaged)?;
        }
    }
    if let Some(slot) = commit.prune_before {
        blocks.retain_in(..slot, |_, _| false).map_err(damaged)?;
        transactions.retain_in(..(slot, 0), |_, _| false).map_err(damaged)?;
    }
    Ok(())
}

/// Gives records of older schemas that lack the last two fields, which are lists or may be absent, empty
/// ones.
fn complete<K, T: DeserializeOwned>(
    transaction: &WriteTransaction,
    table: TableDefinition<'_, K, Bytes>,
) -> Result<(), StoreError>
where
    K: for<'k> redb::Key<SelfType<'k> = K> + Copy + 'static,
{
    let mut table = transaction.open_table(table).map_err(damaged)?;
    let mut completed = Vec::new();
    for entry in table.iter().map_err(damaged)? {
        let (key, value) = entry.map_err(damaged)?;
        if decode::<T>(value.value()).is_err() {
            let bytes = [value.value(), &[0, 0]].concat();
            decode::<T>(&bytes)?;
            completed.push((key.value(), bytes));
        }
    }
    for (key, bytes) in completed {
        table.insert(key, bytes.as_slice()).map_err(damaged)?;
    }
    Ok(())
}

fn write_meta(transaction: &WriteTransaction, commit: &Commit) -> Result<(), StoreError> {
    let header = &commit.header;
    let mut meta = transaction.open_table(META).map_err(damaged)?;
    let bytes = serde_json::to_vec(header).map_err(damaged)?;
    let lattice = [header.hash.as_ref(), header.lattice.as_slice()].concat();
    meta.insert("schema", &SCHEMA.to_le_bytes()[..]).map_err(damaged)?;
    meta.insert("header", bytes.as_slice()).map_err(damaged)?;
    meta.insert("lattice", lattice.as_slice()).map_err(damaged)?;
    if let Some(fetched) = &commit.fetched {
        let bytes: Vec<u8> = fetched.iter().flat_map(Pubkey::to_bytes).collect();
        meta.insert("fetched", bytes.as_slice()).map_err(damaged)?;
    }
    Ok(())
}

fn account_bytes(account: &AccountSharedData) -> Vec<u8> {
    let len = ACCOUNT_HEADER_BYTES.saturating_add(account.data().len());
    let mut bytes = Vec::with_capacity(len);
    bytes.extend(account.lamports().to_le_bytes());
    bytes.extend(account.rent_epoch().to_le_bytes());
    bytes.extend(account.owner().as_ref());
    bytes.push(account.executable().into());
    bytes.extend(account.data());
    bytes
}

fn read_account(
    key: Address,
    bytes: &[u8],
    each: &mut dyn FnMut(Pubkey, AccountSharedData),
) -> Result<(), StoreError> {
    let parse = || {
        let (lamports, rest) = bytes.split_first_chunk()?;
        let (rent_epoch, rest) = rest.split_first_chunk()?;
        let (owner, rest) = rest.split_first_chunk()?;
        let (executable, data) = rest.split_first()?;
        Some(Account {
            lamports: u64::from_le_bytes(*lamports),
            rent_epoch: u64::from_le_bytes(*rent_epoch),
            owner: Pubkey::new_from_array(*owner),
            executable: *executable == 1,
            data: data.to_vec(),
        })
    };
    let account = parse().ok_or_else(|| StoreError::Damaged("an account is cut off".to_owned()))?;
    each(Pubkey::new_from_array(key), account.into());
    Ok(())
}

fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    postcard::to_stdvec(value).map_err(damaged)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    postcard::from_bytes(bytes).map_err(damaged)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn damaged(error: impl core::fmt::Display) -> StoreError {
    StoreError::Damaged(error.to_string())
}

fn failed(path: &str, error: impl core::fmt::Display) -> StoreError {
    StoreError::File(path.to_owned(), error.to_string())
}

fn database_error(path: &Path, error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(shown(path)),
        DatabaseError::Storage(StorageError::Io(error)) => failed(&shown(path), error),
        error => damaged(error),
    }
}

/// Calls `action` and turns a panic into an error: redb checks some things by assertions, which only
/// a damaged file can violate.
fn guarded<T>(action: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(action))
        .unwrap_or_else(|_| Err(StoreError::Damaged("its pages are inconsistent".to_owned())))
}
