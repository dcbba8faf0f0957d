//! The rewards of an epoch, as blocks and `getInflationReward` show them.

mod support;

use std::sync::Arc;

use selkie_node::{BlockMode, ManualClock};
use selkie_rpc::Options;
use serde_json::{Value, json};
use solana_account::{Account, AccountSharedData, WritableAccount as _};
use solana_commitment_config::CommitmentLevel::Finalized;
use solana_pubkey::Pubkey;
use solana_sdk_ids::stake;
use support::TestNode;

const SOL: u64 = 1_000_000_000;
const SLOTS: u64 = 32;
/// Where the credits of the node's vote account begin, which has no votes and one voter.
const CREDITS: usize = 250;

/// A stake account of a delegation that was effective from the beginning.
fn stake_account(voter: &Pubkey) -> AccountSharedData {
    let mut data = vec![0; 200];
    data[0] = 2;
    data[124..156].copy_from_slice(voter.as_ref());
    let fields = [(156, 1000 * SOL), (164, u64::MAX), (172, u64::MAX)];
    for (offset, number) in fields {
        data[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    }
    let lamports = 1001 * SOL;
    Account { lamports, data, owner: stake::ID, rent_epoch: u64::MAX, executable: false }.into()
}

/// The node's vote account with lamports, and credits in an epoch.
fn with_credits(mut account: AccountSharedData, epoch: u64, credits: u64) -> AccountSharedData {
    account.set_lamports(10 * SOL);
    let data = account.data_as_mut_slice();
    let entry = [1, epoch, credits, 0].map(u64::to_le_bytes);
    data[CREDITS..CREDITS + 32].copy_from_slice(entry.as_flattened());
    account
}

fn ask(node: &TestNode, method: &str, params: &Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer: Value = serde_json::from_str(&node.post(&body.to_string()).1).unwrap();
    answer.get("result").or(answer.get("error")).unwrap().clone()
}

/// The fields of the rewards of a block that are not balances.
fn rewards(node: &TestNode, slot: u64) -> Vec<(String, i64, String)> {
    let block = ask(node, "getBlock", &json!([slot]));
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    let all = block["rewards"].as_array().unwrap().iter();
    let all = all.map(|it| {
        let lamports = it["lamports"].as_i64().unwrap();
        (text(it, "rewardType"), lamports, text(it, "pubkey"))
    });
    all.collect()
}

#[test]
fn blocks_and_inflation_rewards_say_who_received_what() {
    let key = Pubkey::new_from_array([7; 32]);
    let voter = selkie_node::Options::default().vote_account;
    let node = selkie_node::Options {
        clock: Arc::new(ManualClock::at(core::time::Duration::from_secs(1_800_000_000))),
        blocks: BlockMode::Manual,
        slots_per_epoch: SLOTS,
        accounts: vec![(key, stake_account(&voter))],
        ..Default::default()
    };
    let test = TestNode::start_node(node, Options { rpc_port: 0, ..Options::default() });
    let node = test.node();
    let to = |slot: u64| {
        let now = node.view(Finalized).slot();
        assert_eq!(node.mine(slot - now).unwrap(), slot);
    };
    let own = node.view(Finalized).account(&voter).unwrap();
    node.set_account(voter, with_credits(own.clone(), 0, 0)).unwrap();
    to(SLOTS);
    node.set_account(voter, with_credits(own, 1, 1_000_000)).unwrap();
    to(2 * SLOTS - 1);
    let asked =
        json!([[key.to_string(), voter.to_string(), stake::ID.to_string()], { "epoch": 1 }]);
    let early = ask(&test, "getInflationReward", &asked);
    assert_eq!(early["code"], -32004);
    to(2 * SLOTS);
    let name = voter.to_string();
    let paid = -800_000_000;
    let expected = [("VATDebit".into(), paid, name.clone()), ("Voting".into(), 0, name)];
    assert_eq!(rewards(&test, 2 * SLOTS), expected);
    assert_eq!(ask(&test, "getBlock", &json!([2 * SLOTS]))["numRewardPartitions"], 1);
    let early = ask(&test, "getInflationReward", &asked);
    assert_eq!((&early["code"], &early["data"]["slot"]), (&json!(-32017), &json!(2 * SLOTS)));
    to(2 * SLOTS + 1);
    let expected = [("Staking".into(), 1_000_000, key.to_string())];
    assert_eq!(rewards(&test, 2 * SLOTS + 1), expected);
    let found = ask(&test, "getInflationReward", &asked);
    assert_eq!(
        found,
        json!([
            {
                "amount": 1_000_000,
                "commission": null,
                "effectiveSlot": 2 * SLOTS + 1,
                "epoch": 1,
                "postBalance": 1001 * SOL + 1_000_000,
            },
            {
                "amount": 0,
                "commission": null,
                "effectiveSlot": 2 * SLOTS,
                "epoch": 1,
                "postBalance": 10 * SOL - 800_000_000,
            },
            null,
        ])
    );
    let of_last = ask(&test, "getInflationReward", &json!([[key.to_string()]]));
    assert_eq!(of_last[0], found[0]);
    let many = vec![key.to_string(); 33];
    assert_eq!(ask(&test, "getInflationReward", &json!([many]))["code"], -32602);
    let rate = ask(&test, "getInflationRate", &json!([]));
    assert_eq!((&rate["epoch"], &rate["foundation"]), (&json!(2), &json!(0.0)));
    let (total, governor) =
        (rate["total"].as_f64().unwrap(), ask(&test, "getInflationGovernor", &json!([])));
    assert!(total < 0.08 && total > 0.0799 && rate["validator"] == rate["total"]);
    assert_eq!(governor["taper"], 0.15);
}
