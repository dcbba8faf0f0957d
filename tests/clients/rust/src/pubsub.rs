//! solana-pubsub-client.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::{Stream, StreamExt as _};
use solana_account_decoder_client_types::UiAccountEncoding;
use solana_commitment_config::CommitmentConfig;
use solana_keypair::Signer as _;
use solana_pubkey::Pubkey;
use solana_pubsub_client::{nonblocking, pubsub_client::PubsubClient};
use solana_rpc_client_api::{
    config::{
        RpcAccountInfoConfig, RpcBlockSubscribeConfig, RpcBlockSubscribeFilter,
        RpcProgramAccountsConfig, RpcSignatureSubscribeConfig, RpcTransactionLogsConfig,
        RpcTransactionLogsFilter,
    },
    filter::{Memcmp, RpcFilterType},
    response::{ProcessedSignatureResult, RpcSignatureResult},
};
use solana_system_interface::instruction::transfer;
use solana_transaction_status_client_types::{TransactionDetails, UiTransactionEncoding};

use crate::cluster::{Cluster, SOL};

const COMMITMENT: Option<CommitmentConfig> = Some(CommitmentConfig::confirmed());

fn account_config() -> RpcAccountInfoConfig {
    RpcAccountInfoConfig {
        encoding: Some(UiAccountEncoding::Base64),
        commitment: COMMITMENT,
        ..RpcAccountInfoConfig::default()
    }
}

async fn next<T>(name: &str, stream: &mut (impl Stream<Item = T> + Unpin)) -> Result<T> {
    let item = tokio::time::timeout(Duration::from_secs(5), stream.next()).await;
    item.with_context(|| format!("no {name} notification"))?.context("the stream has ended")
}

pub async fn every_subscription(cluster: &Cluster) -> Result<()> {
    let client = nonblocking::pubsub_client::PubsubClient::new(&cluster.websocket_url).await?;
    let (from, to) = (cluster.funded().await?, Pubkey::new_unique());
    let (mut accounts, unsubscribe) = client.account_subscribe(&to, Some(account_config())).await?;
    let mentions = RpcTransactionLogsFilter::Mentions(vec![to.to_string()]);
    let logs_config = RpcTransactionLogsConfig { commitment: COMMITMENT };
    let (mut logs, _) = client.logs_subscribe(mentions, logs_config).await?;
    let system = solana_system_interface::program::ID;
    let programs_config = RpcProgramAccountsConfig {
        filters: Some(vec![RpcFilterType::DataSize(0)]),
        account_config: account_config(),
        ..RpcProgramAccountsConfig::default()
    };
    let (mut programs, _) = client.program_subscribe(&system, Some(programs_config)).await?;
    let block_filter = RpcBlockSubscribeFilter::MentionsAccountOrProgram(to.to_string());
    let block_config = RpcBlockSubscribeConfig {
        commitment: COMMITMENT,
        encoding: Some(UiTransactionEncoding::Base64),
        transaction_details: Some(TransactionDetails::Signatures),
        max_supported_transaction_version: Some(0),
        ..RpcBlockSubscribeConfig::default()
    };
    let (mut blocks, _) = client.block_subscribe(block_filter, Some(block_config)).await?;
    let (mut slots, _) = client.slot_subscribe().await?;
    let (mut updates, _) = client.slot_updates_subscribe().await?;
    let (mut roots, _) = client.root_subscribe().await?;

    let pay = transfer(&from.pubkey(), &to, SOL);
    let transaction = cluster.signed(&[pay], &[&from]).await?;
    let signature = transaction.signatures[0];
    let signature_config = RpcSignatureSubscribeConfig {
        commitment: COMMITMENT,
        ..RpcSignatureSubscribeConfig::default()
    };
    let (mut results, _) = client.signature_subscribe(&signature, Some(signature_config)).await?;
    cluster.rpc.send_transaction(&transaction).await?;

    let RpcSignatureResult::ProcessedSignature(ProcessedSignatureResult { err: None }) =
        next("signature", &mut results).await?.value
    else {
        bail!("the transaction failed")
    };
    ensure!(next("account", &mut accounts).await?.value.lamports == SOL);
    let log = next("logs", &mut logs).await?.value;
    ensure!(log.signature == signature.to_string() && log.err.is_none() && log.logs.len() == 2);
    let changed = next("program", &mut programs).await?.value.pubkey;
    ensure!([from.pubkey().to_string(), to.to_string()].contains(&changed), "{changed}");
    let block = next("block", &mut blocks).await?.value.block.context("no block")?;
    ensure!(block.signatures == Some(vec![signature.to_string()]), "{:?}", block.signatures);
    ensure!(next("slot", &mut slots).await?.slot > 0);
    ensure!(next("slotsUpdates", &mut updates).await?.slot() > 0);
    ensure!(next("root", &mut roots).await? > 0);
    unsubscribe().await;
    drop((accounts, logs, programs, blocks, slots, updates, roots, results));
    Ok(client.shutdown().await?)
}

pub async fn blocks(cluster: &Cluster) -> Result<()> {
    let (url, to) = (cluster.websocket_url.clone(), Pubkey::new_unique());
    let from = cluster.funded().await?;
    let subscribing = move || {
        let account = PubsubClient::account_subscribe(&*url, &to, Some(account_config()))?;
        let filters = vec![RpcFilterType::Memcmp(Memcmp::new_raw_bytes(0, vec![]))];
        let config = RpcProgramAccountsConfig {
            filters: Some(filters),
            account_config: account_config(),
            ..RpcProgramAccountsConfig::default()
        };
        let system = solana_system_interface::program::ID;
        let program = PubsubClient::program_subscribe(&*url, &system, Some(config))?;
        let slot = PubsubClient::slot_subscribe(&*url)?;
        anyhow::Ok((account, program, slot))
    };
    let subscriptions = tokio::task::spawn_blocking(subscribing).await??;
    cluster.send(&[transfer(&from.pubkey(), &to, SOL)], &[&from]).await?;
    let receiving = move || {
        let ((mut account, accounts), (mut program, programs), (mut slot, slots)) = subscriptions;
        let limit = Duration::from_secs(5);
        ensure!(accounts.recv_timeout(limit).context("no account")?.value.lamports >= SOL);
        programs.recv_timeout(limit).context("no account of the program")?;
        ensure!(slots.recv_timeout(limit).context("no slot")?.slot > 0);
        account.shutdown().ok().context("a thread has failed")?;
        program.shutdown().ok().context("a thread has failed")?;
        slot.shutdown().ok().context("a thread has failed")
    };
    let receiving = tokio::task::spawn_blocking(receiving);
    // The client ends a subscription at its next notification.
    while !receiving.is_finished() {
        cluster.send(&[transfer(&from.pubkey(), &to, SOL / 100)], &[&from]).await?;
    }
    receiving.await?
}
