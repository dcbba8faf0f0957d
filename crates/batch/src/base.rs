//! What items refer to by hash: account data, programs and environments.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use arrow_array::{Array, RecordBatch};
use selkie_builtins::native_accounts;
use selkie_case::{KeyedAccount, sorted, sysvar_accounts};
use selkie_svm::{BlockhashQueue, Environment, Pubkey, program_cache::ProgramCache};
use solana_account::AccountSharedData;

use crate::{
    Sha256,
    columns::{self, Columns},
    environment::{EnvironmentAccount, EnvironmentFile, content_hash, pubkey},
    error::{BatchError, Malformed},
    replacement::Replacement,
    schema::{self, column as c},
    sha256,
};

/// The bytes of a content, shared by all accounts that have them.
pub type Content = Arc<Vec<u8>>;

/// What items refer to by hash, and the programs that are ready to run. Threads share one, so that
/// each program is compiled once in a process.
#[derive(Default, Debug)]
pub struct Base {
    contents: HashMap<Sha256, Content>,
    environments: Mutex<HashMap<Sha256, Arc<OnceLock<Loaded>>>>,
    programs: ProgramCache,
    replacements: Vec<Replacement>,
}

/// An environment that was read, or what is wrong with it.
pub(crate) type Loaded = Result<Arc<LoadedEnvironment>, Malformed>;

/// An environment, ready for items.
#[derive(Debug)]
pub(crate) struct LoadedEnvironment {
    pub(crate) environment: Environment,
    /// The recent blockhashes, for items that check theirs.
    pub(crate) blockhashes: BlockhashQueue,
    /// The accounts that all items have, sorted by address: sysvars, builtin programs, those of the
    /// file.
    pub(crate) accounts: Vec<KeyedAccount>,
}

impl Base {
    /// Creates an empty base.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a content and returns its hash.
    pub fn add(&mut self, bytes: Vec<u8>) -> Sha256 {
        let hash = sha256(&bytes);
        if let Entry::Vacant(entry) = self.contents.entry(hash) {
            entry.insert(Arc::new(bytes));
            // What an environment lacked may be there now.
            let environments = self.environments.get_mut().unwrap_or_else(PoisonError::into_inner);
            environments.retain(|_, cell| !matches!(cell.get(), Some(Err(_))));
        }
        hash
    }

    /// Adds the contents of a table with the schema [`schema::contents`].
    ///
    /// # Errors
    /// If the table has other columns, or bytes do not have the hash that the row states.
    pub fn add_table(&mut self, table: &RecordBatch) -> Result<(), BatchError> {
        columns::check_columns(table, &schema::contents())?;
        let columns = Columns::Table(table);
        let (hashes, data) = (columns.binary(c::HASH), columns.binary(c::DATA));
        for row in 0..table.num_rows() {
            if hashes.is_null(row) || data.is_null(row) {
                return Err(BatchError::Content { row, why: "a column is null".to_owned() });
            }
            let (stated, bytes) = (hashes.value(row), data.value(row));
            let hash = self.add(bytes.to_vec());
            if stated != hash {
                let (stated, hash) = (hex::encode(stated), hex::encode(hash));
                let why = format!("the hash is stated as {stated}, but that of the data is {hash}");
                return Err(BatchError::Content { row, why });
            }
        }
        Ok(())
    }

    /// Runs items with another file in place of a program's own, wherever they have the program: in
    /// their accounts or in those of the environment. Ids of items stay as they are, so that
    /// results with both files can be compared item by item. An item that has something else at
    /// the address is malformed.
    pub fn replace_program(&mut self, program: Pubkey, elf: Vec<u8>) {
        self.replacements.retain(|it| it.program != program);
        self.replacements.push(Replacement::new(program, elf));
    }

    /// Returns what replaces programs of items.
    pub(crate) fn replacements(&self) -> &[Replacement] {
        &self.replacements
    }

    /// Returns a content.
    #[must_use]
    pub fn get(&self, hash: &Sha256) -> Option<&Content> {
        self.contents.get(hash)
    }

    /// Returns the program cache.
    #[must_use]
    pub fn programs(&self) -> &ProgramCache {
        &self.programs
    }

    /// Returns a content that has to exist.
    pub(crate) fn content(&self, hash: &Sha256) -> Result<&Content, Malformed> {
        let missing = || format!("there is no content with the hash {}", hex::encode(hash));
        Ok(self.get(hash).ok_or_else(missing)?)
    }

    /// Returns an environment, which is read once. Of those that are missing nothing is kept.
    pub(crate) fn environment(&self, hash: &Sha256) -> Loaded {
        let content = self.content(hash)?;
        let cell = {
            let mut all = self.environments.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(*hash).or_default())
        };
        cell.get_or_init(|| self.prepare(content)).clone()
    }

    fn prepare(&self, content: &Content) -> Loaded {
        let file = EnvironmentFile::parse(content)?;
        let environment = file.environment()?;
        let mut accounts: Vec<_> =
            native_accounts(&environment).chain(sysvar_accounts(&environment)).collect();
        // Of several accounts at an address the last one counts: those of the file.
        for account in &file.accounts {
            accounts.push(self.account(account)?);
        }
        let accounts = sorted(accounts);
        let blockhashes = file.blockhashes.iter().map(|it| crate::environment::blockhash(it));
        let blockhashes: Vec<_> = blockhashes.collect::<Result<_, _>>()?;
        let blockhashes = BlockhashQueue::new(blockhashes);
        Ok(Arc::new(LoadedEnvironment { environment, blockhashes, accounts }))
    }

    fn account(&self, file: &EnvironmentAccount) -> Result<KeyedAccount, Malformed> {
        let data = match &file.data {
            Some(hash) => Arc::clone(self.content(&content_hash(hash)?)?),
            None => Content::default(),
        };
        let owner = pubkey(&file.owner)?;
        let account =
            AccountSharedData::new_with_shared_data(file.lamports, data, &owner, file.executable);
        Ok((pubkey(&file.pubkey)?, account))
    }
}
