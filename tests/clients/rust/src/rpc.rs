//! solana-rpc-client.

use anyhow::{Context as _, Result, bail, ensure};
use solana_account_decoder_client_types::{UiAccountData, UiAccountEncoding};
use solana_commitment_config::CommitmentConfig;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_instruction_error::InstructionError;
use solana_keypair::{Keypair, Signer as _};
use solana_message::{VersionedMessage, v0};
use solana_program_pack::Pack as _;
use solana_pubkey::Pubkey;
use solana_rpc_client::rpc_client::{GetConfirmedSignaturesForAddress2Config, RpcClient};
use solana_rpc_client_api::{
    client_error::ErrorKind,
    config::{
        RpcAccountInfoConfig, RpcProgramAccountsConfig, RpcSendTransactionConfig,
        RpcSimulateTransactionConfig,
    },
    filter::{Memcmp, RpcFilterType},
    request::{RpcError, RpcResponseErrorData, TokenAccountsFilter},
};
use solana_system_interface::instruction::{create_account, transfer};
use solana_transaction::{Transaction, versioned::VersionedTransaction};
use solana_transaction_error::TransactionError;
use solana_transaction_status_client_types::UiTransactionEncoding;
use spl_associated_token_account_interface::{
    address::get_associated_token_address, instruction::create_associated_token_account,
};
use spl_token_interface::{
    instruction as token,
    state::{Account, Mint},
};

use crate::cluster::{Cluster, SOL};

const CONFIRMED: CommitmentConfig = CommitmentConfig::confirmed();

pub async fn transfers(cluster: &Cluster) -> Result<()> {
    let from = cluster.funded().await?;
    let (to, signature) = cluster.pay(&from, SOL).await?;
    ensure!(cluster.rpc.get_balance(&to).await? == SOL);
    let status = cluster.rpc.get_signature_statuses(&[signature]).await?.value.remove(0);
    ensure!(status.context("no status")?.satisfies_commitment(CONFIRMED));

    let blockhash = cluster.rpc.get_latest_blockhash().await?;
    let units = ComputeBudgetInstruction::set_compute_unit_limit(1000);
    let price = ComputeBudgetInstruction::set_compute_unit_price(5_000_000);
    let pay = transfer(&from.pubkey(), &to, SOL);
    let message = v0::Message::try_compile(&from.pubkey(), &[units, price, pay], &[], blockhash)?;
    ensure!(cluster.rpc.get_fee_for_message(&message).await? == 10_000);
    let transaction = VersionedTransaction::try_new(VersionedMessage::V0(message), &[&from])?;
    cluster.rpc.send_and_confirm_transaction_with_spinner(&transaction).await?;
    cluster.rpc.wait_for_balance_with_commitment(&to, Some(2 * SOL), CONFIRMED).await?;
    ensure!(cluster.rpc.get_balance(&from.pubkey()).await? == 8 * SOL - 15_000);
    Ok(())
}

/// Creates a mint with two decimals and a token account of the payer, which gets an amount.
async fn minted(cluster: &Cluster, payer: &Keypair, amount: u64) -> Result<(Pubkey, Pubkey)> {
    let mint = Keypair::new();
    let rent = cluster.rpc.get_minimum_balance_for_rent_exemption(Mint::LEN).await?;
    let (program, owner, space) = (spl_token_interface::ID, payer.pubkey(), Mint::LEN as u64);
    let account = get_associated_token_address(&owner, &mint.pubkey());
    let instructions = [
        create_account(&owner, &mint.pubkey(), rent, space, &program),
        token::initialize_mint2(&program, &mint.pubkey(), &owner, None, 2)?,
        create_associated_token_account(&owner, &owner, &mint.pubkey(), &program),
        token::mint_to(&program, &mint.pubkey(), &account, &owner, &[], amount)?,
    ];
    cluster.send(&instructions, &[payer, &mint]).await?;
    Ok((mint.pubkey(), account))
}

