//! Calls of programs of the command line: the program, the instruction with its accounts, and what is
//! around them: other programs, a cluster, features.

use std::{collections::BTreeSet, ffi::OsStr, path::Path, sync::Arc};

use anyhow::{Context as _, Result, anyhow};
use selkie::{Pubkey, Svm};
use selkie_builtins::{builtins, precompiles};
use selkie_client::{Cluster, data, instruction_file::InstructionFile, programs};
use selkie_replay::ReplayFile;
use selkie_svm::{
    AccountMeta, ComputeBudget, Environment, FeatureSet, Loader, Program, Purpose, Rules,
    elf_environment,
};

use crate::{
    args::{call::CallArgs, program::STATE_FILE, send::split_flags},
    names::{self, Names},
    program::{ProgramFile, Refused, read},
    ui::{Advise as _, Ui},
};

/// A call of a program.
pub(crate) struct Call<'a> {
    program: &'a Path,
    args: &'a CallArgs,
    pub(crate) file: ProgramFile,
    pub(crate) input: InstructionFile,
    /// The features, and the programs that the program can call; not the program itself.
    pub(crate) environment: Environment,
    pub(crate) names: Names,
    /// The cluster that accounts are taken from.
    svm: Option<Svm>,
    /// The other programs of the command line.
    others: Vec<(Pubkey, ProgramFile)>,
}

impl<'a> Call<'a> {
    /// Reads what the arguments name. Of sources with errors these are shown, and `Refused` is returned.
    pub(crate) fn open(
        ui: &mut Ui,
        program: &'a Path,
        args: &'a CallArgs,
        url: Option<&str>,
    ) -> Result<Result<Self, Refused>> {
        names::refuse_address(program)?;
        let saved = saved(args)?;
        let (mut input, mut names) = input(args, url)?;
        let svm = match url {
            Some(url) => Some(copy(url, &input)?),
            None => saved,
        };
        if let Some(svm) = &svm {
            add_saved(&mut input, svm);
        }
        let Ok(file) = ProgramFile::open(ui, program, &args.assembler)? else {
            return Ok(Err(Refused));
        };
        place(ui, program, &file, svm.as_ref(), &mut input, &mut names)?;
        let Ok(others) = other_programs(ui, args, &names)? else { return Ok(Err(Refused)) };
        let environment = environment(args, &input, svm.as_ref(), &others)?;
        Ok(Ok(Self { program, args, file, input, environment, names, svm, others }))
    }

    /// Returns the limits of the call.
    pub(crate) fn budget(&self) -> ComputeBudget {
        ComputeBudget { compute_unit_limit: self.args.limit, heap_bytes: self.args.heap }
    }

    /// Returns the loader that owns the program.
    pub(crate) fn loader(&self) -> Loader {
        self.args.loader.into()
    }

    /// Returns the instruction with the state before it.
    ///
    /// # Errors
    ///
    /// A program that does not load.
    pub(crate) fn replay(&self) -> Result<ReplayFile> {
        let svm = self.svm.clone().unwrap_or_default();
        let mut svm =
            svm.with_rules(self.environment.rules()).with_instruction_budget(self.budget());
        self.names.give_to(&mut svm);
        let InstructionFile { instruction, accounts } = &self.input;
        let id = instruction.program_id;
        let elf = self.file.elf.as_slice();
        let added = svm.add_program_with_loader(id, elf, self.loader());
        let shown = self.program.display();
        let added = added.with_context(|| format!("{shown} cannot be run"));
        added.advise(format!("`selkie check {shown} --execution` says more"))?;
        for (key, other) in &self.others {
            let added = svm.add_program(*key, other.elf.as_slice());
            added.with_context(|| format!("the program {}", self.names.show(key)))?;
        }
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let own = accounts.iter().filter(|(key, _)| *key != id).cloned().collect::<Vec<_>>();
        let instructions = core::slice::from_ref(instruction);
        let replay = ReplayFile::from(svm.record_instructions(&name, instructions, &own));
        Ok(match self.file.debug_path() {
            None => replay,
            Some(debug) => {
                replay.with_symbols(std::path::absolute(debug).unwrap_or_else(|_| debug.to_owned()))
            }
        })
    }
}

/// Returns a copy of what the instruction needs of a running cluster.
fn copy(url: &str, input: &InstructionFile) -> Result<Svm> {
    let mut copy = Cluster::copy(url, Path::new(""))?;
    let keys: Vec<Pubkey> = input.instruction.accounts.iter().map(|it| it.pubkey).collect();
    copy.fetch(&keys)?;
    Ok(copy.svm)
}

/// Returns the saved cluster.
fn saved(args: &CallArgs) -> Result<Option<Svm>> {
    let Some(path) = &args.state else { return Ok(None) };
    let saved =
        Svm::load(path).with_context(|| format!("cannot load the cluster in {}", path.display()));
    saved.map(Some).advise("create a cluster with `selkie deploy PROGRAM` or `selkie airdrop`")
}

