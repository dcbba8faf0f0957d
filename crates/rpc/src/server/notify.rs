//! What happened, as notifications to those who subscribed to it.

use std::{collections::HashMap, sync::Arc};

use selkie_node::{Block, Event, Landed};
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    config::BlockConfig,
    encode::{
        self,
        account::{self, Form},
    },
    methods::block_value,
    server::{
        hub::Subscription,
        shared::Shared,
        topic::{Detail, Topic},
    },
};

/// Notifies all subscriptions that an event matches.
pub(super) fn event(shared: &Shared, event: &Event) {
    match event {
        Event::Received(signature) => {
            let result = with_slot(shared, &json!("receivedSignature"));
            send(&shared.hub.of(&Topic::Received(*signature)), &result);
        }
        Event::Block { commitment, block } => on_block(shared, *commitment, block),
        Event::Slot { slot, parent, root, .. } => on_slot(shared, *slot, *parent, *root),
        Event::Root(slot) => {
            send(&shared.hub.of(&Topic::Root), &slot.to_string());
            updates(shared, &["root"], *slot, None);
        }
        _ => {}
    }
}

fn send(subscriptions: &[Arc<Subscription>], result: &str) {
    for subscription in subscriptions {
        subscription.notify(result);
    }
}

/// Returns a result with the slot that it is of.
pub(super) fn context(slot: u64, value: &Value) -> String {
    json!({ "context": { "slot": slot }, "value": value }).to_string()
}

fn with_slot(shared: &Shared, value: &Value) -> String {
    context(shared.node.slot(CommitmentLevel::Processed), value)
}

fn on_slot(shared: &Shared, slot: u64, parent: u64, root: u64) {
    let result = json!({ "parent": parent, "root": root, "slot": slot }).to_string();
    send(&shared.hub.of(&Topic::Slot), &result);
    updates(
        shared,
        &["firstShredReceived", "createdBank", "completed", "frozen"],
        slot,
        Some(parent),
    );
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
            update["stats"] = json!({
                "maxTransactionsPerEntry": 0, "numFailedTransactions": 0,
                "numSuccessfulTransactions": 0, "numTransactionEntries": 0,
            });
        }
        send(&subscriptions, &update.to_string());
    }
}

fn on_block(shared: &Shared, level: CommitmentLevel, block: &Block) {
    for landed in &block.transactions {
        let topic = Topic::Signature(landed.signature, level);
        let subscriptions = shared.hub.take(&topic);
        if !subscriptions.is_empty() {
            send(&subscriptions, &signature_result(landed));
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
pub(super) fn signature_result(landed: &Landed) -> String {
    context(landed.slot, &json!({ "err": encode::error(&landed.result) }))
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
    send(&subscriptions, &context(landed.slot, &value));
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
    let view = shared.node.view(level);
    let mut shown: HashMap<Form, Value> = HashMap::new();
    let mut show = |form: Form| {
        let encode = || account::encode_for_notification(key, account, form, &view);
        shown.entry(form).or_insert_with(encode).clone()
    };
    for subscription in of_account {
        if let Detail::Account(form) = subscription.detail {
            subscription.notify(&context(slot, &show(form)));
        }
    }
    for subscription in of_program {
        let Detail::Program(form, conditions) = &subscription.detail else { continue };
        if conditions.iter().all(|condition| condition.holds(account.data())) {
            let value = json!({ "account": show(*form), "pubkey": key.to_string() });
            subscription.notify(&context(slot, &value));
        }
    }
}

fn on_blocks(shared: &Shared, level: CommitmentLevel, block: &Block) {
    for subscription in shared.hub.of(&Topic::Block(level)) {
        let Detail::Block(mentioned, config) = &subscription.detail else { continue };
        if let Some(value) = block_update(shared, block, mentioned.as_ref(), config) {
            subscription.notify(&context(block.slot, &value));
        }
    }
}

/// Returns a block with the transactions that mention an address; `None` if none does.
fn block_update(
    shared: &Shared,
    block: &Block,
    mentioned: Option<&Pubkey>,
    config: &BlockConfig,
) -> Option<Value> {
    let encoded = match mentioned {
        None => block_value(&shared.node, block, config),
        Some(key) => {
            let mentions = |landed: &&Arc<Landed>| landed.account_keys().contains(key);
            let transactions: Vec<_> =
                block.transactions.iter().filter(mentions).cloned().collect();
            if transactions.is_empty() {
                return None;
            }
            let part = Block { transactions, accounts: Vec::new(), ..block.clone() };
            block_value(&shared.node, &part, config)
        }
    };
    Some(match encoded {
        Ok(encoded) => json!({ "block": encoded, "err": null, "slot": block.slot }),
        Err(error) => json!({ "block": null, "err": error.message, "slot": block.slot }),
    })
}
