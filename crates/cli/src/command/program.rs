//! `selkie program`, and `selkie deploy`.

mod show;

use std::{io::Write as _, path::Path};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie::{
    DeployError, DeployOptions, Deployment, FailedTransaction, Keypair, Pubkey,
    ReadableAccount as _, Receipt, Signer as _, Svm, loader, loader::State, program_data_key,
};
use serde_json::json;

use crate::{
    args::program::{
        CloseArgs, DeployArgs, DumpArgs, ExtendArgs, ProgramArgs, ProgramCommand, SetAuthorityArgs,
        UpgradeArgs,
    },
    cluster::{Cluster, Signers},
    keys,
    program::ProgramFile,
    ui::{Advise as _, BAD, GOOD, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &ProgramArgs) -> Result<Status> {
    match &args.command {
        ProgramCommand::Show(args) => show::run(ui, args),
        ProgramCommand::Dump(args) => dump(ui, args),
        ProgramCommand::Deploy(args) => deploy(ui, args),
        ProgramCommand::Upgrade(args) => upgrade(ui, args),
        ProgramCommand::Extend(args) => extend(ui, args),
        ProgramCommand::Close(args) => close(ui, args),
        ProgramCommand::SetAuthority(args) => set_authority(ui, args),
    }
}

/// Deploys a program, or upgrades it if it is there.
pub(crate) fn deploy(ui: &mut Ui, args: &DeployArgs) -> Result<Status> {
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let mut cluster = Cluster::open_or_create(ui, &args.state)?;
    let signers = cluster.signers(ui, &args.signers)?;
    let (id, key) = program_key(ui, args)?;
    let outcome = if is_program(&cluster.svm, &id) {
        refuse_options_of_the_first(args)?;
        let Signers { payer, authority } = &signers;
        cluster.svm.upgrade_with(&id, &file.elf, authority, payer, true)
    } else {
        let key = key.ok_or_else(|| anyhow!("a new program needs the key of its address"));
        let key = key.advise("name the file of the key: --program-id FILE")?;
        let options = DeployOptions {
            file_bytes_max: args.max_len,
            is_final: args.is_final,
            ..DeployOptions::default()
        };
        let Signers { payer, authority } = &signers;
        cluster.svm.deploy_with(&key, &file.elf, authority, payer, &options)
    };
    finish(ui, &cluster, outcome)
}

/// The address of the program to deploy, and its key if there is one.
fn program_key(ui: &mut Ui, args: &DeployArgs) -> Result<(Pubkey, Option<Keypair>)> {
    let key = match &args.program_id {
        Some(text) if !Path::new(text).exists() => return Ok((keys::address(text)?, None)),
        Some(path) => keys::read(Path::new(path))?,
        None => {
            let stem = args.program.file_stem().unwrap_or_default().to_string_lossy();
            let beside = args.program.with_file_name(format!("{stem}-keypair.json"));
            keys::read_or_create(ui, &beside)?
        }
    };
    Ok((key.pubkey(), Some(key)))
}

/// What only a first deployment can decide.
fn refuse_options_of_the_first(args: &DeployArgs) -> Result<()> {
    if args.max_len.is_some() {
        return Err(anyhow!("the program is there already, and --max-len is for new ones"))
            .advise("`selkie program extend PROGRAM BYTES` makes room");
    }
    if args.is_final {
        return Err(anyhow!("the program is there already, and --final is for new ones"))
            .advise("`selkie program set-authority PROGRAM --final`, once it is upgraded");
    }
    Ok(())
}

fn is_program(svm: &Svm, id: &Pubkey) -> bool {
    svm.shared_account(id).is_some_and(|account| {
        *account.owner() == loader::ID
            && matches!(State::of_data(account.data()), Some(State::Program { .. }))
    })
}

fn upgrade(ui: &mut Ui, args: &UpgradeArgs) -> Result<Status> {
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let id = keys::address(&args.id)?;
    let mut cluster = Cluster::open(&args.state)?;
    let Signers { payer, authority } = cluster.signers(ui, &args.signers)?;
    let outcome = cluster.svm.upgrade_with(&id, &file.elf, &authority, &payer, true);
    finish(ui, &cluster, outcome)
}

/// Shows what became of a deployment. What was sent before a failure stays sent.
fn finish(
    ui: &mut Ui,
    cluster: &Cluster,
    outcome: Result<Deployment, DeployError>,
) -> Result<Status> {
    if let Ok(_) | Err(DeployError::Failed(_)) = &outcome {
        cluster.save()?;
    }
    match outcome {
        Ok(deployment) if ui.json => {
            ui.object(&json!({
                "program": deployment.program.to_string(),
                "program_data": deployment.program_data.to_string(),
                "authority": deployment.authority.map(|key| key.to_string()),
                "file_bytes": deployment.file_bytes,
                "file_bytes_max": deployment.file_bytes_max,
                "slot": deployment.slot,
                "rent": deployment.rent,
                "fees": deployment.fees,
                "cost": deployment.cost,
                "transactions": deployment.transactions.len(),
            }))?;
            Ok(Status::Success)
        }
        Ok(deployment) => {
            writeln!(ui.out, "{GOOD}deployed{GOOD:#}")?;
            for line in deployment.to_string().lines() {
                writeln!(ui.out, "  {line}")?;
            }
            Ok(Status::Success)
        }
        Err(DeployError::Failed(failed)) => fail(ui, &failed),
        Err(error) => refuse(ui, &error.to_string()),
    }
}

fn refuse(ui: &mut Ui, why: &str) -> Result<Status> {
    if ui.json {
        ui.object(&json!({ "refused": why }))?;
    } else {
        writeln!(ui.out, "{BAD}refused{BAD:#} {why}")?;
    }
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

/// Shows what became of a single transaction, and keeps it.
fn finish_one(
    ui: &mut Ui,
    cluster: &Cluster,
    outcome: Result<std::sync::Arc<Receipt>, FailedTransaction>,
    done: &str,
) -> Result<Status> {
    cluster.save()?;
    match outcome {
        Ok(receipt) if ui.json => {
            let fee = receipt.fee.total();
            ui.object(&json!({ "done": done, "fee": fee, "units": receipt.units }))?;
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
    let id = keys::address(&args.id)?;
    let mut cluster = Cluster::open(&args.state)?;
    let Signers { payer, .. } = cluster.signers(ui, &args.signers)?;
    let outcome = cluster.svm.extend_program(&id, args.bytes, &payer);
    let done = format!("{id} has room for {} bytes more", args.bytes);
    finish_one(ui, &cluster, outcome, &done)
}

fn close(ui: &mut Ui, args: &CloseArgs) -> Result<Status> {
    let id = keys::address(&args.id)?;
    let mut cluster = Cluster::open(&args.state)?;
    let Signers { payer, authority } = cluster.signers(ui, &args.signers)?;
    let recipient = match &args.recipient {
        Some(text) => keys::address(text)?,
        None => payer.pubkey(),
    };
    let instruction = if is_program(&cluster.svm, &id) {
        loader::close_program(&id, &recipient, &authority.pubkey())
    } else {
        loader::close_buffer(&id, &recipient, &authority.pubkey())
    };
    let outcome = cluster.svm.send_instructions(&[instruction], &both(&payer, &authority));
    let done = format!("{id} is closed, and {recipient} has its lamports");
    finish_one(ui, &cluster, outcome, &done)
}

fn set_authority(ui: &mut Ui, args: &SetAuthorityArgs) -> Result<Status> {
    let id = keys::address(&args.id)?;
    let mut cluster = Cluster::open(&args.state)?;
    let Signers { payer, authority } = cluster.signers(ui, &args.signers)?;
    let new = args.new_authority.as_deref().map(keys::address).transpose()?;
    let account = if is_program(&cluster.svm, &id) { program_data_key(&id) } else { id };
    let instruction = loader::set_authority(&account, &authority.pubkey(), new.as_ref());
    let outcome = cluster.svm.send_instructions(&[instruction], &both(&payer, &authority));
    let done = match new {
        Some(new) => format!("{new} is the authority of {id}"),
        None => format!("nobody can change {id} any more"),
    };
    finish_one(ui, &cluster, outcome, &done)
}

/// Who signs: one, if both are the same.
fn both<'k>(payer: &'k Keypair, authority: &'k Keypair) -> Vec<&'k dyn selkie::Signer> {
    let mut signers: Vec<&dyn selkie::Signer> = vec![payer];
    if payer.pubkey() != authority.pubkey() {
        signers.push(authority);
    }
    signers
}

fn dump(ui: &mut Ui, args: &DumpArgs) -> Result<Status> {
    let id = keys::address(&args.program)?;
    let cluster = Cluster::open(&args.state)?;
    let Some(entry) = show::find(&cluster.svm, &id) else {
        bail!("there is no program and no buffer at {id}");
    };
    let file = entry.file(&cluster.svm);
    let path = &args.output;
    std::fs::write(path, &file).with_context(|| format!("cannot write {}", path.display()))?;
    if ui.json {
        ui.object(&json!({ "program": id.to_string(), "bytes": file.len() }))?;
    } else {
        let shown = path.display();
        writeln!(ui.out, "{GOOD}dumped{GOOD:#} {id} to {shown}  {} bytes", file.len())?;
    }
    Ok(Status::Success)
}
