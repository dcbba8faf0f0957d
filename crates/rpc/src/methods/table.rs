//! The table of methods and subscriptions, from which the server dispatches and `docs/rpc.md` is
//! made.

use crate::methods::{
    accounts, address_history, bundles,
    call::{API_VERSION, Handler, TextHandler, ValueHandler},
    cheats, cluster, describe, explain, history, inflation, sending, surfnet, surfnet_confidential,
    surfnet_idls, surfnet_profiles, surfnet_programs, surfnet_scenario, surfnet_snapshot, tokens,
    traces, votes,
};

/// Who may call a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Every client.
    Anyone,
    /// Clients on the same machine, unless the server's options allow more.
    Loopback,
}

/// How long a method may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Microseconds: answered where the request is read.
    Quick,
    /// Longer: answered on a thread of its own.
    Slow,
    /// One or the other: it depends on the size of the account that the first parameter names.
    OfAccount,
}

/// A method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Another name, that of surfpool's method that does the same.
    pub alias: &'static str,
    /// Its parameters, separated by commas, optional ones in brackets.
    pub params: &'static str,
    /// What it answers.
    pub result: &'static str,
    /// The version of agave with whose sources it was compared; empty if agave does not have it.
    pub compared: &'static str,
    /// How long it may take.
    pub weight: Weight,
    pub(crate) access: Access,
    pub(crate) handler: Handler,
}

impl Method {
    /// Returns how many parameters are required, and how many there are.
    #[must_use]
    pub fn arity(&self) -> (usize, usize) {
        let params = || self.params.split(", ").filter(|param| !param.is_empty());
        (params().filter(|param| !param.starts_with('[')).count(), params().count())
    }

    /// Returns whether it changes the node in ways that no cluster allows.
    #[must_use]
    pub fn is_cheat(&self) -> bool {
        self.access == Access::Loopback
    }
}

const fn quick(
    name: &'static str,
    params: &'static str,
    result: &'static str,
    handler: ValueHandler,
) -> Method {
    let (weight, access) = (Weight::Quick, Access::Anyone);
    let (alias, compared) = ("", API_VERSION);
    let handler = Handler::Value(handler);
    Method { name, alias, params, result, compared, weight, access, handler }
}

const fn slow(
    name: &'static str,
    params: &'static str,
    result: &'static str,
    handler: ValueHandler,
) -> Method {
    Method { weight: Weight::Slow, ..quick(name, params, result, handler) }
}

/// A method that writes its answer itself, since it may be long.
const fn written(
    name: &'static str,
    params: &'static str,
    result: &'static str,
    handler: TextHandler,
) -> Method {
    let (weight, access) = (Weight::Slow, Access::Anyone);
    let (alias, compared) = ("", API_VERSION);
    let handler = Handler::Text(handler);
    Method { name, alias, params, result, compared, weight, access, handler }
}

const fn cheat(
    name: &'static str,
    alias: &'static str,
    params: &'static str,
    result: &'static str,
    handler: ValueHandler,
) -> Method {
    Method { alias, compared: "", access: Access::Loopback, ..slow(name, params, result, handler) }
}

/// A method that agave does not have.
const fn other(method: Method) -> Method {
    Method { compared: "", ..method }
}

/// A cheatcode that writes its answer itself.
const fn written_cheat(
    name: &'static str,
    params: &'static str,
    result: &'static str,
    handler: TextHandler,
) -> Method {
    Method { compared: "", access: Access::Loopback, ..written(name, params, result, handler) }
}