pub async fn life_of_a_token(cluster: &Cluster) -> Result<()> {
    let payer = cluster.funded().await?;
    let (mint, source) = minted(cluster, &payer, 12_345).await?;
    let (program, owner) = (spl_token_interface::ID, Pubkey::new_unique());
    let destination = get_associated_token_address(&owner, &mint);
    let instructions = [
        create_associated_token_account(&payer.pubkey(), &owner, &mint, &program),
        token::transfer_checked(
            &program,
            &source,
            &mint,
            &destination,
            &payer.pubkey(),
            &[],
            45,
            2,
        )?,
        token::burn(&program, &source, &mint, &payer.pubkey(), &[], 300)?,
    ];
    cluster.send(&instructions, &[&payer]).await?;

    let rpc = &cluster.rpc;
    let balance = rpc.get_token_account_balance(&source).await?;
    ensure!(balance.ui_amount_string == "120" && balance.amount == "12000", "{balance:?}");
    ensure!(rpc.get_token_supply(&mint).await?.amount == "12045");
    let account = Account::unpack(&rpc.get_account_data(&destination).await?)?;
    ensure!(account.amount == 45 && account.owner == owner);
    let owned = rpc.get_token_accounts_by_owner(&owner, TokenAccountsFilter::Mint(mint)).await?;
    ensure!(owned.len() == 1 && owned[0].pubkey == destination.to_string());
    let UiAccountData::Json(parsed) = &owned[0].account.data else { bail!("not parsed") };
    ensure!(parsed.parsed["info"]["tokenAmount"]["uiAmountString"] == "0.45");
    let parsed = rpc.get_token_account(&destination).await?.context("no account")?;
    ensure!(parsed.mint == mint.to_string());

    let config = RpcProgramAccountsConfig {
        filters: Some(vec![
            RpcFilterType::TokenAccountState,
            RpcFilterType::Memcmp(Memcmp::new_base58_encoded(0, mint.as_ref())),
        ]),
        account_config: RpcAccountInfoConfig {
            encoding: Some(UiAccountEncoding::Base64Zstd),
            ..RpcAccountInfoConfig::default()
        },
        ..RpcProgramAccountsConfig::default()
    };
    ensure!(rpc.get_program_ui_accounts_with_config(&program, config).await?.len() == 2);
    ensure!(rpc.get_token_largest_accounts(&mint).await?[0].amount.amount == "12000");
    Ok(())
}

pub async fn errors(cluster: &Cluster) -> Result<()> {
    let from = cluster.funded().await?;
    let too_much = transfer(&from.pubkey(), &Pubkey::new_unique(), 100 * SOL);
    let transaction = cluster.signed(&[too_much], &[&from]).await?;
    let custom = TransactionError::InstructionError(0, InstructionError::Custom(1));
    let error =
        cluster.rpc.send_transaction(&transaction).await.err().context("it was accepted")?;
    ensure!(error.get_transaction_error().as_ref() == Some(&custom), "{error}");
    let ErrorKind::RpcError(RpcError::RpcResponseError { code, message, data }) = error.kind()
    else {
        bail!("another error: {error}")
    };
    ensure!(*code == -32002 && message.starts_with("Transaction simulation failed: "), "{message}");
    let RpcResponseErrorData::SendTransactionPreflightFailure(simulated) = data else {
        bail!("other data: {data}")
    };
    let logs = simulated.logs.as_ref().context("no logs")?;
    ensure!(logs.iter().any(|line| line.contains("insufficient lamports")), "{logs:?}");

    let config = RpcSendTransactionConfig { skip_preflight: true, ..Default::default() };
    let signature = cluster.rpc.send_transaction_with_config(&transaction, config).await?;
    cluster.rpc.poll_for_signature(&signature).await?;
    let status = cluster.rpc.get_signature_status(&signature).await?.context("no status")?;
    ensure!(status == Err(custom), "{status:?}");

    let nothing =
        cluster.rpc.get_account(&Pubkey::new_unique()).await.err().context("an account")?;
    ensure!(nothing.to_string().contains("AccountNotFound"), "{nothing}");
    let token = cluster.rpc.get_token_account_balance(&from.pubkey()).await.err();
    let token = token.context("a balance of a wallet")?.to_string();
    ensure!(token.contains("Invalid param: not a Token account"), "{token}");
    Ok(())
}

pub async fn simulates(cluster: &Cluster) -> Result<()> {
    let from = cluster.funded().await?;
    let pay = transfer(&from.pubkey(), &Pubkey::new_unique(), SOL);
    let dead = Transaction::new_with_payer(&[pay], Some(&from.pubkey()));
    let simulated = cluster.rpc.simulate_transaction(&dead).await?.value;
    ensure!(simulated.err == Some(TransactionError::BlockhashNotFound.into()), "{simulated:?}");
    let config = RpcSimulateTransactionConfig {
        replace_recent_blockhash: true,
        inner_instructions: true,
        ..RpcSimulateTransactionConfig::default()
    };
    let simulated = cluster.rpc.simulate_transaction_with_config(&dead, config).await?.value;
    ensure!(simulated.err.is_none() && simulated.units_consumed == Some(150), "{simulated:?}");
    ensure!(simulated.replacement_blockhash.is_some() && simulated.fee == Some(5000));
    Ok(())
}

