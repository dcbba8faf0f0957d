//! Accounts as `surfnet_exportSnapshot` shows them: what `selkie node --snapshot` reads.

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::json;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, feature, sysvar};

use crate::{
    budget::Text,
    encode::account::parse,
    error::RpcError,
    methods::call::{Call, write_with_context},
    params::{Params, parse_key, parse_signature},
};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    include_parsed_accounts: Option<bool>,
    filter: Option<Filter>,
    scope: Scope,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    include_program_accounts: Option<bool>,
    include_accounts: Vec<String>,
    exclude_accounts: Vec<String>,
    exclude_sysvars: Option<bool>,
    exclude_feature_gates: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Scope {
    #[default]
    Network,
    /// The accounts of a transaction, by its signature, as they were before it.
    PreTransaction(String),
}

/// What is exported.
struct Selection {
    programs: bool,
    sysvars: bool,
    features: bool,
    included: BTreeSet<Pubkey>,
    excluded: BTreeSet<Pubkey>,
}

impl Selection {
    fn new(filter: &Filter) -> Result<Self, RpcError> {
        let keys = |texts: &[String]| {
            texts.iter().map(|text| parse_key(text)).collect::<Result<BTreeSet<Pubkey>, RpcError>>()
        };
        Ok(Self {
            programs: filter.include_program_accounts.unwrap_or_default(),
            sysvars: !filter.exclude_sysvars.unwrap_or_default(),
            features: !filter.exclude_feature_gates.unwrap_or_default(),
            included: keys(&filter.include_accounts)?,
            excluded: keys(&filter.exclude_accounts)?,
        })
    }

    fn has(&self, key: &Pubkey, account: &AccountSharedData) -> bool {
        const LOADERS: [Pubkey; 3] =
            [bpf_loader::ID, bpf_loader_deprecated::ID, bpf_loader_upgradeable::ID];
        let owner = account.owner();
        let is_of_kind = (self.programs || !LOADERS.contains(owner))
            && (self.sysvars || *owner != sysvar::ID)
            && (self.features || *owner != feature::ID);
        !self.excluded.contains(key) && (is_of_kind || self.included.contains(key))
    }
}

/// Returns the accounts of a transaction as they were before it.
fn before(call: &Call<'_>, signature: &str) -> Result<Vec<(Pubkey, AccountSharedData)>, RpcError> {
    let case = call.node.case(&parse_signature(signature)?);
    let case = case.map_err(|error| RpcError::refused(error.to_string()))?;
    let unknown = || RpcError::filter_transaction_not_found(signature);
    let (_, case) = case.ok_or_else(unknown)?;
    Ok(case.accounts.iter().map(|(key, account)| (*key, account.clone())).collect())
}

pub(super) fn export(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let config: Config = params.or_default(0)?;
    let selection = Selection::new(&config.filter.unwrap_or_default())?;
    let is_parsed = config.include_parsed_accounts.unwrap_or_default();
    let view = call.node.view(CommitmentLevel::Processed);
    let accounts = match &config.scope {
        Scope::Network => view.accounts(),
        Scope::PreTransaction(signature) => before(call, signature)?,
    };
    write_with_context(text, view.slot(), |text| {
        let mut separator = "{";
        for (key, account) in accounts {
            if !selection.has(&key, &account) {
                continue;
            }
            let parsed = is_parsed.then(|| parse(&key, &account, &view)).flatten();
            text.raw(&format!("{separator}\"{key}\":"))?;
            text.json(&json!({
                "data": BASE64_STANDARD.encode(account.data()),
                "executable": account.executable(),
                "lamports": account.lamports(),
                "owner": account.owner().to_string(),
                "parsedData": parsed,
                "rentEpoch": account.rent_epoch(),
            }))?;
            separator = ",";
        }
        text.raw(if separator == "{" { "{}" } else { "}" })
    })
}
