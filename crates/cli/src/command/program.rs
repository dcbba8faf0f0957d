//! `selkie program`, and `selkie deploy`.

mod show;

use selkie_client::{
    Cluster, Signers,
    programs::{self, ProgramKey, is_program, why_unchangeable},
};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, anyhow};
use selkie::{
    DeployError, DeployOptions, Deployment, FailedTransaction, Keypair, Receipt, Signer as _, Svm,
    UpgradeOptions, program_data_key,
};
use selkie_svm::{Purpose, check_file, elf_environment};
use serde_json::{Value, json};

use crate::{
    args::program::{
        CloseArgs, DeployArgs, DumpArgs, ExtendArgs, ProgramArgs, ProgramCommand, SetAuthorityArgs,
        UpgradeArgs,
    },
    command::check,
    files, keys,
    names::{self, Names},
    program::{ProgramFile, is_source},
    ui::{Advise as _, BAD, GOOD, NOTE, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &ProgramArgs) -> Result<Status> {
    match &args.command {
        ProgramCommand::List(args) => show::run(ui, &args.state, None),
        ProgramCommand::Show(args) => show::run(ui, &args.state, args.program.as_deref()),
        ProgramCommand::Dump(args) => dump(ui, args),
        ProgramCommand::Deploy(args) => deploy(ui, args),
        ProgramCommand::Upgrade(args) => upgrade(ui, args),
        ProgramCommand::Extend(args) => extend(ui, args),
        ProgramCommand::Close(args) => close(ui, args),
        ProgramCommand::SetAuthority(args) => set_authority(ui, args),
    }
}

/// Deploys a program, or upgrades it if it exists. Writes nothing before the file passed the checks
/// of deployment.
pub(crate) fn deploy(ui: &mut Ui, args: &DeployArgs) -> Result<Status> {
    names::refuse_address(&args.program)?;
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let mut cluster = args.state.open_or_new()?;
    let Some(elf) = deployable(ui, &cluster.svm, &args.program, &file)? else {
        return Ok(Status::Failure);
    };
    let ProgramKey { id, key, file: key_file } = program_key(&mut cluster, args)?;
    let Signers { payer, authority, mut files } = args.signers.choose(&mut cluster)?;
    files.extend(key_file);
    cluster.fetch(&[id, program_data_key(&id), authority.pubkey()])?;
    let outcome = if is_program(&cluster.svm, &id) {
        if programs::find(&cluster.svm, &id)?.is_closed() {
            let help = "deploy under another key: --program-id FILE";
            return refuse(
                ui,
                &format!("{id} was closed, so its address cannot be reused"),
                Some(help),
            );
        }
        reject_first_deployment_options(args)?;
        cluster.svm.upgrade_with(&id, &elf, &authority, &payer, &UpgradeOptions::default())
    } else {
        let key = key
            .as_ref()
            .ok_or_else(|| anyhow!("deploying a new program requires the key of its address"));
        let key = key.advise("name the key file: --program-id FILE")?;
        let options = DeployOptions {
            file_bytes_max: args.max_len,
            is_final: args.is_final,
            ..DeployOptions::default()
        };
        cluster.svm.deploy_with(key, &elf, &authority, &payer, &options)
    };
    let is_done = outcome.is_ok();
    let keys: Vec<&Keypair> = [&payer, &authority].into_iter().chain(&key).collect();
    let status = finish(ui, &mut cluster, outcome, &files, &keys)?;
    if is_done {
        Names::remember_program(&args.state.state, &args.program, &id)?;
    }
    Ok(status)
}

/// Returns the file to deploy, without symbols and debug information, which would cost rent. Shows
/// the error of a file that fails the checks of deployment, as `selkie check` does.
fn deployable(ui: &mut Ui, svm: &Svm, path: &Path, file: &ProgramFile) -> Result<Option<Vec<u8>>> {
    if let Err(refused) = check_file(&file.elf, svm.features(), Purpose::Deployment) {
        check::refuse(ui, path, &file.source_map(), &refused)?;
        return Ok(None);
    }
    let environment = elf_environment(svm.features(), Purpose::Deployment);
    let elf = selkie_elf::strip(&file.elf, &environment).unwrap_or_else(|| file.elf.clone());
    if !is_source(path) && elf.len() < file.elf.len() {
        let bytes = file.elf.len() - elf.len();
        ui.aside(&format!("omitted {bytes} bytes of symbols and debug information\n"))?;
    }
    Ok(Some(elf))
}

fn program_key(cluster: &mut Cluster, args: &DeployArgs) -> Result<ProgramKey> {
    let names = match &args.program_id {
        Some(_) => Names::load(&args.state.state)?,
        None => Names::well_known(),
    };
    Ok(ProgramKey::find(cluster, &names, &args.program, args.program_id.as_deref())?)
}

/// Returns the payer and the authority as signers, or one if they are the same.
fn signers_of<'k>(payer: &'k Keypair, authority: &'k Keypair) -> Vec<&'k dyn selkie::Signer> {
    let mut signers: Vec<&dyn selkie::Signer> = vec![payer];
    if payer.pubkey() != authority.pubkey() {
        signers.push(authority);
    }
    signers
}

/// Rejects options that only apply to a first deployment.
fn reject_first_deployment_options(args: &DeployArgs) -> Result<()> {
    if args.max_len.is_some() {
        return Err(anyhow!("--max-len is for new programs, but this one exists"))
            .advise("use `selkie program extend PROGRAM BYTES`");
    }
    if args.is_final {
        return Err(anyhow!("--final is for new programs, but this one exists"))
            .advise("upgrade it, then use `selkie program set-authority PROGRAM --final`");
    }
    Ok(())
}

fn upgrade(ui: &mut Ui, args: &UpgradeArgs) -> Result<Status> {
    names::refuse_address(&args.program)?;
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let id = names::find(&args.state, &args.id)?;
    let mut cluster = args.state.open()?;
    let Some(elf) = deployable(ui, &cluster.svm, &args.program, &file)? else {
        return Ok(Status::Failure);
    };
    let Signers { payer, authority, files } = args.signers.choose(&mut cluster)?;
    cluster.fetch(&[id, program_data_key(&id), authority.pubkey()])?;
    let options = UpgradeOptions::default();
    let outcome = cluster.svm.upgrade_with(&id, &elf, &authority, &payer, &options);
    finish(ui, &mut cluster, outcome, &files, &[&payer, &authority])
}

/// Shows the result of a deployment, and warns about its key files. Transactions sent before a failure
/// stay in effect, so the cluster is saved either way.
fn finish(
    ui: &mut Ui,
    cluster: &mut Cluster,
    mut outcome: Result<Deployment, DeployError>,
    key_files: &[PathBuf],
    keys: &[&Keypair],
) -> Result<Status> {
    if let Ok(_) | Err(DeployError::Failed(_)) = &outcome {
        cluster.save()?;
        ui.show_notes(cluster)?;
        key_files.iter().try_for_each(|path| keys::warn_of_git(ui, path))?;
    }
    if let Ok(deployment) = &mut outcome
        && let Some(slot) = cluster.publish(&deployment.transactions, keys)?
    {
        deployment.slot = slot;
    }
    match outcome {
        Ok(deployment) if ui.json => {
            ui.object(&as_json(&deployment))?;
            Ok(Status::Success)
        }
        Ok(deployment) => {
            let done = if deployment.is_upgrade { "upgraded" } else { "deployed" };
            writeln!(ui.out, "{GOOD}{done}{GOOD:#}")?;
            for line in deployment.to_string().lines() {
                writeln!(ui.out, "  {line}")?;
            }
            Ok(Status::Success)
        }
        Err(error) => refuse_deployment(ui, &error),
    }
}

fn as_json(deployment: &Deployment) -> Value {
    json!({
        "program": deployment.program.to_string(),
        "program_data": deployment.program_data.to_string(),
        "authority": deployment.authority.map(|key| key.to_string()),
        "upgraded": deployment.is_upgrade,
        "file_bytes": deployment.file_bytes,
        "file_bytes_max": deployment.file_bytes_max,
        "extended_bytes": deployment.extended_bytes,
        "slot": deployment.slot,
        "rent": deployment.rent,
        "fees": deployment.fees,
        "cost": deployment.cost,
        "transactions": deployment.transactions.len(),
    })
}

fn refuse_deployment(ui: &mut Ui, error: &DeployError) -> Result<Status> {
    let help = match error {
        DeployError::Failed(failed) => return fail(ui, failed),
        DeployError::NoProgram(_) => "`selkie program list` lists the programs",
        DeployError::NotAuthority { authority: Some(_), .. } => {
            "name the key file of the authority: --authority FILE"
        }
        DeployError::TooExpensive { .. } => "name another payer: --payer FILE",
        DeployError::TooLong { .. } => "--max-len must be at least the size of the file",
        DeployError::Extension { accepted: Some(_), .. } => {
            "extend by at least 10240 bytes, or up to the size limit of accounts; an upgrade \
             extends automatically"
        }
        _ => return refuse(ui, &error.to_string(), None),
    };
    refuse(ui, &error.to_string(), Some(help))
}

fn refuse(ui: &mut Ui, why: &str, help: Option<&str>) -> Result<Status> {
    if ui.json {
        ui.object(&json!({ "error": why, "help": help }))?;
        return Ok(Status::Failure);
    }
    writeln!(ui.out, "{BAD}refused{BAD:#} {why}")?;
    help.iter().try_for_each(|help| writeln!(ui.out, "{NOTE}help{NOTE:#}: {help}"))?;
    Ok(Status::Failure)
}

fn fail(ui: &mut Ui, failed: &FailedTransaction) -> Result<Status> {
    let FailedTransaction { error, receipt } = failed;
    if ui.json {
        ui.object(&json!({ "error": error.to_string(), "logs": receipt.logs }))?;
    } else {
        writeln!(ui.out, "{BAD}failed{BAD:#} {failed}")?;
    }
    Ok(Status::Failure)
}

/// Saves the cluster and shows the result of a single transaction.
fn finish_one(
    ui: &mut Ui,
    cluster: &mut Cluster,
    outcome: Result<Arc<Receipt>, FailedTransaction>,
    done: &str,
    keys: &[&Keypair],
) -> Result<Status> {
    cluster.save()?;
    ui.show_notes(cluster)?;
    if let Ok(receipt) = &outcome {
        cluster.publish(&[Arc::clone(receipt)], keys)?;
    }
    match outcome {
        Ok(receipt) if ui.json => {
            let fee = receipt.fee.total();
            ui.object(
                &json!({ "done": done, "fee": fee, "compute_units": receipt.compute_units }),
            )?;
            Ok(Status::Success)
        }
        Ok(_) => {
            writeln!(ui.out, "{GOOD}ok{GOOD:#} {done}")?;
            Ok(Status::Success)
        }
        Err(failed) => fail(ui, &failed),
    }
}

fn extend(ui: &mut Ui, args: &ExtendArgs) -> Result<Status> {
    let id = names::find(&args.state, &args.id)?;
    let mut cluster = args.state.open()?;
    let Signers { payer, .. } = args.signers.choose(&mut cluster)?;
    cluster.fetch(&[id, program_data_key(&id)])?;
    if let Err(error) = cluster.svm.check_extension(&id, args.bytes) {
        return refuse_deployment(ui, &error);
    }
    let outcome = cluster.svm.extend_program(&id, args.bytes, &payer);
    let done = format!("extended {id} by {} bytes", args.bytes);
    finish_one(ui, &mut cluster, outcome, &done, &[&payer])
}

fn close(ui: &mut Ui, args: &CloseArgs) -> Result<Status> {
    let id = names::find(&args.state, &args.id)?;
    let mut cluster = args.state.open()?;
    let Signers { payer, authority, .. } = args.signers.choose(&mut cluster)?;
    let recipient = match &args.recipient {
        Some(text) => names::find(&args.state, text)?,
        None => payer.pubkey(),
    };
    cluster.fetch(&[id, program_data_key(&id), authority.pubkey(), recipient])?;
    if let Some(why) = why_unchangeable(&cluster.svm, &id, &authority.pubkey())? {
        return refuse_deployment(ui, &why);
    }
    let instruction =
        programs::close_instruction(&cluster.svm, &id, &recipient, &authority.pubkey());
    let outcome = cluster.svm.send_instructions(&[instruction], &signers_of(&payer, &authority));
    let done = format!("closed {id}; its lamports went to {recipient}");
    finish_one(ui, &mut cluster, outcome, &done, &[&payer, &authority])
}

fn set_authority(ui: &mut Ui, args: &SetAuthorityArgs) -> Result<Status> {
    let id = names::find(&args.state, &args.id)?;
    let mut cluster = args.state.open()?;
    let Signers { payer, authority, .. } = args.signers.choose(&mut cluster)?;
    let new = args.new_authority.as_deref();
    let new = new.map(|text| names::find(&args.state, text)).transpose()?;
    cluster.fetch(&[id, program_data_key(&id), authority.pubkey()])?;
    if let Some(why) = why_unchangeable(&cluster.svm, &id, &authority.pubkey())? {
        return refuse_deployment(ui, &why);
    }
    let instruction =
        programs::authority_instruction(&cluster.svm, &id, &authority.pubkey(), new.as_ref());
    let outcome = cluster.svm.send_instructions(&[instruction], &signers_of(&payer, &authority));
    let done = match new {
        Some(new) => format!("{new} is the authority of {id}"),
        None => format!("{id} is now immutable"),
    };
    finish_one(ui, &mut cluster, outcome, &done, &[&payer, &authority])
}

fn dump(ui: &mut Ui, args: &DumpArgs) -> Result<Status> {
    let id = names::find(&args.state, &args.program)?;
    let mut cluster = args.state.open()?;
    cluster.fetch(&[id])?;
    let entry = programs::find(&cluster.svm, &id)?;
    if entry.is_closed() {
        return Err(anyhow!("the program at {id} is closed and has no file"))
            .advise("`selkie program list` lists the programs");
    }
    let file = entry.file(&cluster.svm);
    let path = &args.output;
    files::write(path, &file)?;
    if ui.json {
        ui.object(&json!({ "program": id.to_string(), "bytes": file.len() }))?;
    } else {
        let shown = path.display();
        writeln!(ui.out, "{GOOD}dumped{GOOD:#} {id} to {shown}  {} bytes", file.len())?;
    }
    Ok(Status::Success)
}
