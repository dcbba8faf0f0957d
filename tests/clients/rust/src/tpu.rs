//! solana-tpu-client-next: transactions over QUIC to the leader that the schedule names.

use std::{net::UdpSocket, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use solana_commitment_config::CommitmentConfig;
use solana_keypair::Signer as _;
use solana_pubkey::Pubkey;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_signature::Signature;
use solana_system_interface::instruction::transfer;
use solana_tpu_client_next::{
    ClientBuilder, node_address_service::LeaderTpuCacheServiceConfig,
    websocket_node_address_service::WebsocketNodeAddressService,
};
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, SOL};

/// How many transactions are sent.
const COUNT: u64 = 50;

pub async fn sends(cluster: &Cluster) -> Result<()> {
    let from = cluster.funded().await?;
    let cancel = CancellationToken::new();
    let rpc = RpcClient::new_with_commitment(cluster.url.clone(), CommitmentConfig::confirmed());
    let (leaders, service) = WebsocketNodeAddressService::run(
        Arc::new(rpc),
        cluster.websocket_url.clone(),
        LeaderTpuCacheServiceConfig::default(),
        cancel.clone(),
    )
    .await?;
    let (sender, client) = ClientBuilder::new(Box::new(leaders))
        .bind_socket(UdpSocket::bind("127.0.0.1:0")?)
        .leader_send_fanout(1)
        .identity(&from)
        .build()?;
    let (mut signatures, to) = (Vec::new(), Pubkey::new_unique());
    for index in 0..COUNT {
        let pay = transfer(&from.pubkey(), &to, SOL / 100 + index);
        let transaction = cluster.signed(&[pay], &[&from]).await?;
        signatures.push(transaction.signatures[0]);
        sender.send_transaction(wincode::serialize(&transaction)?).await?;
    }
    landed(cluster, &signatures).await?;
    let sum = COUNT * (SOL / 100) + COUNT * (COUNT - 1) / 2;
    ensure!(cluster.rpc.get_balance(&to).await? == sum);
    client.shutdown().await?;
    cancel.cancel();
    service.shutdown().await?;
    Ok(())
}

/// Waits until transactions are confirmed without an error.
async fn landed(cluster: &Cluster, signatures: &[Signature]) -> Result<()> {
    loop {
        let statuses = cluster.rpc.get_signature_statuses(signatures).await?.value;
        let known: Vec<_> = statuses.into_iter().flatten().collect();
        for status in &known {
            ensure!(status.err.is_none(), "{status:?}");
        }
        let confirmed = CommitmentConfig::confirmed();
        if known.iter().filter(|it| it.satisfies_commitment(confirmed)).count() == signatures.len()
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