pub async fn history(cluster: &Cluster) -> Result<()> {
    let from = cluster.funded().await?;
    let mut signatures = Vec::new();
    for _ in 0..3 {
        signatures.push(cluster.pay(&from, SOL).await?.1);
    }
    signatures.reverse();
    let rpc = &cluster.rpc;
    let config = GetConfirmedSignaturesForAddress2Config {
        limit: Some(3),
        commitment: Some(CONFIRMED),
        ..GetConfirmedSignaturesForAddress2Config::default()
    };
    let page = rpc.get_signatures_for_address_with_config(&from.pubkey(), config).await?;
    let found: Vec<String> = page.iter().map(|it| it.signature.clone()).collect();
    ensure!(found == signatures.iter().map(ToString::to_string).collect::<Vec<_>>());
    let known = rpc.get_signature_statuses_with_history(&signatures).await?.value;
    ensure!(known.iter().all(Option::is_some));

    let landed = rpc.get_transaction(&signatures[0], UiTransactionEncoding::JsonParsed).await?;
    let meta = landed.transaction.meta.context("no meta")?;
    ensure!(meta.fee == 5000 && meta.err.is_none());
    let transaction = rpc.get_transaction(&signatures[0], UiTransactionEncoding::Base64).await?;
    let decoded = transaction.transaction.transaction.decode().context("it does not decode")?;
    ensure!(decoded.signatures[0] == signatures[0]);
    let block = rpc.get_block(landed.slot).await?;
    ensure!(block.transactions.iter().any(|it| it.meta.as_ref().is_some_and(|it| it.fee == 5000)));
    ensure!(rpc.get_blocks(landed.slot, Some(landed.slot)).await? == [landed.slot]);
    ensure!(rpc.get_block_time(landed.slot).await? > 0);
    Ok(())
}

pub async fn facts(cluster: &Cluster) -> Result<()> {
    let rpc = &cluster.rpc;
    rpc.get_health().await?;
    ensure!(rpc.get_version().await?.solana_core.starts_with("4."));
    let identity = rpc.get_identity().await?.to_string();
    let nodes = rpc.get_cluster_nodes().await?;
    ensure!(nodes[0].pubkey == identity && nodes[0].tpu_quic.is_some());
    let schedule = rpc.get_leader_schedule(None).await?.context("no schedule")?;
    ensure!(schedule.contains_key(&identity));
    ensure!(rpc.get_slot_leaders(rpc.get_slot().await?, 4).await?.len() == 4);
    ensure!(rpc.get_vote_accounts().await?.current.len() == 1);
    let epoch = rpc.get_epoch_info().await?;
    ensure!(epoch.slots_in_epoch > 0 && epoch.block_height <= epoch.absolute_slot);
    ensure!(rpc.get_epoch_schedule().await?.slots_per_epoch == epoch.slots_in_epoch);
    ensure!(rpc.get_block_production().await?.value.by_identity.contains_key(&identity));
    ensure!(rpc.get_genesis_hash().await? != rpc.get_latest_blockhash().await?);
    ensure!(rpc.supply().await?.value.total > 0);
    ensure!(
        !rpc.get_recent_performance_samples(None).await?.is_empty() || epoch.absolute_slot < 200
    );
    rpc.get_recent_prioritization_fees(&[]).await?;
    rpc.get_inflation_governor().await?;
    rpc.get_inflation_rate().await?;
    rpc.get_stake_minimum_delegation().await?;
    rpc.get_first_available_block().await?;
    rpc.minimum_ledger_slot().await?;
    rpc.get_transaction_count().await?;
    let snapshot = rpc.get_highest_snapshot_slot().await.err().context("a snapshot")?;
    ensure!(snapshot.to_string().contains("No snapshot"), "{snapshot}");
    Ok(())
}

pub async fn blocks(cluster: &Cluster) -> Result<()> {
    let url = cluster.url.clone();
    tokio::task::spawn_blocking(move || {
        let rpc = RpcClient::new_with_commitment(url, CONFIRMED);
        let from = Keypair::new();
        let airdrop = rpc.request_airdrop(&from.pubkey(), SOL)?;
        rpc.poll_for_signature(&airdrop)?;
        let (to, blockhash) = (Pubkey::new_unique(), rpc.get_latest_blockhash()?);
        let pay = transfer(&from.pubkey(), &to, SOL / 2);
        let signers = [&from];
        let payer = from.pubkey();
        let paid = Transaction::new_signed_with_payer(&[pay], Some(&payer), &signers, blockhash);
        rpc.send_and_confirm_transaction(&paid)?;
        ensure!(rpc.get_balance(&to)? == SOL / 2);
        let accounts = rpc.get_multiple_accounts(&[to, Pubkey::new_unique()])?;
        ensure!(accounts[0].is_some() && accounts[1].is_none());
        Ok(())
    })
    .await?
}
