//! A row of the item table.

use sha2::{Digest as _, Sha256 as Hasher};
use solana_pubkey::Pubkey;

use crate::Sha256;

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// One transaction.
    #[default]
    Transaction,
    /// A search for inputs that make programs fail, for each seed of a range:
    /// [`FuzzFile`](crate::FuzzFile).
    Fuzz,
    /// Blocks that follow each other: [`SegmentFile`](crate::SegmentFile).
    Segment,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Transaction, Self::Fuzz, Self::Segment];

    /// Returns the name in the column `kind`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Fuzz => "fuzz",
            Self::Segment => "segment",
        }
    }

    /// Returns how many accounts an item may have: several times what its transactions can name.
    pub(crate) const fn accounts_max(self) -> usize {
        match self {
            Self::Transaction | Self::Fuzz => 1024,
            Self::Segment => 1 << 16,
        }
    }

    /// Returns the kind with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Work with the state that it needs: a row of the item table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Item<'a> {
    /// What the item is.
    pub kind: Kind,
    /// The slot; `None` for the one of the environment's clock.
    pub slot: Option<u64>,
    /// The epoch; `None` for the one of the environment's clock.
    pub epoch: Option<u64>,
    /// The time of the clock sysvar in seconds; `None` for the environment's.
    pub unix_timestamp: Option<i64>,
    /// The hash of the environment's file.
    pub env_ref: Sha256,
    /// The last blockhash of the bank, from which durable nonces follow; `None` for the environment's.
    pub blockhash: Option<Sha256>,
    /// What to run: of a transaction, the signed one as it is sent; of a search or of blocks, their file.
    pub message: &'a [u8],
    /// The accounts before the transaction, besides those of the environment.
    pub accounts: Vec<ItemAccount<'a>>,
    /// Changes of accounts, in this order.
    pub overrides: Vec<Override<'a>>,
    /// Whether signatures are verified.
    pub verify_signatures: bool,
    /// Whether the blockhash has to be among the environment's, or a durable nonce. Otherwise every
    /// blockhash is recent.
    pub check_blockhash: bool,
    /// The recorded result. It is not part of the item's id.
    pub expect: Option<Expectation<'a>>,
}

/// An account before a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemAccount<'a> {
    /// Its address.
    pub pubkey: Pubkey,
    /// Its balance.
    pub lamports: u64,
    /// The program that owns it.
    pub owner: Pubkey,
    /// Whether it is marked as a program.
    pub executable: bool,
    /// Its data.
    pub data: ItemData<'a>,
}

/// Account data: in the item, or by their hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemData<'a> {
    /// The data themselves.
    Inline(&'a [u8]),
    /// The hash of the data, which are among the contents.
    Ref(Sha256),
}

/// A change of an account before the transaction. An account that does not exist is created empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override<'a> {
    /// The account's address.
    pub pubkey: Pubkey,
    /// The new balance.
    pub lamports: Option<u64>,
    /// The new owner.
    pub owner: Option<Pubkey>,
    /// Bytes that replace others, and where they start. Data grow if they are shorter. Without an
    /// offset, the bytes are all of the new data.
    pub bytes: Option<(Option<u64>, &'a [u8])>,
}

/// A recorded result. What is `None` is not compared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expectation<'a> {
    /// The status. With it, the error is compared, too.
    pub status: Option<&'a str>,
    /// The error, as in the result table.
    pub error: Option<&'a str>,
    /// Compute units consumed.
    pub compute_units: Option<u64>,
    /// The hash of everything that consensus sees.
    pub effects_hash: Option<Sha256>,
}

impl Item<'_> {
    /// Returns the item's id: a hash of everything that says what to run. Two rows that
    /// describe the same work have the same id.
    #[must_use]
    pub fn id(&self) -> Sha256 {
        let mut hasher = Canonical(Hasher::new_with_prefix(b"selkie item 1"));
        hasher.bytes(self.kind.name().as_bytes());
        hasher.number(self.slot);
        hasher.number(self.epoch);
        hasher.number(self.unix_timestamp.map(i64::cast_unsigned));
        hasher.bytes(&self.env_ref);
        hasher.optional(self.blockhash.as_ref().map(<[u8; 32]>::as_slice));
        hasher.bytes(self.message);
        hasher.number(Some(self.accounts.len() as u64));
        for account in &self.accounts {
            hasher.account(account);
        }
        hasher.number(Some(self.overrides.len() as u64));
        for change in &self.overrides {
            hasher.change(change);
        }
        hasher.0.update([self.verify_signatures.into(), self.check_blockhash.into()]);
        hasher.0.finalize().into()
    }

    /// Returns the item's size: the message, and what is in the row of accounts and overrides.
    pub(crate) fn bytes(&self) -> u64 {
        let accounts = self.accounts.iter().map(|it| match it.data {
            ItemData::Inline(data) => data.len(),
            ItemData::Ref(hash) => hash.len(),
        });
        let changes = self.overrides.iter().filter_map(|it| Some(it.bytes?.1.len()));
        accounts
            .chain(changes)
            .fold(self.message.len() as u64, |sum, it| sum.saturating_add(it as u64))
    }
}

/// The canonical encoding of an item, hashed: lengths before bytes, a byte before what is optional.
struct Canonical(Hasher);

impl Canonical {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn optional(&mut self, bytes: Option<&[u8]>) {
        self.0.update([bytes.is_some().into()]);
        bytes.into_iter().for_each(|it| self.bytes(it));
    }

    fn number(&mut self, number: Option<u64>) {
        self.0.update([number.is_some().into()]);
        number.into_iter().for_each(|it| self.0.update(it.to_le_bytes()));
    }

    /// Data in the row and data by hash are the same work: both are hashed by their hash.
    fn account(&mut self, account: &ItemAccount<'_>) {
        self.0.update(account.pubkey);
        self.number(Some(account.lamports));
        self.0.update(account.owner);
        self.0.update([account.executable.into()]);
        match account.data {
            ItemData::Inline(data) => self.0.update(crate::sha256(data)),
            ItemData::Ref(hash) => self.0.update(hash),
        }
    }

    fn change(&mut self, change: &Override<'_>) {
        self.0.update(change.pubkey);
        self.number(change.lamports);
        self.optional(change.owner.as_ref().map(AsRef::as_ref));
        self.number(change.bytes.and_then(|it| it.0));
        self.optional(change.bytes.map(|it| it.1));
    }
}
