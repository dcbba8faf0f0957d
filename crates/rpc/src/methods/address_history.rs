//! `getTransactionsForAddress`: an address's transactions, filtered, in either order, in pages (Helius's method, whose
//! documentation says what its parameters mean; surfpool 1.7 has it, too).

use std::sync::Arc;

use selkie_node::{AddressQuery, Landed, TokenBalance};
use serde::Deserialize;
use serde_json::json;
use solana_pubkey::Pubkey;

use crate::{
    budget::Text,
    config::{Commitment, TransactionEncoding},
    encode::transaction,
    error::RpcError,
    methods::{
        call::{Call, check_slot},
        history::show_signature,
    },
    params::{Params, parse_signature},
};

/// The most transactions of a page.
const LIMIT_MAX: usize = 1000;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    transaction_details: Details,
    sort_order: Order,
    limit: Option<usize>,
    pagination_token: Option<String>,
    filters: Filters,
    encoding: Option<TransactionEncoding>,
    commitment: Commitment,
    max_supported_transaction_version: Option<u8>,
    min_context_slot: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Details {
    #[default]
    Signatures,
    Full,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Order {
    Asc,
    #[default]
    Desc,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filters {
    slot: Bounds<i128>,
    block_time: Bounds<i128>,
    signature: Bounds<String>,
    status: Status,
    token_accounts: TokenAccounts,
}

/// Bounds, of which all that are there must hold.
#[derive(Deserialize)]
struct Bounds<T> {
    gt: Option<T>,
    gte: Option<T>,
    lt: Option<T>,
    lte: Option<T>,
    eq: Option<T>,
}

impl<T> Default for Bounds<T> {
    fn default() -> Self {
        Self { gt: None, gte: None, lt: None, lte: None, eq: None }
    }
}

impl<T> Bounds<T> {
    fn holds(&self, value: &T) -> bool
    where
        T: PartialOrd,
    {
        self.gt.as_ref().is_none_or(|it| value > it)
            && self.gte.as_ref().is_none_or(|it| value >= it)
            && self.lt.as_ref().is_none_or(|it| value < it)
            && self.lte.as_ref().is_none_or(|it| value <= it)
            && self.eq.as_ref().is_none_or(|it| value == it)
    }

    fn map<U>(self, map: impl Fn(T) -> Result<U, RpcError>) -> Result<Bounds<U>, RpcError> {
        let map = |bound: Option<T>| bound.map(&map).transpose();
        let Self { gt, gte, lt, lte, eq } = self;
        Ok(Bounds { gt: map(gt)?, gte: map(gte)?, lt: map(lt)?, lte: map(lte)?, eq: map(eq)? })
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Status {
    #[default]
    Any,
    Succeeded,
    Failed,
}

/// Whether transactions count that name a token account of the address, and not the address itself.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum TokenAccounts {
    #[default]
    None,
    /// If its balance has changed.
    BalanceChanged,
    All,
}

/// Where a transaction is in the history: its slot, and its index in the block.
type Position = (u64, u32);

fn position(landed: &Landed) -> Position {
    (landed.slot, landed.index)
}

pub(super) fn get_transactions_for_address(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let address = params.key(0)?;
    let config: Config = params.or_default(1)?;
    let max = config.max_supported_transaction_version;
    let encoding = TransactionEncoding::of_transactions(config.encoding, max)?;
    let limit = config.limit.unwrap_or(LIMIT_MAX);
    if limit == 0 || limit > LIMIT_MAX {
        return Err(RpcError::invalid_params(format!("Invalid limit; max {LIMIT_MAX}")));
    }
    let after = config.pagination_token.as_deref().map(read_token).transpose()?;
    let level = config.commitment.at_least_confirmed()?;
    check_slot(&call.node.view(level), config.min_context_slot)?;
    let query = AddressQuery { before: None, until: None, limit: usize::MAX, commitment: level };
    let mut found = match config.filters.token_accounts {
        TokenAccounts::None => call
            .node
            .signatures_for_address(&address, &query)
            .map_err(|unknown| RpcError::filter_transaction_not_found(&unknown.0.to_string()))?,
        wanted => with_tokens(call, &address, wanted, call.node.slot(level)),
    };
    let filters = Conditions::new(call, config.filters)?;
    found.retain(|landed| filters.hold(landed));
    if config.sort_order == Order::Asc {
        found.reverse();
    }
    let is_later = |landed: &Arc<Landed>| match (after, config.sort_order) {
        (None, _) => true,
        (Some(last), Order::Asc) => position(landed) > last,
        (Some(last), Order::Desc) => position(landed) < last,
    };
    found.retain(is_later);
    let has_more = found.len() > limit;
    found.truncate(limit);
    let token = found.last().filter(|_| has_more).map(|it| format!("{}:{}", it.slot, it.index));
    text.raw(r#"{"data":["#)?;
    for (index, landed) in found.iter().enumerate() {
        text.raw(if index == 0 { "" } else { "," })?;
        let mut shown = show_signature(call, landed);
        if config.transaction_details == Details::Full {
            shown = transaction::encode_landed(landed, encoding, max, true)?;
            shown["blockTime"] = json!(landed.block_time);
            shown["slot"] = json!(landed.slot);
            shown["transactionIndex"] = json!(landed.index);
        }
        text.json(&shown)?;
    }
    text.raw(&format!(r#"],"paginationToken":{}}}"#, json!(token)))
}

/// Reads the token of a page: the position of its last transaction.
fn read_token(text: &str) -> Result<Position, RpcError> {
    let read = || {
        let (slot, index) = text.split_once(':')?;
        Some((slot.parse().ok()?, index.parse().ok()?))
    };
    read().ok_or_else(|| RpcError::invalid_params("Invalid paginationToken; it is slot:index"))
}

/// Returns the transactions that name an address or a token account of it, newest first.
fn with_tokens(
    call: &Call<'_>,
    address: &Pubkey,
    wanted: TokenAccounts,
    slot_max: u64,
) -> Vec<Arc<Landed>> {
    let names = |landed: &Landed| {
        let loaded = &landed.meta.loaded_addresses;
        let own = landed.transaction.message.static_account_keys();
        own.iter().chain(&loaded.writable).chain(&loaded.readonly).any(|key| key == address)
    };
    let mut all = call.node.recent_transactions(usize::MAX);
    all.retain(|it| it.slot <= slot_max && (names(it) || has_tokens(it, address, wanted)));
    all
}

fn has_tokens(landed: &Landed, owner: &Pubkey, wanted: TokenAccounts) -> bool {
    let (before, after) = (&landed.meta.pre_token_balances, &landed.meta.post_token_balances);
    let amount = |balances: &[TokenBalance], account| {
        balances.iter().find(|it| it.account_index == account).map_or(0, |it| it.amount)
    };
    before.iter().chain(after).filter(|it| it.owner == *owner).any(|it| {
        let account = it.account_index;
        wanted == TokenAccounts::All || amount(before, account) != amount(after, account)
    })
}

/// Filters whose signatures are positions.
struct Conditions {
    filters: Filters,
    positions: Bounds<Position>,
}

impl Conditions {
    fn new(call: &Call<'_>, mut filters: Filters) -> Result<Self, RpcError> {
        let signature = core::mem::take(&mut filters.signature);
        let positions = signature.map(|text| {
            let landed = call.node.transaction(&parse_signature(&text)?);
            let landed = landed.ok_or_else(|| RpcError::filter_transaction_not_found(&text))?;
            Ok(position(&landed))
        })?;
        Ok(Self { filters, positions })
    }

    fn hold(&self, landed: &Landed) -> bool {
        let is_of_status = match self.filters.status {
            Status::Any => true,
            Status::Succeeded => landed.result.is_ok(),
            Status::Failed => landed.result.is_err(),
        };
        is_of_status
            && self.filters.slot.holds(&landed.slot.into())
            && self.filters.block_time.holds(&landed.block_time.into())
            && self.positions.holds(&position(landed))
    }
}
