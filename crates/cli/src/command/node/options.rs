//! From arguments to the options of node and server.

use std::{
    env, fs,
    net::{IpAddr, Ipv4Addr},
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie::{
    Account, AccountSharedData, Feature, FeatureSet, Loader, Pubkey, Rules, Signer as _, Svm,
};
use selkie_client::{Client, snapshot};
use selkie_isa::input;
use selkie_node::{
    ALPENGLOW_GATE, BlockMode, Fetch, Finality, GenesisProgram, HistoryLimit, Options,
};

use crate::{
    args::feature,
    args::node::{BlocksArg, FinalityArg, NodeArgs, WarpSlot},
    command::node::{config, remote::Remote},
    explorer::Explorer,
    keys,
    ui::Advise as _,
};

const LAMPORTS_PER_SOL: u64 = 1_000_000_000;

/// Returns the options of the server.
pub(super) fn server(args: &NodeArgs) -> selkie_rpc::Options {
    let default = selkie_rpc::Options::default();
    selkie_rpc::Options {
        bind: args.bind_address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        rpc_port: args.rpc_port.unwrap_or(default.rpc_port),
        websocket_port: args.ws_port.or(default.websocket_port),
        quic_port: args.tpu_port.or(default.quic_port),
        open_cheatcodes: args.open_cheatcodes,
        hosts: args.rpc_host.clone(),
        fetches: args.fork.is_some(),
        explainer: Some(Arc::new(Explorer::default())),
        limits: args.limits.limits(),
    }
}

/// Returns the options of the node.
pub(super) fn node(args: &NodeArgs) -> Result<Options> {
    let default = Options::default();
    let is_interval = args.block_time.is_some();
    let rules = rules(args)?;
    Ok(Options {
        ledger: args.ledger.clone(),
        reset: args.reset,
        features: features(args, rules.features)?,
        is_alpenglow: !deactivated(args)?.contains(&ALPENGLOW_GATE),
        release: rules.release,
        accounts: accounts(args)?,
        programs: programs(args)?,
        slot_milliseconds: args
            .block_time
            .or(args.slot_milliseconds)
            .unwrap_or(default.slot_milliseconds),
        slots_per_epoch: args.slots_per_epoch.unwrap_or(default.slots_per_epoch),
        first_slot: match args.warp_slot {
            Some(WarpSlot::At(slot)) => slot,
            Some(WarpSlot::OfCluster) => origin(args, "--warp-slot without a slot")?.slot()?,
            None => default.first_slot,
        },
        blocks: match args.blocks {
            Some(BlocksArg::Manual) => BlockMode::Manual,
            Some(BlocksArg::Interval) => BlockMode::Interval,
            None if is_interval => BlockMode::Interval,
            _ => BlockMode::OnDemand,
        },
        finality: match args.finality {
            Some(FinalityArg::Realistic) => Finality::Realistic,
            _ => Finality::Immediate,
        },
        history: history(args.history.as_deref())?,
        faucet_lamports: match args.faucet_sol {
            Some(sol) => sol.saturating_mul(LAMPORTS_PER_SOL),
            None => default.faucet_lamports,
        },
        mint: mint(args)?,
        log_bytes_max: args.log_bytes,
        compute_unit_limit: args.compute_unit_limit,
        fetch: args.fork.as_deref().map(fetch).transpose()?,
        threads: thread::available_parallelism().map_or(default.threads, NonZero::get),
        ..default
    })
}

/// Returns the address that gets SOL: by default that of the Solana CLI's key, which may be anything
/// but a file that can be read.
fn mint(args: &NodeArgs) -> Result<Option<Pubkey>> {
    match &args.mint {
        Some(text) => address(text).map(Some),
        None => {
            let path = config::solana_cli_key(args.config.as_deref())?;
            Ok(path.and_then(|path| keys::read(&path).ok()).map(|key| key.pubkey()))
        }
    }
}

fn fetch(url: &str) -> Result<Arc<dyn Fetch>> {
    Ok(Arc::new(Remote(Client::new(url)?)))
}

fn history(text: Option<&str>) -> Result<HistoryLimit> {
    match text {
        None => Ok(HistoryLimit::default()),
        Some("all") => Ok(HistoryLimit::All),
        Some(number) => {
            let limit = number.parse().with_context(|| format!("--history {number}"));
            limit.map(HistoryLimit::Transactions).advise("give a number, or `all`")
        }
    }
}

fn rules(args: &NodeArgs) -> Result<Rules> {
    let Some(name) = &args.rules else { return Ok(Rules::mainnet()) };
    name.parse().context("--rules")
}

fn features(args: &NodeArgs, base: FeatureSet) -> Result<FeatureSet> {
    let mut features = match args.features.as_deref() {
        _ if args.clone_feature_set => origin(args, "--clone-feature-set")?.features()?,
        None => base,
        Some("mainnet") => FeatureSet::mainnet(),
        Some("all") => FeatureSet::all(),
        Some(path) => {
            let text = input::text(Path::new(path), input::TEXT_BYTES_MAX)
                .with_context(|| format!("cannot read the features of {path}"))
                .advise("give `mainnet`, `all`, or a file with an address on each line")?;
            FeatureSet::from_list(&text)
                .map_err(|line| anyhow!("{path}:{line}: not the address of a known feature"))?
        }
    };
    for text in &args.feature {
        let found = feature::parse_name(text).map_err(|error| anyhow!(error));
        if let Some(feature) = found.advise("docs/features.md lists them")? {
            features = features.with(feature);
        }
    }
    // The migration to Alpenglow is no feature that programs run by.
    for address in deactivated(args)?.into_iter().filter(|it| *it != ALPENGLOW_GATE) {
        let feature = Feature::from_address(&address)
            .ok_or_else(|| anyhow!("no feature has the address {address}"))
            .advise("docs/features.md lists them")?;
        features = features.without(feature);
    }
    Ok(features)
}

/// Returns the addresses of `--deactivate-feature`.
fn deactivated(args: &NodeArgs) -> Result<Vec<Pubkey>> {
    args.deactivate_feature.iter().map(|text| address(text)).collect()
}

/// Reads an address, or that of a key file.
fn address(text: &str) -> Result<Pubkey> {
    if let Ok(key) = text.parse() {
        return Ok(key);
    }
    let path = Path::new(text);
    if path.is_file() {
        return Ok(keys::read(path)?.pubkey());
    }
    Err(anyhow!("neither an address nor a key file: {text}"))
}

fn accounts(args: &NodeArgs) -> Result<Vec<(Pubkey, AccountSharedData)>> {
    let mut accounts = Vec::new();
    for pair in args.airdrop.chunks(2) {
        let [key, lamports] = pair else { bail!("--airdrop takes an address and lamports") };
        let lamports = lamports.parse().with_context(|| format!("--airdrop {key} {lamports}"))?;
        accounts.push((address(key)?, Account { lamports, ..Account::default() }.into()));
    }
    for path in &args.snapshot {
        accounts.extend(snapshot::read(path)?);
    }
    for pair in args.account.chunks(2) {
        let [key, path] = pair else { bail!("--account takes an address and a file") };
        let (found, account) = account(&find(path))?;
        let key = if key == "-" { found } else { address(key)? };
        accounts.push((key, account));
    }
    for folder in &args.account_dir {
        for path in json_files(folder)? {
            accounts.push(account(&path)?);
        }
    }
    if !args.clone.is_empty() {
        accounts.extend(origin(args, "--clone")?.clone_accounts(&addresses(&args.clone)?)?);
    }
    if !args.maybe_clone.is_empty() {
        let keys = addresses(&args.maybe_clone)?;
        accounts.extend(origin(args, "--maybe-clone")?.existing_accounts(&keys)?);
    }
    if !args.deep_clone_address_lookup_table.is_empty() {
        let keys = addresses(&args.deep_clone_address_lookup_table)?;
        let origin = origin(args, "--deep-clone-address-lookup-table")?;
        accounts.extend(origin.clone_lookup_tables(&keys)?);
    }
    Ok(accounts)
}

/// Returns where agave's test validator finds a file: the folder of built programs, that of fixtures,
/// then the current one (`solana-program-test`, `find_file`).
#[allow(clippy::disallowed_methods, reason = "the folder of built programs is told in this way")]
fn find(path: &str) -> PathBuf {
    let built = ["BPF_OUT_DIR", "SBF_OUT_DIR"].into_iter().find_map(env::var_os);
    let folders = built.map(PathBuf::from).into_iter().chain(["tests/fixtures".into()]);
    let mut candidates = folders.map(|folder| folder.join(path));
    candidates.find(|path| path.exists()).unwrap_or_else(|| path.into())
}

/// Returns the cluster to copy from, which an option needs.
fn origin(args: &NodeArgs, option: &str) -> Result<Client> {
    let url = args.url.as_deref().or(args.fork.as_deref());
    let url = url.with_context(|| format!("{option} needs a cluster"));
    Ok(Client::new(url.advise("name it with --url")?)?)
}

fn addresses(texts: &[String]) -> Result<Vec<Pubkey>> {
    texts.iter().map(|text| address(text)).collect()
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn account(path: &Path) -> Result<(Pubkey, AccountSharedData)> {
    let mut svm = Svm::new();
    let key = svm.load_account_file(path).with_context(|| path.display().to_string())?;
    let account = svm.account(&key).with_context(|| format!("{} is empty", path.display()))?;
    Ok((key, account.into()))
}

fn programs(args: &NodeArgs) -> Result<Vec<GenesisProgram>> {
    let mut programs = Vec::new();
    for pair in args.bpf_program.chunks(2) {
        let [id, path] = pair else { bail!("--bpf-program takes an address and a file") };
        programs.push(program(id, path, None)?);
    }
    for triple in args.upgradeable_program.chunks(3) {
        let [id, path, authority] = triple else {
            bail!("--upgradeable-program takes an address, a file and an authority");
        };
        let authority = match authority.as_str() {
            "none" => None,
            text => Some(address(text)?),
        };
        programs.push(program(id, path, authority)?);
    }
    Ok(programs)
}

fn program(id: &str, path: &str, authority: Option<Pubkey>) -> Result<GenesisProgram> {
    let elf = input::read(Path::new(path), input::FILE_BYTES_MAX)
        .with_context(|| format!("cannot read the program {path}"))
        .advise("`selkie build` makes programs")?;
    Ok(GenesisProgram { id: address(id)?, elf, loader: Loader::V3, authority })
}
