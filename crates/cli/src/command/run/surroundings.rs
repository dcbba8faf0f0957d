//! Builds the environment of `selkie run`: accounts, other programs, features.

use std::{collections::BTreeSet, ffi::OsStr, path::Path, sync::Arc};

use anyhow::{Context as _, Result, anyhow};
use selkie::{AccountSharedData, Pubkey, Svm};
use selkie_builtins::{builtins, precompiles};
use selkie_svm::{
    AccountMeta, AccountStore, Environment, FeatureSet, Loader, Program, ProgramEntry, Purpose,
    elf_environment, program_cache::ProgramFile as DeployedFile,
};

use crate::{
    args::{RunArgs, program::STATE_FILE, run::SurroundingsArgs, send::split_flags},
    cluster::Cluster,
    data,
    names::Names,
    program::{ProgramFile, Refused, read},
    scenario::Scenario,
    ui::{Advise as _, Ui},
};

/// The accounts of a cluster, for the program cache.
struct Accounts<'a>(&'a Svm);

impl AccountStore for Accounts<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.0.shared_account(key)
    }
}

/// Returns a copy of what the instruction needs of a running cluster.
pub(super) fn copy(url: &str, scenario: &Scenario) -> Result<Svm> {
    let mut copy = Cluster::copy(url, Path::new(""))?;
    let keys: Vec<Pubkey> = scenario.instruction.accounts.iter().map(|it| it.pubkey).collect();
    copy.fetch(&keys)?;
    Ok(copy.svm)
}

/// Returns the saved cluster.
pub(super) fn saved(args: &RunArgs) -> Result<Option<Svm>> {
    let Some(path) = &args.surroundings.state else { return Ok(None) };
    let saved =
        Svm::load(path).with_context(|| format!("cannot load the cluster in {}", path.display()));
    saved.map(Some).advise("create a cluster with `selkie deploy PROGRAM` or `selkie airdrop`")
}

/// Returns the instruction of the command line, with its accounts from files, and the names of accounts
/// and of the program.
pub(super) fn scenario(args: &RunArgs) -> Result<(Scenario, Names)> {
    let names = names(args)?;
    let mut scenario = match &args.input {
        Some(path) => Scenario::read(path)?,
        None => Scenario::default(),
    };
    for text in &args.accounts {
        add_account(&mut scenario, &names, text)?;
    }
    if let Some(data) = &args.data {
        scenario.instruction.data = data::parse(data, &|key| names.address(key))?;
    }
    if let Some(key) = &args.program_id {
        scenario.instruction.program_id = names.address(key)?;
    }
    Ok((scenario, names))
}

fn names(args: &RunArgs) -> Result<Names> {
    match &args.surroundings {
        SurroundingsArgs { state: Some(state), .. } => Names::load(state),
        SurroundingsArgs { url: Some(_), .. } => Names::load(Path::new(STATE_FILE)),
        _ => Ok(Names::well_known()),
    }
}

/// Names the program after its file. Unless its address was given, it is that of the saved cluster's
/// program with the same bytes, or else with the same name.
pub(super) fn place(
    ui: &mut Ui,
    args: &RunArgs,
    file: &ProgramFile,
    saved: Option<&Svm>,
    scenario: &mut Scenario,
    names: &mut Names,
) -> Result<()> {
    let stem = args.program.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let id = &mut scenario.instruction.program_id;
    if let Some(svm) = saved.filter(|_| *id == Scenario::default().instruction.program_id)
        && let Some(found) = deployed(svm, file, stem, names)
    {
        *id = found;
        ui.aside(&format!("as the program {}\n", names.show(id)))?;
    }
    if names.label(id).is_none() && !stem.is_empty() {
        names.add_own(*id, stem);
    }
    Ok(())
}

/// Returns the address of the cluster's program that a file is of.
fn deployed(svm: &Svm, file: &ProgramFile, stem: &str, names: &Names) -> Option<Pubkey> {
    let environment = elf_environment(svm.features(), Purpose::Deployment);
    let stripped = selkie_elf::strip(&file.elf, &environment);
    let forms = [Some(&file.elf), stripped.as_ref()];
    // A file may be followed by room for longer ones.
    let is_it = |bytes: &[u8]| {
        let mut forms = forms.iter().flatten();
        forms.any(|it| bytes.strip_prefix(it.as_slice()).is_some_and(is_room))
    };
    let mut programs = svm
        .written_accounts()
        .filter_map(|(id, account)| Some((id, DeployedFile::find(account, &Accounts(svm))?)));
    let same_bytes = programs.find(|(_, deployed)| is_it(deployed.bytes())).map(|(id, _)| id);
    same_bytes.or_else(|| {
        let id = names.defined(stem)?;
        DeployedFile::find(&svm.shared_account(&id)?, &Accounts(svm)).map(|_| id)
    })
}

