//! Token accounts, mints and multisignature accounts of both token programs.

use selkie_layout::{
    token::{self, AccountState},
    wire::COption,
};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;

use crate::{
    parsed::{
        accounts::account::{Account, typed},
        extensions::Extensions,
    },
    token_amount::{Scale, token_amount},
};

/// A token account.
#[derive(Clone, Debug)]
pub(crate) struct TokenAccount<'a> {
    /// What all token accounts have.
    pub(crate) base: token::TokenAccount,
    extensions: Extensions<'a>,
}

impl<'a> TokenAccount<'a> {
    /// Reads an initialized token account.
    pub(crate) fn read(data: &'a [u8]) -> Option<Self> {
        let base = token::TokenAccount::of(data)?;
        Some(Self { base, extensions: Extensions::read(data) })
    }

    fn shown(&self, scale: &Scale) -> Value {
        let account = &self.base;
        let mut info = Map::new();
        let mut put = |name: &str, value: Value| drop(info.insert(name.to_owned(), value));
        put("mint", json!(account.mint.to_string()));
        put("owner", json!(account.owner.to_string()));
        put("tokenAmount", token_amount(account.amount, scale));
        let is_frozen = account.state == AccountState::Frozen;
        put("state", json!(if is_frozen { "frozen" } else { "initialized" }));
        put("isNative", json!(account.is_native.0.is_some()));
        if let Some(delegate) = account.delegate.0 {
            put("delegate", json!(delegate.to_string()));
            put("delegatedAmount", token_amount(account.delegated_amount, scale));
        }
        if let Some(reserve) = account.is_native.0 {
            put("rentExemptReserve", token_amount(reserve, scale));
        }
        if let Some(authority) = account.close_authority.0 {
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
    /// What all mints have.
    pub(crate) base: token::Mint,
    extensions: Extensions<'a>,
}

impl<'a> Mint<'a> {
    /// Reads an initialized mint.
    pub(crate) fn read(data: &'a [u8]) -> Option<Self> {
        Some(Self { base: token::Mint::of(data)?, extensions: Extensions::read(data) })
    }

    /// Returns how the mint's amounts are shown at a Unix time.
    pub(crate) fn scale(&self, now: i64) -> Scale {
        let scale = Scale::new(self.base.decimals);
        match (self.extensions.interest(), self.extensions.multiplier()) {
            (Some(state), _) => scale.with_interest(state, now),
            (None, Some(state)) => scale.with_multiplier(state, now),
            (None, None) => scale,
        }
    }

    fn shown(&self) -> Value {
        let mint = &self.base;
        let key = |key: COption<Pubkey>| key.0.map(|key| key.to_string());
        let mut info = json!({
            "decimals": mint.decimals,
            "freezeAuthority": key(mint.freeze_authority),
            "isInitialized": true,
            "mintAuthority": key(mint.mint_authority),
            "supply": mint.supply.to_string(),
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
        .then(|| TokenAccount::read(data).map(|it| it.base.mint))
        .flatten()
}

/// Shows an account of a token program. A token account without its mint is not shown.
pub(super) fn account(account: &Account<'_>) -> Option<Value> {
    if let Some(token_account) = TokenAccount::read(account.data) {
        return Some(typed("account", &token_account.shown(account.scale?)));
    }
    if let Some(mint) = Mint::read(account.data) {
        return Some(typed("mint", &mint.shown()));
    }
    multisig(account.data)
}

fn multisig(data: &[u8]) -> Option<Value> {
    let multisig = token::Multisig::of(data)?;
    let signers = multisig.signers.0.iter().filter(|key| **key != Pubkey::default());
    let signers: Vec<String> = signers.map(Pubkey::to_string).collect();
    let info = json!({
        "isInitialized": true,
        "numRequiredSigners": multisig.required,
        "numValidSigners": multisig.count,
        "signers": signers,
    });
    Some(typed("multisig", &info))
}
