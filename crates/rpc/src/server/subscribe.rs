//! Requests that begin and end subscriptions.

use core::{str::FromStr, time::Duration};
use std::{cell::RefCell, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentLevel::{Confirmed, Finalized, Processed};
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::{
    config::{
        AccountConfig, AccountEncoding, BlockConfig, Commitment, Condition, ProgramAccountsConfig,
        TransactionEncoding,
    },
    error::RpcError,
    methods::{SUBSCRIPTIONS, Subscribers, SubscriptionRow, rank},
    params::Params,
    server::{
        hub::{Connection, TooMany},
        notify,
        shared::Shared,
        topic::{Detail, Topic},
    },
};

/// What a request asks for.
#[derive(Debug)]
enum Wish {
    Begin(&'static SubscriptionRow),
    End,
}

/// Returns the result of a request that begins or ends a subscription; `None` if the method is
/// another.
pub(super) fn handle(
    shared: &Shared,
    connection: &Connection,
    method: &str,
    params: Option<&Value>,
) -> Option<Result<Value, RpcError>> {
    let wish = SUBSCRIPTIONS.iter().find_map(|row| match method.strip_prefix(row.name)? {
        "Subscribe" => Some(Wish::Begin(row)),
        "Unsubscribe" => Some(Wish::End),
        _ => None,
    })?;
    Some(match wish {
        Wish::Begin(row) => begin(shared, connection, row, params.cloned()),
        Wish::End => end(shared, connection, params.cloned()),
    })
}

fn end(shared: &Shared, connection: &Connection, params: Option<Value>) -> Result<Value, RpcError> {
    let id: u64 = Params::new(params, 1, 1)?.required(0)?;
    match shared.hub.remove(connection.id, id) {
        Some(_) => Ok(json!(true)),
        None => Err(RpcError::invalid_params("Invalid subscription id.")),
    }
}

fn begin(
    shared: &Shared,
    connection: &Connection,
    row: &SubscriptionRow,
    params: Option<Value>,
) -> Result<Value, RpcError> {
    let items = || row.params.split(", ").filter(|item| !item.is_empty());
    let least = items().filter(|item| !item.starts_with('[')).count();
    let mut params = Params::new(params, least, items().count())?;
    let (topic, detail) = match row.name {
        "account" => account(&mut params)?,
        "program" => program(&mut params)?,
        "logs" => logs(&mut params)?,
        "signature" => signature(&mut params)?,
        "block" => block(&mut params)?,
        "slot" => (Topic::Slot, Detail::None),
        "root" => (Topic::Root, Detail::None),
        _ => (Topic::SlotsUpdates, Detail::None),
    };
    let id =
        shared.hub.add(connection.clone(), topic, detail).map_err(|too_many| match too_many {
            TooMany::OfConnection(max) => RpcError::refused(format!(
                "too many subscriptions: the limit of a connection is {max}"
            )),
            TooMany::OfAll => RpcError::too_many_subscriptions(),
        })?;
    Ok(json!(id))
}

/// How long after a client has read the answer it is told what its subscription has missed.
/// `@solana/kit` drops notifications that arrive before the program asks for the first one: at once it
/// was told in none of ten cases, after 5 ms in all.
const CATCH_UP_DELAY: Duration = Duration::from_millis(10);

/// How long a client may take to say that it has read the answer. RFC 6455 (5.5.2) has it answer each
/// ping, but one that does not is told as well.
const READ_DELAY_MAX: Duration = Duration::from_secs(1);

/// Notifies of a transaction that has landed before the subscription began: soon after `read` ends, which
/// is when the client has read the subscription's id, or as soon as a request asks for its status.
pub(super) fn catch_up_soon(
    shared: &Arc<Shared>,
    id: u64,
    read: impl Future<Output = ()> + Send + 'static,
) {
    let Some(Topic::Signature(signature, _)) = shared.hub.topic(id) else { return };
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        // Without an answer to the ping the client is told all the same.
        let _ = tokio::time::timeout(READ_DELAY_MAX, read).await;
        tokio::time::sleep(CATCH_UP_DELAY).await;
        catch_up(&shared, &signature);
    });
}

