//! What happened, as notifications to those who subscribed to it.

use std::{collections::HashMap, sync::Arc};

use selkie_node::{Block, Event, Landed, View};
use serde::Serialize;
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    budget::{QUICK_BYTES_MAX, Text},
    config::BlockConfig,
    encode::{
        self,
        account::{Form, Keyed, Shown},
        block,
        transaction::UnknownVersion,
    },
    server::{
        hub::Subscription,
        payload::{Payload, Space},
        shared::Shared,
        topic::{Detail, Topic},
    },
};

/// Notifies all subscriptions that an event matches.
pub(super) fn event(shared: &Shared, event: &Event) {
    match event {
        Event::Received(signature) => {
            let slot = shared.node.slot(CommitmentLevel::Processed);
            let result = at(slot, "receivedSignature");
            send(shared, &shared.hub.of(&Topic::Received(*signature)), &result);
        }
        Event::Block { commitment, block } => on_block(shared, *commitment, block),
        Event::Slot { slot, parent, root, .. } => on_slot(shared, *slot, *parent, *root),
        Event::Root(slot) => {
            send(shared, &shared.hub.of(&Topic::Root), slot);
            updates(shared, &["root"], *slot, None);
        }
        _ => {}
    }
}

/// Returns where notifications are made.
fn space(shared: &Shared) -> Space {
    let bytes_max = shared.options.limits.answer_bytes_max;
    Space { budget: Arc::clone(&shared.notifications), bytes_max }
}

fn send(shared: &Shared, subscriptions: &[Arc<Subscription>], result: &impl Serialize) {
    if subscriptions.is_empty() {
        return;
    }
    let payload = Payload::new(&space(shared), result);
    for subscription in subscriptions {
        subscription.notify(payload.as_ref());
    }
}

/// A result with the slot that it is of.
#[derive(Serialize)]
struct WithSlot<T> {
    context: Context,
    value: T,
}

#[derive(Serialize)]
struct Context {
    slot: u64,
}

/// Returns a result with the slot that it is of.
const fn at<T>(slot: u64, value: T) -> WithSlot<T> {
    WithSlot { context: Context { slot }, value }
}

fn on_slot(shared: &Shared, slot: u64, parent: u64, root: u64) {
    let result = json!({ "parent": parent, "root": root, "slot": slot });
    send(shared, &shared.hub.of(&Topic::Slot), &result);
    updates(
        shared,
        &["firstShredReceived", "createdBank", "completed", "frozen"],
        slot,
        Some(parent),
    );
}

/// Returns how many transactions a slot has, all of which count as one entry.
fn stats(shared: &Shared, slot: u64) -> Value {
    let block = shared.node.block(slot).ok();
    let transactions = block.as_ref().map_or(&[][..], |block| &block.transactions);
    let succeeded = transactions.iter().filter(|it| it.result.is_ok()).count();
    json!({
        "maxTransactionsPerEntry": transactions.len(),
        "numFailedTransactions": transactions.len().saturating_sub(succeeded),
        "numSuccessfulTransactions": succeeded,
        "numTransactionEntries": u8::from(!transactions.is_empty()),
    })
}

/// Notifies of the stages of a slot.
fn updates(shared: &Shared, stages: &[&str], slot: u64, parent: Option<u64>) {
    let subscriptions = shared.hub.of(&Topic::SlotsUpdates);
    if subscriptions.is_empty() {
        return;
    }
    let seconds = shared.node.view(CommitmentLevel::Processed).clock().unix_timestamp;
    let timestamp = seconds.saturating_mul(1000);
    for stage in stages {
        let mut update = json!({ "slot": slot, "timestamp": timestamp, "type": stage });
        if *stage == "createdBank" {
            update["parent"] = json!(parent);
        }
        if *stage == "frozen" {
            update["stats"] = stats(shared, slot);
        }
        send(shared, &subscriptions, &update);
    }
}

fn on_block(shared: &Shared, level: CommitmentLevel, block: &Arc<Block>) {
    for landed in &block.transactions {
        let topic = Topic::Signature(landed.signature, level);
        let subscriptions = shared.hub.take(&topic);
        if !subscriptions.is_empty() {
            let payload = signature_result(shared, landed.slot, &landed.result);
            subscriptions.iter().for_each(|it| it.notify(payload.as_ref()));
        }
        on_logs(shared, level, landed);
    }
    for (key, account) in &block.accounts {
        on_account(shared, level, block.slot, key, account);
    }
    on_blocks(shared, level, block);
    if level == CommitmentLevel::Confirmed {
        updates(shared, &["optimisticConfirmation"], block.slot, None);
    }
}

/// Returns what subscribers of a signature get.
pub(super) fn signature_result(
    shared: &Shared,
    slot: u64,
    result: &Result<(), TransactionError>,
) -> Option<Arc<Payload>> {
    Payload::new(&space(shared), &at(slot, json!({ "err": encode::error(result) })))
}

fn on_logs(shared: &Shared, level: CommitmentLevel, landed: &Landed) {
    let mut subscriptions = shared.hub.of(&Topic::Logs(level));
    for key in landed.account_keys() {
        subscriptions.extend(shared.hub.of(&Topic::LogsOf(key, level)));
    }
    if subscriptions.is_empty() {
        return;
    }
    let value = json!({
        "err": encode::error(&landed.result),
        "logs": landed.meta.logs,
        "signature": landed.signature.to_string(),
    });
    send(shared, &subscriptions, &at(landed.slot, value));
}

/// An account that has changed, as its subscribers get it: each form is made once.
struct Changed<'a> {
    space: Space,
    view: View,
    slot: u64,
    key: &'a Pubkey,
    account: &'a AccountSharedData,
    of_account: HashMap<Form, Option<Arc<Payload>>>,
    of_program: HashMap<Form, Option<Arc<Payload>>>,
}

