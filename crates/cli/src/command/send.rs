//! `selkie send` and `selkie airdrop`.

mod instructions;
mod transaction;

use selkie_client::{amount, lookup_addresses, sign};
use std::{io::Write as _, path::Path};

use anyhow::{Result, anyhow};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{
    AddressLookupTableAccount, Keypair, Message, Pubkey, VersionedMessage, VersionedTransaction,
    ids, v0,
};
use selkie_layout::compute_budget::{self, ComputeBudgetInstruction};
use selkie_replay::ReplayFile;
use serde_json::json;

use self::instructions::Instructions;
use crate::{
    args::send::{AirdropArgs, SendArgs},
    effects, files,
    names::Payer,
    program::read,
    sent::{self, How},
    session::Session,
    ui::{Advise as _, GOOD, Status, Ui},
};

/// The parsed input of `selkie send`.
enum Input {
    Instructions(Instructions),
    Transaction(VersionedTransaction),
}

pub(crate) fn run(ui: &mut Ui, args: &SendArgs) -> Result<Status> {
    ui.show_raw(args.raw);
    let mut session = Session::open_or_new(&args.session)?;
    let payer = session.payer()?;
    let mut keys: Vec<Keypair> = payer.key.iter().map(Keypair::insecure_clone).collect();
    for signer in &args.signers {
        keys.push(session.names.signer(signer)?);
    }
    let transaction = match input(&session, args)? {
        Input::Transaction(mut transaction) => {
            ui.warn_of_effects_if(effects::SIGNED_TRANSACTION)?;
            let keys: Vec<&Keypair> = keys.iter().collect();
            sign::add_signatures(&mut transaction, &keys);
            transaction
        }
        Input::Instructions(mut instructions) => {
            keys.append(&mut instructions.keys);
            let message = compile(&mut session, args, &payer, instructions)?;
            sign::sign(message, &keys.iter().collect::<Vec<_>>())
        }
    };
    if args.sign_only {
        session.save_if_new(ui)?;
        return print(ui, &transaction);
    }
    check_signatures(&session, args, &transaction)?;
    session.cluster().fetch_for(&transaction.message)?;
    // A running cluster checks the blockhash itself: the copy has another history.
    let checks_blockhashes = !args.any_blockhash && !session.cluster().is_copy();
    let svm = session.svm_mut();
    *svm = svm
        .clone()
        .with_signature_checks(!args.skip_signatures)
        .with_blockhash_checks(checks_blockhashes);
    if let Some(path) = &args.save_replay {
        let replay = svm.record("selkie send", &transaction);
        files::write(path, ReplayFile::from(replay).to_string())?;
    }
    if args.simulate {
        let outcome = svm.simulate(&transaction);
        let receipt = outcome.unwrap_or_else(|failed| failed.receipt);
        return sent::show(ui, &receipt, &session.names, How::Simulated);
    }
    let (receipt, how) = session.execute(&transaction, args.skip_preflight)?;
    session.save(ui)?;
    sent::show(ui, &receipt, &session.names, how)
}

/// Reads the instructions or the transaction to send.
fn input(session: &Session, args: &SendArgs) -> Result<Input> {
    let names = &session.names;
    let typed = &args.instructions.0;
    let Some(text) = &args.file else {
        if typed.is_empty() {
            return Err(anyhow!("nothing to send"))
                .advise("name a program (--program KEY --accounts KEY:w --data DATA), or a file");
        }
        return Ok(Input::Instructions(Instructions::typed(names, typed)?));
    };
    if !typed.is_empty() {
        return Err(anyhow!("`{text}` and --program cannot be combined"))
            .advise("give all instructions in the file, or all with --program");
    }
    let path = Path::new(text);
    let bytes = if path.is_file() { read(path)? } else { text.clone().into_bytes() };
    let is_json = bytes.trim_ascii_start().first().is_some_and(|byte| b"{[".contains(byte));
    if is_json {
        return Ok(Input::Instructions(Instructions::json(names, &bytes, text)?));
    }
    transaction::parse(&bytes, text).map(Input::Transaction)
}