/// Notifies those who wait for a transaction if it has landed. Returns their connections.
fn catch_up(shared: &Shared, signature: &Signature) -> Vec<Connection> {
    let mut notified = Vec::new();
    for level in [Processed, Confirmed, Finalized] {
        let topic = Topic::Signature(*signature, level);
        if shared.hub.of(&topic).is_empty() {
            continue;
        }
        let Some(status) = shared.node.statuses(&[*signature]).pop().flatten() else { break };
        if rank(status.commitment) < rank(level) {
            break;
        }
        let payload = notify::signature_result(shared, status.slot, &status.result);
        for subscription in shared.hub.take(&topic) {
            subscription.notify(payload.as_ref());
            notified.push(subscription.connection.clone());
        }
    }
    notified
}

/// Notifies those who wait for what a request asks for, and lets its answer wait for that.
#[derive(Debug)]
pub(super) struct CatchUp<'a> {
    shared: &'a Shared,
    notified: RefCell<Vec<Connection>>,
}

impl<'a> CatchUp<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, notified: RefCell::default() }
    }

    /// Returns the connections that have been sent a notification.
    pub(super) fn notified(self) -> Vec<Connection> {
        self.notified.into_inner()
    }
}

impl Subscribers for CatchUp<'_> {
    fn catch_up(&self, signature: &Signature) {
        self.notified.borrow_mut().extend(catch_up(self.shared, signature));
    }
}

/// Parses an address or a signature; `what` is the word for it in the error.
fn parse<T: FromStr>(text: &str, what: &str) -> Result<T, RpcError> {
    text.parse()
        .map_err(|_| RpcError::invalid_params(format!("Invalid Request: Invalid {what} provided")))
}

fn account(params: &mut Params) -> Result<(Topic, Detail), RpcError> {
    let key = parse(&params.required::<String>(0)?, "pubkey")?;
    let config: AccountConfig = params.or_default(1)?;
    let form = config.form(AccountEncoding::Binary);
    Ok((Topic::Account(key, config.commitment.level()), Detail::Account(form)))
}

fn program(params: &mut Params) -> Result<(Topic, Detail), RpcError> {
    let text: String = params.required(0)?;
    let config: ProgramAccountsConfig = params.or_default(1)?;
    let form = config.account.form(AccountEncoding::Binary);
    // Agave looks at the filters first, and shows their error as one within another.
    let conditions = Condition::all(config.filters)
        .map_err(|error| RpcError::invalid_params(format!("Invalid params: {}", error.message)))?;
    let key = parse(&text, "pubkey")?;
    let level = config.account.commitment.level();
    Ok((Topic::Program(key, level), Detail::Program(form, conditions)))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CommitmentConfig {
    commitment: Commitment,
    enable_received_notification: Option<bool>,
}

fn signature(params: &mut Params) -> Result<(Topic, Detail), RpcError> {
    let signature: Signature = parse(&params.required::<String>(0)?, "signature")?;
    let config: CommitmentConfig = params.or_default(1)?;
    let detail = match config.enable_received_notification {
        Some(true) => Detail::Received(signature),
        _ => Detail::None,
    };
    Ok((Topic::Signature(signature, config.commitment.level()), detail))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum LogsFilter {
    All,
    AllWithVotes,
    Mentions(Vec<String>),
}

fn logs(params: &mut Params) -> Result<(Topic, Detail), RpcError> {
    let filter: LogsFilter = params.required(0)?;
    let config: CommitmentConfig = params.or_default(1)?;
    let level = config.commitment.level();
    let topic = match filter {
        LogsFilter::All | LogsFilter::AllWithVotes => Topic::Logs(level),
        LogsFilter::Mentions(keys) => match keys.as_slice() {
            [key] => Topic::LogsOf(parse(key, "mentions")?, level),
            _ => {
                let text = "Invalid Request: Only 1 address supported";
                return Err(RpcError::invalid_params(text));
            }
        },
    };
    Ok((topic, Detail::None))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum BlockFilter {
    All,
    MentionsAccountOrProgram(String),
}

fn block(params: &mut Params) -> Result<(Topic, Detail), RpcError> {
    let filter: BlockFilter = params.required(0)?;
    let mut config: BlockConfig = params.or_default(1)?;
    // Unlike in `getBlock`, the defaults are compact.
    config.encoding = config.encoding.or(Some(TransactionEncoding::Base64));
    config.rewards = config.rewards.or(Some(false));
    let mentioned: Option<Pubkey> = match filter {
        BlockFilter::All => None,
        BlockFilter::MentionsAccountOrProgram(key) => {
            Some(parse(&key, "mentions_account_or_program")?)
        }
    };
    let level = config.commitment.at_least_confirmed()?;
    Ok((Topic::Block(level), Detail::Block(mentioned, config)))
}