fn is_room(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Adds an account from a file, or a reference to one by address.
fn add_account(scenario: &mut Scenario, names: &Names, text: &str) -> Result<()> {
    let (key, flags) = split_flags(text);
    let path = Path::new(key);
    // A key file is a list of numbers, and refers to its address.
    let is_account = path.is_file() && read(path)?.trim_ascii_start().first() != Some(&b'[');
    if is_account {
        return scenario.add_account_file(text);
    }
    let meta = AccountMeta {
        pubkey: names.address(key).context("--accounts")?,
        is_signer: flags.contains('s'),
        is_writable: !flags.contains('r'),
    };
    scenario.instruction.accounts.push(meta);
    Ok(())
}

/// Adds the instruction's accounts of a cluster, except those already in the scenario.
pub(super) fn add_saved(scenario: &mut Scenario, svm: &Svm) {
    let mut known: BTreeSet<Pubkey> = scenario.accounts.iter().map(|(key, _)| *key).collect();
    for meta in &scenario.instruction.accounts {
        if known.insert(meta.pubkey)
            && let Some(account) = svm.account(&meta.pubkey)
        {
            scenario.accounts.push((meta.pubkey, account));
        }
    }
}

/// Returns the features and the programs that the program can call.
pub(super) fn environment(
    ui: &mut Ui,
    args: &RunArgs,
    scenario: &Scenario,
    svm: Option<&Svm>,
) -> Result<Result<Environment, Refused>> {
    let base = svm.map_or_else(FeatureSet::mainnet, Svm::features);
    let features = args.surroundings.features.of(base);
    let given = svm.map(|svm| svm.environment().clone()).unwrap_or_default();
    let mut environment =
        Environment { features, builtins: builtins(features), precompiles: precompiles(), ..given };
    let names = names(args)?;
    for text in &args.surroundings.programs {
        let Ok((key, program)) = named_program(ui, args, &names, features, text)? else {
            return Ok(Err(Refused));
        };
        environment.programs.insert(key, program);
    }
    // Without a saved cluster, take the well-known programs from a new one.
    let new = Svm::new();
    for AccountMeta { pubkey, .. } in &scenario.instruction.accounts {
        if environment.programs.get(pubkey).is_none()
            && let Some(program) = program_of(svm.unwrap_or(&new), pubkey, features)
        {
            environment.programs.insert(*pubkey, program);
        }
    }
    Ok(Ok(environment))
}

/// Reads the other programs of the command line; those that are refused are left out.
pub(super) fn other_programs(ui: &mut Ui, args: &RunArgs) -> Result<Vec<(Pubkey, ProgramFile)>> {
    let names = names(args)?;
    let mut programs = Vec::new();
    for text in &args.surroundings.programs {
        let (key, path) = named_path(&names, text)?;
        programs.extend(ProgramFile::open(ui, path, &args.assembler)?.ok().map(|file| (key, file)));
    }
    Ok(programs)
}

/// Splits a program argument `KEY=FILE`.
fn named_path<'a>(names: &Names, text: &'a str) -> Result<(Pubkey, &'a Path)> {
    let pair = text.split_once('=').ok_or_else(|| anyhow!("expected KEY=FILE, not `{text}`"));
    let (key, path) = pair.advise("for example --program token=my_token.so")?;
    Ok((names.address(key).context("--program")?, Path::new(path)))
}

/// Loads a program argument `KEY=FILE`.
fn named_program(
    ui: &mut Ui,
    args: &RunArgs,
    names: &Names,
    features: FeatureSet,
    text: &str,
) -> Result<Result<(Pubkey, Arc<Program>), Refused>> {
    let (key, path) = named_path(names, text)?;
    let Ok(file) = ProgramFile::open(ui, path, &args.assembler)? else {
        return Ok(Err(Refused));
    };
    let path = path.display().to_string();
    let program = load(&file.elf, Loader::V3, features).with_context(|| path.clone());
    let program = program.advise(format!("`selkie check {path} --execution` says more"))?;
    Ok(Ok((key, program)))
}

/// Returns the program of a cluster at an address.
fn program_of(svm: &Svm, key: &Pubkey, features: FeatureSet) -> Option<Arc<Program>> {
    let account = svm.shared_account(key)?;
    match svm.program_cache().get(key, &account, &Accounts(svm), svm.slot(), features)? {
        ProgramEntry::Loaded(program) => Some(program),
        _ => None,
    }
}

fn load(elf: &[u8], loader: Loader, features: FeatureSet) -> Result<Arc<Program>> {
    let environment = elf_environment(features, Purpose::Execution);
    Ok(Arc::new(Program::load(elf, loader, &environment)?))
}