/// Compiles instructions to a legacy message, or to one of version 0 if there are lookup tables.
fn compile(
    session: &mut Session,
    args: &SendArgs,
    payer: &Payer,
    instructions: Instructions,
) -> Result<VersionedMessage> {
    let all = [budget(args), instructions.list].concat();
    let blockhash = session.cluster().blockhash()?;
    if args.lookup_table.is_empty() {
        let message = Message::new_with_blockhash(&all, Some(&payer.address), &blockhash);
        return Ok(VersionedMessage::Legacy(message));
    }
    let tables = args.lookup_table.iter().map(|text| lookup_table(session, text));
    let tables = tables.collect::<Result<Vec<_>>>()?;
    let message = v0::Message::try_compile(&payer.address, &all, &tables, blockhash)?;
    Ok(VersionedMessage::V0(message))
}

/// Returns the compute budget instructions for the arguments.
fn budget(args: &SendArgs) -> Vec<selkie::Instruction> {
    let heap = args.heap.map(|bytes| ComputeBudgetInstruction::RequestHeapFrame { bytes });
    let limit = args.limit.map(|units| ComputeBudgetInstruction::SetComputeUnitLimit { units });
    let price = args
        .price
        .map(|micro_lamports| ComputeBudgetInstruction::SetComputeUnitPrice { micro_lamports });
    let all = [heap, limit, price].into_iter().flatten();
    all.map(|it| it.instruction(&compute_budget::ID, &[])).collect()
}

fn lookup_table(session: &mut Session, text: &str) -> Result<AddressLookupTableAccount> {
    let key = session.names.address(text)?;
    let account = session.account(&key)?;
    let account = account.filter(|it| it.owner == ids::address_lookup_table::ID);
    let account = account.ok_or_else(|| anyhow!("no address lookup table at {key}"))?;
    Ok(AddressLookupTableAccount { key, addresses: lookup_addresses(&account.data) })
}

/// Fails with the addresses whose signatures are missing.
fn check_signatures(
    session: &Session,
    args: &SendArgs,
    transaction: &VersionedTransaction,
) -> Result<()> {
    let missing = sign::unsigned(transaction);
    if missing.is_empty() || args.skip_signatures {
        return Ok(());
    }
    let use_of = |key: &Pubkey| {
        let found = sign::use_of(&transaction.message, key);
        found.map_or_else(String::new, |(instruction, account)| {
            format!(", account #{account} of instruction #{instruction}")
        })
    };
    let shown: Vec<String> =
        missing.iter().map(|it| format!("{}{}", session.names.show(it), use_of(it))).collect();
    Err(anyhow!("the signature of {} is missing", shown.join("; ")))
        .advise("add the key with --signer FILE, or use --skip-signatures")
}

fn print(ui: &mut Ui, transaction: &VersionedTransaction) -> Result<Status> {
    let text = BASE64_STANDARD.encode(transaction::to_wire(transaction)?);
    if ui.json {
        let missing = sign::unsigned(transaction);
        let missing = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
        ui.object(&json!({ "transaction": text, "unsigned": missing }))?;
    } else {
        writeln!(ui.out, "{text}")?;
    }
    Ok(Status::Success)
}

/// Airdrops lamports to an account.
pub(crate) fn airdrop(ui: &mut Ui, args: &AirdropArgs) -> Result<Status> {
    let lamports = amount::parse_sol(&args.amount)?;
    let mut session = Session::open_or_new(&args.session)?;
    let recipient = match &args.recipient {
        Some(text) => {
            session = session.without_payer()?;
            session.names.address(text)?
        }
        None => session.payer()?.address,
    };
    session.cluster().airdrop(&recipient, lamports)?;
    session.save(ui)?;
    let balance = session.svm().balance(&recipient);
    if ui.json {
        let address = recipient.to_string();
        ui.object(&json!({ "address": address, "lamports": lamports, "balance": balance }))?;
    } else {
        let (given, shown) = (amount::sol(lamports), session.names.show(&recipient));
        writeln!(
            ui.out,
            "{GOOD}ok{GOOD:#} {shown} received {given}; balance {}",
            amount::sol(balance)
        )?;
    }
    Ok(Status::Success)
}