/// Every method.
#[rustfmt::skip]
pub const METHODS: &[Method] = &[
    Method { weight: Weight::OfAccount, ..written("getAccountInfo", "pubkey, [config]", "the account with its slot, or null", accounts::get_account_info) },
    quick("getAgGenesisCert", "", "the certificate with which Alpenglow began, or null", votes::get_ag_genesis_cert),
    quick("getBalance", "pubkey, [config]", "lamports with their slot", accounts::get_balance),
    written("getBlock", "slot, [config]", "the block: blockhash, height, time, transactions, rewards", history::get_block),
    quick("getBlockCommitment", "slot", "`{commitment, totalStake}`; there is no stake", cluster::get_block_commitment),
    quick("getBlockHeight", "[config]", "the block height", cluster::get_block_height),
    slow("getBlockProduction", "[config]", "leader slots and blocks of the node", cluster::get_block_production),
    quick("getBlockTime", "slot", "the Unix time of the block", history::get_block_time),
    slow("getBlocks", "slot, [lastSlot], [config]", "slots with blocks, at most 500,000", history::get_blocks),
    slow("getBlocksWithLimit", "slot, limit, [config]", "as many slots with blocks", history::get_blocks_with_limit),
    quick("getClusterNodes", "", "this node", cluster::get_cluster_nodes),
    quick("getEpochInfo", "[config]", "position in the epoch, block height, transaction count", cluster::get_epoch_info),
    quick("getEpochSchedule", "", "slots per epoch", cluster::get_epoch_schedule),
    quick("getFeeForMessage", "message, [config]", "lamports, or null if the blockhash is not valid", sending::get_fee_for_message),
    quick("getFirstAvailableBlock", "", "the first slot of the history", cluster::get_first_available_block),
    quick("getGenesisHash", "", "the hash by which clusters are told apart", cluster::get_genesis_hash),
    quick("getHealth", "", "`ok`", cluster::get_health),
    quick("getHighestSnapshotSlot", "", "error -32008: there are no snapshots to download", cluster::get_highest_snapshot_slot),
    quick("getIdentity", "", "the node's address", cluster::get_identity),
    quick("getInflationGovernor", "[config]", "how inflation falls", inflation::get_inflation_governor),
    quick("getInflationRate", "", "the inflation of the epoch", inflation::get_inflation_rate),
    slow("getInflationReward", "pubkeys, [config]", "what at most 32 addresses received for the epoch in the configuration, or for the last one", inflation::get_inflation_reward),
    slow("getLargestAccounts", "[config]", "the 20 richest accounts", accounts::get_largest_accounts),
    quick("getLatestBlockhash", "[config]", "blockhash and last valid block height", sending::get_latest_blockhash),
    Method { weight: Weight::Quick, ..written("getLeaderSchedule", "[slot], [config]", "every slot of the epoch, all the node's; by its vote account with `keyByVoteAccount`", votes::get_leader_schedule) },
    quick("getMaxRetransmitSlot", "", "the newest slot", cluster::get_max_slot),
    quick("getMaxShredInsertSlot", "", "the newest slot", cluster::get_max_slot),
    quick("getMinimumBalanceForRentExemption", "length, [config]", "lamports", accounts::get_minimum_balance),
    written("getMultipleAccounts", "pubkeys, [config]", "an account or null for each of at most 100 addresses", accounts::get_multiple_accounts),
    written("getProgramAccounts", "program, [config]", "the program's accounts that meet at most 4 filters", accounts::get_program_accounts),
    Method { compared: "4.5.0-alpha.4", ..slow("getRankMap", "slot, [config]", "who may vote in Alpenglow in the epoch of the slot, by rank, or null", votes::get_rank_map) },
    quick("getRecentPerformanceSamples", "[limit]", "transactions and slots per minute", cluster::get_recent_performance_samples),
    quick("getRecentPrioritizationFees", "[pubkeys]", "the lowest prices of recent blocks", sending::get_recent_prioritization_fees),
    quick("getSignatureStatuses", "signatures, [config]", "slot, error and confirmation of at most 256 transactions", history::get_signature_statuses),
    slow("getSignaturesForAddress", "pubkey, [config]", "the newest transactions of an address, at most 1,000", history::get_signatures_for_address),
    quick("getSlot", "[config]", "the slot", cluster::get_slot),
    quick("getSlotLeader", "[config]", "the node's address", cluster::get_slot_leader),
    quick("getSlotLeaders", "slot, limit", "the node's address as often as asked for, at most 5,000 times", cluster::get_slot_leaders),
    quick("getStakeMinimumDelegation", "[config]", "lamports with their slot", cluster::get_stake_minimum_delegation),
    slow("getSupply", "[config]", "the lamports of all accounts", accounts::get_supply),
    quick("getTokenAccountBalance", "pubkey, [config]", "the token amount", tokens::get_token_account_balance),
    written("getTokenAccountsByDelegate", "delegate, selection, [config]", "token accounts, by mint or program", tokens::get_token_accounts_by_delegate),
    written("getTokenAccountsByOwner", "owner, selection, [config]", "token accounts, by mint or program", tokens::get_token_accounts_by_owner),
    slow("getTokenLargestAccounts", "mint, [config]", "the 20 largest accounts of a mint", tokens::get_token_largest_accounts),
    quick("getTokenSupply", "mint, [config]", "the token amount", tokens::get_token_supply),
    slow("getTransaction", "signature, [config]", "the transaction with its slot and results, or null", history::get_transaction),
    quick("getTransactionCount", "[config]", "the number of transactions since genesis", cluster::get_transaction_count),
    quick("getVersion", "", "the version of agave that is served, and the feature set", cluster::get_version),
    quick("getVoteAccounts", "[config]", "the node, as a validator that votes for every block; other vote accounts as their data says", votes::get_vote_accounts),
    quick("isBlockhashValid", "blockhash, [config]", "whether transactions with it are accepted", sending::is_blockhash_valid),
    quick("minimumLedgerSlot", "", "the first slot of the history", cluster::get_first_available_block),
    quick("requestAirdrop", "pubkey, lamports, [config]", "the signature of a transfer from the faucet", sending::request_airdrop),
    quick("sendTransaction", "transaction, [config]", "the signature; failures are explained by error -32002", sending::send_transaction),
    written("simulateTransaction", "transaction, [config]", "error, logs, accounts, units consumed, return data", sending::simulate_transaction),

    other(written("getTransactionsForAddress", "pubkey, [config]", "the transactions of an address, or their signatures, filtered and in pages, by Helius's parameters", address_history::get_transactions_for_address)),
    other(slow("sendBundle", "transactions, [config]", "the id of a bundle of at most 5 transactions, which have landed in one block; if one fails, none lands", bundles::send)),
    other(written("simulateBundle", "bundle, [config]", "the results of a bundle's transactions, up to the first that fails", bundles::simulate)),
    other(slow("getBundleStatuses", "ids", "transactions, slot and confirmation of at most 5 bundles", bundles::statuses)),
    other(slow("getInflightBundleStatuses", "ids", "whether each of at most 5 bundles has landed, and in which slot", bundles::inflight_statuses)),
    other(quick("getTipAccounts", "", "the addresses that receive tips on mainnet; none is needed here", bundles::tip_accounts)),

    cheat("selkie_setAccount", "surfnet_setAccount", "pubkey, account", "null; the fields `lamports`, `data` (hex, or text and encoding), `owner`, `executable` that are absent stay; `fields` changes data by the names that `selkie_describe` has, to values as text", cheats::set_account),
    cheat("selkie_setBalance", "", "pubkey, lamports", "the slot", cheats::set_balance),
    cheat("selkie_setTokenAccount", "", "owner, mint, account, [program]", "the address of the owner's associated token account, which is then as the token program makes it, and the mint's supply with it", cheats::set_token_account),
    cheat("selkie_setProgram", "", "program, elf, [authority]", "the slot; the ELF file is base64, and is checked", cheats::set_program),
    cheat("selkie_timeTravel", "", "target", "the epoch info after going to `{slot}`, `{epoch}` or `{timestamp}` (or `absoluteSlot`, …), forward only", cheats::time_travel),
    cheat("selkie_pauseClock", "surfnet_pauseClock", "", "the epoch info", cheats::pause_clock),
    cheat("selkie_resumeClock", "surfnet_resumeClock", "", "the epoch info", cheats::resume_clock),
    cheat("selkie_setBlockMode", "", "mode", "null; `onDemand`, `interval` or `manual`", cheats::set_block_mode),
    cheat("selkie_mine", "", "[blocks]", "the slot; in manual mode the first block takes what is queued", cheats::mine),
    cheat("selkie_snapshot", "", "", "the number of the snapshot", cheats::snapshot),
    cheat("selkie_revert", "", "snapshot", "the slot; the snapshot and later ones are used up", cheats::revert),
    cheat("selkie_dropSnapshot", "", "snapshot", "null", cheats::drop_snapshot),
    cheat("selkie_impersonate", "", "pubkey, on", "null; signatures of the address are not checked", cheats::impersonate),
    cheat("selkie_impersonateAll", "", "on", "null; no signature is checked", cheats::impersonate_all),
    cheat("selkie_setFeature", "", "feature, slot", "null; active from the first block at or after the slot", cheats::set_feature),
    cheat("selkie_reset", "", "", "the slot, back at genesis", cheats::reset),
    written_cheat("selkie_dumpState", "", "the whole state with its history, as text", cheats::dump_state),
    cheat("selkie_loadState", "", "state", "the slot", cheats::load_state),
    cheat("selkie_traceTransaction", "", "signature", "call tree with compute units per call, and changes of accounts; null if unknown", traces::trace_transaction),
    cheat("selkie_profileTransaction", "", "transaction, [config]", "the same of a simulation; the transaction is base64", traces::profile_transaction),
    cheat("selkie_replayTransaction", "", "signature", "the replay file of a landed transaction, as text; null if unknown, an error if the state before it is not kept", traces::replay_transaction),
    cheat("selkie_explainTransaction", "", "transaction", "where a transaction failed, by signature or simulated from base64, in sources that are on this machine; null if unknown", explain::explain_transaction),
    cheat("selkie_flameTransaction", "", "transaction, [format]", "where the compute units of a transaction go, by signature or simulated from base64: a tree of frames; or the text of a format of `selkie profile`", explain::flame_transaction),
    cheat("selkie_debugTransaction", "", "transaction, question", "the answer to a question about the steps of a transaction, by signature or simulated from base64: see [the debugger's questions](cheatcodes.md#steps)", explain::debug_transaction),
    cheat("selkie_listReplays", "", "", "the transactions that `selkie inspect` has opened, whose names are `replay-` and their number; null on a node", explain::list_replays),
    cheat("selkie_programUsage", "", "program, [limit]", "what the newest transactions of a program use, 20 or as many: compute units by function, and how often its lines were executed; of `replay-all`, all that `selkie inspect` has opened", explain::program_usage),
    cheat("selkie_disassembleProgram", "", "program, [config]", "a program's version, functions with their stack use, and instructions with their lines: 2,000, or `{from, count}`; with `{graph: SLOT}` the basic blocks of the function that begins there", explain::disassemble_program),
    cheat("selkie_setIdl", "", "program, [idl]", "what `selkie_getIdl` answers, after the description of a program's interface is kept, as Anchor or Codama write it; without one, that which was kept is forgotten", describe::set_idl),
    cheat("selkie_getIdl", "", "program", "instructions, accounts and errors of a program by the description of its interface: that which was given, of a file in `target/idl`, or on chain; null if there is none", describe::get_idl),
    cheat("selkie_describe", "", "questions", "for each of at most 1,000 questions `{instruction: {program, data, accounts}}`, `{account}` or `{error: {program, code}}` the names and values, or null", describe::describe),
    cheat("selkie_recentTransactions", "surfnet_getLocalSignatures", "[limit]", "signature, error and logs of the newest transactions", cheats::recent_transactions),
    cheat("selkie_nodeInfo", "", "", "what the node was started with", cheats::node_info),
    cheat("surfnet_getSurfnetInfo", "", "", "no runbooks, and a start that is done, for Anchor, which waits for both", surfnet::info),
    cheat("surfnet_resetNetwork", "", "", "null, after `selkie_reset`", surfnet::reset_network),
    cheat("surfnet_setTokenAccount", "", "owner, mint, account, [program]", "null, after `selkie_setTokenAccount`", surfnet_confidential::set_token_account),
    cheat("surfnet_timeTravel", "", "[target]", "the epoch info after going to `{absoluteSlot}`, `{absoluteEpoch}`, `{absoluteTimestamp}` in milliseconds, or `{absoluteSlotAt: {slot, timestamp}}`; an hour forward without", surfnet::time_travel),
    cheat("surfnet_writeProgram", "", "program, hex, offset, [authority]", "null; a part of a program's file is written, and the program created if it does not exist", surfnet_programs::write),
    cheat("surfnet_cloneProgramAccount", "", "source, destination", "null; the program is at both addresses", surfnet_programs::clone),
    cheat("surfnet_setProgramAuthority", "", "program, [authority]", "null; without an authority the program is immutable", surfnet_programs::set_authority),
    cheat("surfnet_resetAccount", "", "pubkey, [config]", "null; the account is deleted, and of a fork fetched again; with `includeOwnedAccounts` those that it owns, too", surfnet::reset_account),
    cheat("surfnet_offlineAccount", "", "pubkey, [config]", "null; the account is never fetched; with `includeOwnedAccounts` nor those that it owns here", surfnet::offline_account),
    cheat("surfnet_setSupply", "", "supply", "null; `getSupply` says so: `total`, `circulating`, `non_circulating`, `non_circulating_accounts`", surfnet::set_supply),
    written_cheat("surfnet_exportSnapshot", "[config]", "the accounts by address, as `--snapshot` reads them, without programs unless the filter includes them", surfnet_snapshot::export),
    written_cheat("surfnet_profileTransaction", "transaction, [tag], [config]", "what a simulation of the transaction, in base64, does to its accounts, with units and logs; as a whole, and of each instruction; kept under a key and a tag", surfnet_profiles::profile),
    written_cheat("surfnet_getTransactionProfile", "key, [config]", "such a profile again by its key, or that of a landed transaction by its signature; null if unknown, or the state before it is not kept", surfnet_profiles::get_profile),
    written_cheat("surfnet_getProfileResultsByTag", "tag, [config]", "the profiles with a tag, oldest first; null if there are none", surfnet_profiles::by_tag),
    cheat("surfnet_registerIdl", "", "idl, [slot]", "null; the description of the program that it names is active from the slot on, and `jsonParsed` shows the program's accounts by it", surfnet_idls::register),
    cheat("surfnet_getActiveIdl", "", "program, [slot]", "the description that was registered and is active in the slot, or null", surfnet_idls::active),
    cheat("surfnet_registerScenario", "", "scenario, [slot]", "null; each override that is enabled writes its values into the fields of an account, `scenarioRelativeSlot` slots after the slot or now, by the description of the account's program", surfnet_scenario::register),
    cheat("surfnet_deriveConfidentialKeys", "", "signature", "the keys that a wallet derives of its signature of `solana-conf-bal/v1` and a seed, in base58", surfnet_confidential::derive_keys),
    cheat("surfnet_getConfidentialBalance", "", "account, [keys]", "what the owner of a token account of Token-2022 reads with `aesKey` (`available`) and `elgamalSecretKey` (`pending`); null where a key is missing or another one's", surfnet_confidential::get_balance),
    cheat("surfnet_streamAccount", "", "pubkey, [config]", "null; a fork fetches the account whenever it is used; with `includeOwnedAccounts` those that it owns, too", surfnet::stream_account),
    cheat("surfnet_streamAccounts", "", "entries", "null, after the same for each `{pubkey, includeOwnedAccounts}`", surfnet::stream_accounts),
    cheat("surfnet_getStreamedAccounts", "", "", "the accounts that are fetched whenever they are used", surfnet::streamed_accounts),
    cheat("surfnet_disableCheatcode", "", "names, [config]", "null; methods of these names, or `\"all\"` of surfpool's, are refused; with `lockout` also those that enable", surfnet::disable),
    cheat("surfnet_enableCheatcode", "", "names", "null; methods of these names, or `\"all\"`, are served again", surfnet::enable),
];