impl Changed<'_> {
    /// Returns what subscribers of the account, or of its program, get in a form.
    fn payload(&mut self, form: Form, is_of_program: bool) -> Option<&Arc<Payload>> {
        let made = if is_of_program { &self.of_program } else { &self.of_account };
        if !made.contains_key(&form) {
            let payload = self.make(form, is_of_program);
            let made = if is_of_program { &mut self.of_program } else { &mut self.of_account };
            made.insert(form, payload);
        }
        let made = if is_of_program { &self.of_program } else { &self.of_account };
        made.get(&form).and_then(Option::as_ref)
    }

    fn make(&self, form: Form, is_of_program: bool) -> Option<Arc<Payload>> {
        let (slot, key, view) = (self.slot, *self.key, self.view.clone());
        let account = self.account.clone();
        let shown = form.slice.map_or(account.data(), |slice| slice.of(account.data())).len();
        let write = move |text: &mut Text| {
            let shown = Shown::for_notification(&key, &account, form, &view);
            match is_of_program {
                true => text.json(&at(slot, Keyed::new(&key, shown))),
                false => text.json(&at(slot, shown)),
            }
        };
        let (len, data) = (encoded_len(shown), self.account.data().len());
        if len <= QUICK_BYTES_MAX && data <= QUICK_BYTES_MAX {
            return Payload::write(&self.space, write);
        }
        Payload::later(&self.space, len, data, write)
    }
}

/// Returns the length of an account with so many bytes of data, in base64.
const fn encoded_len(bytes: usize) -> usize {
    const FIELDS_BYTES: usize = 300;
    bytes.div_ceil(3).saturating_mul(4).saturating_add(FIELDS_BYTES)
}

fn on_account(
    shared: &Shared,
    level: CommitmentLevel,
    slot: u64,
    key: &Pubkey,
    account: &AccountSharedData,
) {
    let of_account = shared.hub.of(&Topic::Account(*key, level));
    let of_program = shared.hub.of(&Topic::Program(*account.owner(), level));
    if of_account.is_empty() && of_program.is_empty() {
        return;
    }
    let (space, view) = (space(shared), shared.node.view(level));
    let (for_accounts, for_programs) = (HashMap::new(), HashMap::new());
    let mut changed = Changed {
        space,
        view,
        slot,
        key,
        account,
        of_account: for_accounts,
        of_program: for_programs,
    };
    // Nothing is made for a connection that gets no more.
    for subscription in of_account.iter().filter(|it| it.is_read()) {
        if let Detail::Account(form) = subscription.detail {
            subscription.notify(changed.payload(form, false));
        }
    }
    for subscription in of_program.iter().filter(|it| it.is_read()) {
        let Detail::Program(form, conditions) = &subscription.detail else { continue };
        if conditions.iter().all(|condition| condition.holds(account.data())) {
            subscription.notify(changed.payload(*form, true));
        }
    }
}

fn on_blocks(shared: &Shared, level: CommitmentLevel, block: &Arc<Block>) {
    let mut made: Vec<(Wanted<'_>, Option<Arc<Payload>>)> = Vec::new();
    let subscriptions = shared.hub.of(&Topic::Block(level));
    for subscription in subscriptions.iter().filter(|it| it.is_read()) {
        let Detail::Block(mentioned, config) = &subscription.detail else { continue };
        let mentions = |key: &Pubkey| {
            block.transactions.iter().any(|landed| landed.account_keys().contains(key))
        };
        let wanted = (mentioned.as_ref(), config);
        if let Some((_, payload)) = made.iter().find(|(other, _)| *other == wanted) {
            subscription.notify(payload.as_ref());
        } else if mentioned.as_ref().is_none_or(mentions) {
            let payload = block_payload(shared, block, *mentioned, *config);
            subscription.notify(payload.as_ref());
            made.push((wanted, payload));
        }
    }
}

/// What a subscriber to blocks wants of them: transactions that mention an address, and how it is shown.
type Wanted<'a> = (Option<&'a Pubkey>, &'a BlockConfig);

/// Returns a block, or those of its transactions that mention an address, as subscribers get it.
fn block_payload(
    shared: &Shared,
    block: &Arc<Block>,
    mentioned: Option<Pubkey>,
    config: BlockConfig,
) -> Option<Arc<Payload>> {
    let slot = block.slot;
    let kept =
        block.transactions.iter().map(|landed| landed_len(landed)).fold(0, usize::saturating_add);
    let block = Arc::clone(block);
    let write = move |text: &mut Text| match block::Shown::new(&block, &config, mentioned.as_ref())
    {
        Ok(shown) => text.json(&at(slot, BlockUpdate { block: Some(shown), err: None, slot })),
        Err(UnknownVersion(version)) => {
            let err = Some(BlockError::UnsupportedTransactionVersion(version));
            text.json(&at(slot, BlockUpdate { block: None, err, slot }))
        }
    };
    Payload::later(&space(shared), kept, kept, write)
}

/// A block, or why it cannot be shown.
#[derive(Serialize)]
struct BlockUpdate<'a> {
    block: Option<block::Shown<'a>>,
    err: Option<BlockError>,
    slot: u64,
}

/// Why a block cannot be shown (agave: `RpcBlockUpdateError`).
#[derive(Serialize)]
enum BlockError {
    UnsupportedTransactionVersion(u8),
}

/// Returns about how many bytes a transaction in a block takes.
fn landed_len(landed: &Landed) -> usize {
    const FIELDS_BYTES: usize = 2048;
    let logs = landed.meta.logs.iter().map(String::len).fold(0, usize::saturating_add);
    logs.saturating_add(FIELDS_BYTES)
}
