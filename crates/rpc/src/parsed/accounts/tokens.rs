//! Token accounts, mints and multisignature accounts of both token programs.

use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;

use crate::{
    parsed::{
        accounts::account::{Account, typed},
        extensions::Extensions,
    },
    reader::Reader,
    token_amount::{Scale, token_amount},
};

const ACCOUNT_BYTES: usize = 165;
const MINT_BYTES: usize = 82;
const MULTISIG_BYTES: usize = 355;
/// The byte behind an account's base that tells accounts with extensions apart.
const TYPE_OFFSET: usize = ACCOUNT_BYTES;
const MINT_TYPE: u8 = 1;
const ACCOUNT_TYPE: u8 = 2;

/// A token account.
#[derive(Clone, Debug)]
pub(crate) struct TokenAccount<'a> {
    /// The mint of its tokens.
    pub(crate) mint: Pubkey,
    /// Its owner.
    pub(crate) owner: Pubkey,
    /// Its balance.
    pub(crate) amount: u64,
    delegate: Option<Pubkey>,
    state: u8,
    native: Option<u64>,
    delegated_amount: u64,
    close_authority: Option<Pubkey>,
    extensions: Extensions<'a>,
}

impl<'a> TokenAccount<'a> {
    /// Reads an initialized token account.
    pub(crate) fn read(data: &'a [u8]) -> Option<Self> {
        let extensions = extensions(data, ACCOUNT_BYTES, ACCOUNT_TYPE)?;
        let mut reader = Reader::new(data);
        let account = Self {
            mint: reader.key()?,
            owner: reader.key()?,
            amount: reader.u64()?,
            delegate: option(&mut reader, Reader::key)?,
            state: reader.u8()?,
            native: option(&mut reader, Reader::u64)?,
            delegated_amount: reader.u64()?,
            close_authority: option(&mut reader, Reader::key)?,
            extensions,
        };
        matches!(account.state, 1 | 2).then_some(account)
    }

    fn shown(&self, scale: &Scale) -> Value {
        let mut info = Map::new();
        let mut put = |name: &str, value: Value| drop(info.insert(name.to_owned(), value));
        put("mint", json!(self.mint.to_string()));
        put("owner", json!(self.owner.to_string()));
        put("tokenAmount", token_amount(self.amount, scale));
        put("state", json!(if self.state == 1 { "initialized" } else { "frozen" }));
        put("isNative", json!(self.native.is_some()));
        if let Some(delegate) = self.delegate {
            put("delegate", json!(delegate.to_string()));
            put("delegatedAmount", token_amount(self.delegated_amount, scale));
        }
        if let Some(reserve) = self.native {
            put("rentExemptReserve", token_amount(reserve, scale));
        }
        if let Some(authority) = self.close_authority {
            put("closeAuthority", json!(authority.to_string()));
        }
        if !self.extensions.is_empty() {
            put("extensions", self.extensions.shown());
        }
        Value::Object(info)
    }
}

/// A mint.
#[derive(Clone, Debug)]
pub(crate) struct Mint<'a> {
    authority: Option<Pubkey>,
    /// How many tokens there are.
    pub(crate) supply: u64,
    decimals: u8,
    freeze_authority: Option<Pubkey>,
    extensions: Extensions<'a>,
}

impl<'a> Mint<'a> {
    /// Reads an initialized mint.
    pub(crate) fn read(data: &'a [u8]) -> Option<Self> {
        let extensions = extensions(data, MINT_BYTES, MINT_TYPE)?;
        let mut reader = Reader::new(data);
        let authority = option(&mut reader, Reader::key)?;
        let (supply, decimals) = (reader.u64()?, reader.u8()?);
        let is_initialized = reader.bool()?;
        let freeze_authority = option(&mut reader, Reader::key)?;
        is_initialized.then_some(Self { authority, supply, decimals, freeze_authority, extensions })
    }

    /// Returns how the mint's amounts are shown at a Unix time.
    pub(crate) fn scale(&self, now: i64) -> Scale {
        let scale = Scale::new(self.decimals);
        match (self.extensions.interest(), self.extensions.multiplier()) {
            (Some(state), _) => scale.with_interest(state, now),
            (None, Some(state)) => scale.with_multiplier(state, now),
            (None, None) => scale,
        }
    }

    fn shown(&self) -> Value {
        let key = |key: Option<Pubkey>| key.map(|key| key.to_string());
        let mut info = json!({
            "decimals": self.decimals,
            "freezeAuthority": key(self.freeze_authority),
            "isInitialized": true,
            "mintAuthority": key(self.authority),
            "supply": self.supply.to_string(),
        });
        if let Some(info) = info.as_object_mut().filter(|_| !self.extensions.is_empty()) {
            info.insert("extensions".to_owned(), self.extensions.shown());
        }
        info
    }
}

/// Returns the mint of a token account of `owner`'s, by its data.
pub(crate) fn mint_of(owner: &Pubkey, data: &[u8]) -> Option<Pubkey> {
    selkie_programs::is_token_program(owner)
        .then(|| TokenAccount::read(data).map(|it| it.mint))
        .flatten()
}

/// Shows an account of a token program. A token account without its mint is not shown.
pub(super) fn token(account: &Account<'_>) -> Option<Value> {
    if let Some(token_account) = TokenAccount::read(account.data) {
        return Some(typed("account", &token_account.shown(account.scale?)));
    }
    if let Some(mint) = Mint::read(account.data) {
        return Some(typed("mint", &mint.shown()));
    }
    multisig(account.data)
}

fn multisig(data: &[u8]) -> Option<Value> {
    let mut reader = Reader::new(data);
    let (required, count) = (reader.u8()?, reader.u8()?);
    if data.len() != MULTISIG_BYTES || !reader.bool()? {
        return None;
    }
    let mut signers = Vec::new();
    while let Some(key) = reader.key() {
        signers.extend((key != Pubkey::default()).then(|| key.to_string()));
    }
    let info = json!({
        "isInitialized": true,
        "numRequiredSigners": required,
        "numValidSigners": count,
        "signers": signers,
    });
    Some(typed("multisig", &info))
}

/// Reads the extensions behind a base of `base` bytes. `None` if the data's length or type is that
/// of another kind of account.
fn extensions(data: &[u8], base: usize, kind: u8) -> Option<Extensions<'_>> {
    if data.len() == base {
        return Some(Extensions::default());
    }
    let is_kind = data.get(TYPE_OFFSET) == Some(&kind) && data.len() != MULTISIG_BYTES;
    let rest = data.get(TYPE_OFFSET.checked_add(1)?..)?;
    is_kind.then(|| Extensions::read(rest))
}

/// Reads an option with a tag of four bytes, whose value is there in either case.
fn option<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Option<T>,
) -> Option<Option<T>> {
    let tag = reader.u32()?;
    let value = read(reader)?;
    match tag {
        0 => Some(None),
        1 => Some(Some(value)),
        _ => None,
    }
}
