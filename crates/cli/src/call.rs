//! Calls of programs of the command line: the program, the instruction with its accounts, and what is
//! around them: other programs, a cluster, features.

use std::{collections::BTreeSet, ffi::OsStr, path::Path};

use anyhow::{Context as _, Result, anyhow};
use selkie::{Account, Instruction, ProgramError, Pubkey, Svm};
use selkie_case::Case;
use selkie_client::{Cluster, data, instruction_file::InstructionFile, programs};
use selkie_replay::ReplayFile;
use selkie_svm::{AccountMeta, ComputeBudget, Loader};

use crate::{
    args::{call::CallArgs, program::STATE_FILE, send::split_flags},
    names::{self, Names},
    program::{ProgramFile, Refused, read},
    ui::{Advise as _, Ui},
};

/// A call of a program.
pub(crate) struct Call<'a> {
    program: &'a Path,
    loader: Loader,
    pub(crate) file: ProgramFile,
    pub(crate) input: InstructionFile,
    pub(crate) names: Names,
    /// The chain before the program is added: that of the arguments or a new one, with the features and
    /// the other programs of the command line.
    svm: Svm,
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
        let svm = svm.unwrap_or_default();
        let rules = args.features.of(svm.rules());
        let budget = ComputeBudget { compute_unit_limit: args.limit, heap_bytes: args.heap };
        let mut svm = svm.with_rules(rules).with_instruction_budget(budget);
        names.give_to(&mut svm);
        let Ok(()) = add_other_programs(ui, args, &names, &mut svm)? else {
            return Ok(Err(Refused));
        };
        Ok(Ok(Self { program, loader: args.loader.into(), file, input, names, svm }))
    }

    /// Returns the chain with the program.
    ///
    /// # Errors
    ///
    /// A program that does not load.
    pub(crate) fn chain(&self) -> Result<Svm, ProgramError> {
        let mut svm = self.svm.clone();
        let id = self.input.instruction.program_id;
        svm.add_program_with_loader(id, self.file.elf.as_slice(), self.loader)?;
        Ok(svm)
    }

    /// Returns the instruction with the state that it needs of the chain.
    pub(crate) fn case(&self, chain: &Svm) -> Case {
        let (instructions, accounts) = self.instruction();
        chain.instructions_case(instructions, &accounts)
    }

    /// Returns the instruction with the state before it and its result.
    ///
    /// # Errors
    ///
    /// A program that does not load.
    pub(crate) fn replay(&self) -> Result<ReplayFile> {
        let shown = self.program.display();
        let chain = self.chain().with_context(|| format!("{shown} cannot be run"));
        let chain = chain.advise(format!("`selkie check {shown} --execution` says more"))?;
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let (instructions, accounts) = self.instruction();
        let replay = ReplayFile::from(chain.record_instructions(&name, instructions, &accounts));
        Ok(match self.file.debug_path() {
            None => replay,
            Some(debug) => {
                replay.with_symbols(std::path::absolute(debug).unwrap_or_else(|_| debug.to_owned()))
            }
        })
    }

    /// Returns the instruction, and the accounts that were given with it, except that of the program.
    fn instruction(&self) -> (&[Instruction], Vec<(Pubkey, Account)>) {
        let InstructionFile { instruction, accounts } = &self.input;
        let given = accounts.iter().filter(|(key, _)| *key != instruction.program_id);
        (core::slice::from_ref(instruction), given.cloned().collect())
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

/// Adds the other programs of the command line, which are arguments `KEY=FILE`.
fn add_other_programs(
    ui: &mut Ui,
    args: &CallArgs,
    names: &Names,
    svm: &mut Svm,
) -> Result<Result<(), Refused>> {
    for text in &args.programs {
        let pair = text.split_once('=').ok_or_else(|| anyhow!("expected KEY=FILE, not `{text}`"));
        let (key, path) = pair.advise("for example --program token=my_token.so")?;
        let key = names.address(key).context("--program")?;
        let Ok(file) = ProgramFile::open(ui, Path::new(path), &args.assembler)? else {
            return Ok(Err(Refused));
        };
        let added = svm.add_program(key, file.elf.as_slice()).with_context(|| path.to_owned());
        added.advise(format!("`selkie check {path} --execution` says more"))?;
    }
    Ok(Ok(()))
}