/// Returns the instruction of the command line, with its accounts from files, and the names of accounts
/// and of the program.
fn input(args: &CallArgs, url: Option<&str>) -> Result<(InstructionFile, Names)> {
    let names = names(args, url)?;
    let mut input = match &args.input {
        Some(path) => InstructionFile::read(path)?,
        None => InstructionFile::default(),
    };
    for text in &args.accounts {
        add_account(&mut input, &names, text)?;
    }
    if let Some(data) = &args.data {
        input.instruction.data = data::parse(data, &|key| names.address(key))?;
    }
    if let Some(key) = &args.program_id {
        input.instruction.program_id = names.address(key)?;
    }
    Ok((input, names))
}

fn names(args: &CallArgs, url: Option<&str>) -> Result<Names> {
    match (&args.state, url) {
        (Some(state), _) => Ok(Names::load(state)?),
        (None, Some(_)) => Ok(Names::load(Path::new(STATE_FILE))?),
        (None, None) => Ok(Names::well_known()),
    }
}

/// Names the program after its file. Unless its address was given, it is that of the saved cluster's
/// program with the same bytes, or else with the same name.
fn place(
    ui: &mut Ui,
    program: &Path,
    file: &ProgramFile,
    saved: Option<&Svm>,
    input: &mut InstructionFile,
    names: &mut Names,
) -> Result<()> {
    let stem = program.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let id = &mut input.instruction.program_id;
    if let Some(svm) = saved.filter(|_| *id == InstructionFile::default().instruction.program_id)
        && let Some(found) = programs::of_file(svm, &file.elf, stem, names)
    {
        *id = found;
        ui.aside(&format!("as the program {}\n", names.show(id)))?;
    }
    if names.label(id).is_none() && !stem.is_empty() {
        names.add_own(*id, stem);
    }
    Ok(())
}

/// Adds an account from a file, or a reference to one by address.
fn add_account(input: &mut InstructionFile, names: &Names, text: &str) -> Result<()> {
    let (key, flags) = split_flags(text);
    let path = Path::new(key);
    // A key file is a list of numbers, and refers to its address.
    let is_account = path.is_file() && read(path)?.trim_ascii_start().first() != Some(&b'[');
    if is_account {
        return Ok(input.add_account_file(text)?);
    }
    let meta = AccountMeta {
        pubkey: names.address(key).context("--accounts")?,
        is_signer: flags.contains('s'),
        is_writable: !flags.contains('r'),
    };
    input.instruction.accounts.push(meta);
    Ok(())
}

/// Adds the instruction's accounts of a cluster, except those that it has already.
fn add_saved(input: &mut InstructionFile, svm: &Svm) {
    let mut known: BTreeSet<Pubkey> = input.accounts.iter().map(|(key, _)| *key).collect();
    for meta in &input.instruction.accounts {
        if known.insert(meta.pubkey)
            && let Some(account) = svm.account(&meta.pubkey)
        {
            input.accounts.push((meta.pubkey, account));
        }
    }
}

/// Returns the features and the programs that the program can call.
fn environment(
    args: &CallArgs,
    input: &InstructionFile,
    svm: Option<&Svm>,
    others: &[(Pubkey, ProgramFile)],
) -> Result<Environment> {
    let Rules { features, release } = args.features.of(svm.map_or_else(Rules::mainnet, Svm::rules));
    let given = svm.map(|svm| svm.environment().clone()).unwrap_or_default();
    let mut environment = Environment {
        features,
        release,
        builtins: builtins(features),
        precompiles: precompiles(),
        ..given
    };
    for ((key, file), text) in others.iter().zip(&args.programs) {
        let path = text.split_once('=').map_or("", |(_, path)| path);
        let program = load(&file.elf, Loader::V3, features).with_context(|| path.to_owned());
        let program = program.advise(format!("`selkie check {path} --execution` says more"))?;
        environment.programs.insert(*key, program);
    }
    // Without a saved cluster, take the well-known programs from a new one.
    let new = Svm::new();
    for AccountMeta { pubkey, .. } in &input.instruction.accounts {
        if environment.programs.get(pubkey).is_none()
            && let Some(program) = programs::loaded(svm.unwrap_or(&new), pubkey, features)
        {
            environment.programs.insert(*pubkey, program);
        }
    }
    Ok(environment)
}

/// Reads the other programs of the command line, which are arguments `KEY=FILE`.
fn other_programs(
    ui: &mut Ui,
    args: &CallArgs,
    names: &Names,
) -> Result<Result<Vec<(Pubkey, ProgramFile)>, Refused>> {
    let mut programs = Vec::new();
    for text in &args.programs {
        let pair = text.split_once('=').ok_or_else(|| anyhow!("expected KEY=FILE, not `{text}`"));
        let (key, path) = pair.advise("for example --program token=my_token.so")?;
        let key = names.address(key).context("--program")?;
        let Ok(file) = ProgramFile::open(ui, Path::new(path), &args.assembler)? else {
            return Ok(Err(Refused));
        };
        programs.push((key, file));
    }
    Ok(Ok(programs))
}

fn load(elf: &[u8], loader: Loader, features: FeatureSet) -> Result<Arc<Program>> {
    let environment = elf_environment(features, Purpose::Execution);
    Ok(Arc::new(Program::load(elf, loader, &environment)?))
}