/// A subscription. Its methods are its name with `Subscribe` and `Unsubscribe`, its notifications
/// have the method `nameNotification`.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionRow {
    /// Its name.
    pub name: &'static str,
    /// Its parameters, separated by commas, optional ones in brackets.
    pub params: &'static str,
    /// What its notifications hold.
    pub result: &'static str,
}

const fn subscription(
    name: &'static str,
    params: &'static str,
    result: &'static str,
) -> SubscriptionRow {
    SubscriptionRow { name, params, result }
}

/// Every subscription.
#[rustfmt::skip]
pub const SUBSCRIPTIONS: &[SubscriptionRow] = &[
    subscription("account", "pubkey, [config]", "the account after a change"),
    subscription("block", "filter, [config]", "the block, or those of its transactions that mention an address"),
    subscription("logs", "filter, [config]", "signature, error and logs of a transaction"),
    subscription("program", "program, [config]", "an account of the program after a change"),
    subscription("root", "", "the finalized slot"),
    subscription("signature", "signature, [config]", "the error of the transaction, once; then the subscription ends"),
    subscription("slot", "", "slot, parent and root"),
    subscription("slotsUpdates", "", "the stages of a slot, with times in milliseconds"),
];

/// A method that is not served.
#[derive(Clone, Copy, Debug)]
pub struct UnsupportedRow {
    /// Its name.
    pub name: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// Methods of other servers that answer with error -32601.
pub const UNSUPPORTED: &[UnsupportedRow] = &[
    UnsupportedRow { name: "voteSubscribe", reason: "there are no votes" },
    UnsupportedRow {
        name: "getConfirmedBlock, getRecentBlockhash, getFees, …",
        reason: "removed from agave 2.0",
    },
];

/// Returns the names of surfpool's that are served.
pub(crate) fn surfnet_names() -> Vec<&'static str> {
    let names = METHODS.iter().flat_map(|method| [method.name, method.alias]);
    names.filter(|name| name.starts_with("surfnet_")).collect()
}

/// Returns the method of a name.
pub(crate) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name || (method.alias == name && !name.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted() {
        assert_eq!(find("getBlocks").unwrap().arity(), (1, 3));
        assert_eq!(find("getHealth").unwrap().arity(), (0, 0));
        assert_eq!(find("surfnet_pauseClock").unwrap().name, "selkie_pauseClock");
        assert!(find("").is_none());
    }

    #[test]
    fn names_are_unique_and_cheats_are_told_by_theirs() {
        for (index, method) in METHODS.iter().enumerate() {
            assert!(METHODS[index + 1..].iter().all(|other| other.name != method.name));
            let is_ours = ["selkie_", "surfnet_"].iter().any(|it| method.name.starts_with(it));
            assert_eq!(method.is_cheat(), is_ours, "{}", method.name);
        }
    }
}
