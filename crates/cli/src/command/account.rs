//! `selkie account`.

use selkie_client::{amount, data, known};
use std::{fs, io::Write as _};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie::{Account, Pubkey, ReadableAccount as _, account_json, ids, programs};
use serde_json::{Value, json};

use crate::{
    args::{
        account::{AccountArgs, AccountCommand, DumpArgs, LoadArgs, SetArgs, ShowArgs},
        send::SessionArgs,
    },
    changes::AccountChange,
    program::read,
    session::Session,
    ui::{Advise as _, DIM, GOOD, STRONG, Status, Ui},
};

/// The most bytes of data that an account has (agave: `MAX_PERMITTED_DATA_LENGTH`).
const DATA_BYTES_MAX: usize = 10 << 20;

pub(crate) fn run(ui: &mut Ui, args: &AccountArgs) -> Result<Status> {
    match &args.command {
        AccountCommand::List(args) => list_all(ui, &args.session, args.owner.as_deref()),
        AccountCommand::Show(args) => show(ui, args),
        AccountCommand::Set(args) => set(ui, args),
        AccountCommand::Dump(args) => dump(ui, args),
        AccountCommand::Load(args) => load(ui, args),
    }
}

fn list_all(ui: &mut Ui, args: &SessionArgs, owner: Option<&str>) -> Result<Status> {
    let mut session = Session::open(args)?.without_payer()?;
    if session.cluster().is_copy() {
        return Err(anyhow!("a running cluster has too many accounts to list"))
            .advise("name accounts: `selkie account show KEY --url URL`");
    }
    list(ui, &session, owner)
}

fn show(ui: &mut Ui, args: &ShowArgs) -> Result<Status> {
    if args.accounts.is_empty() {
        return list_all(ui, &args.session, args.owner.as_deref());
    }
    let mut session = Session::open(&args.session)?.without_payer()?;
    let keys = args.accounts.iter().map(|text| session.names.address(text));
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    session.cluster().fetch(&keys)?;
    let accounts = keys.iter().map(|key| Ok((*key, existing(&session, key)?)));
    let accounts = accounts.collect::<Result<Vec<_>>>()?;
    let mints: Vec<Pubkey> = accounts.iter().filter_map(|(_, it)| known::mint_of(it)).collect();
    session.cluster().fetch(&mints)?;
    if !ui.json {
        accounts.iter().try_for_each(|(key, account)| show_one(ui, &session, key, account))?;
        return Ok(Status::Success);
    }
    let mut values = accounts.iter().map(|(key, account)| {
        let mut value = account_json(key, account);
        value["decoded"] = known::json(&known::fields(session.svm(), &session.names, key, account));
        value
    });
    let value =
        if accounts.len() == 1 { values.next().unwrap_or_default() } else { values.collect() };
    ui.object(&value)?;
    Ok(Status::Success)
}

fn existing(session: &Session, key: &Pubkey) -> Result<Account> {
    let shown = session.names.show(key);
    let account = session.svm().account(key).ok_or_else(|| anyhow!("no account at {shown}"));
    let similar = session.names.similar(key, session.svm());
    account.advise(match similar {
        Some((name, address)) => format!("there is one at {name} ({address})"),
        None => "`selkie account list` lists them; `selkie account set` creates one".to_owned(),
    })
}

fn show_one(ui: &mut Ui, session: &Session, key: &Pubkey, account: &Account) -> Result<()> {
    writeln!(ui.out, "{STRONG}account{STRONG:#} {}", session.names.show(key))?;
    let mut rows = vec![
        ("balance", amount::sol(account.lamports)),
        ("owner", session.names.show(&account.owner)),
        ("data", format!("{} bytes", account.data.len())),
    ];
    if account.executable {
        rows.push(("executable", "yes".to_owned()));
    }
    for (name, value) in rows {
        writeln!(ui.out, "  {DIM}{name:<12}{DIM:#} {value}")?;
    }
    match known::fields(session.svm(), &session.names, key, account) {
        Some(decoded) => {
            writeln!(ui.out, "  {STRONG}{}{STRONG:#}", decoded.type_name)?;
            for (name, value) in decoded.fields {
                writeln!(ui.out, "    {DIM}{name:<22}{DIM:#} {value}")?;
            }
        }
        None => show_bytes(ui, &account.data)?,
    }
    Ok(())
}

/// Shows the first 256 bytes of data, 16 per line.
fn show_bytes(ui: &mut Ui, data: &[u8]) -> Result<()> {
    const LINE: usize = 16;
    const SHOWN: usize = 256;
    for (index, line) in data.chunks(LINE).take(SHOWN / LINE).enumerate() {
        let words: Vec<String> = line.chunks(4).map(hex::encode).collect();
        let printable = |byte: &u8| if (b' '..=b'~').contains(byte) { *byte as char } else { '.' };
        let text: String = line.iter().map(printable).collect();
        writeln!(ui.out, "  {DIM}{:06x}{DIM:#}  {:<35}  {text}", index * LINE, words.join(" "))?;
    }
    if data.len() > SHOWN {
        let more = data.len() - SHOWN;
        writeln!(ui.out, "  … {more} more bytes; `selkie account dump` writes all")?;
    }
    Ok(())
}

/// Whether an account exists in every new cluster.
fn is_genesis_account(key: &Pubkey, account: &selkie::AccountSharedData) -> bool {
    [ids::native_loader::ID, ids::sysvar::ID, ids::feature::ID].contains(account.owner())
        || selkie::RUNTIME_ACCOUNTS.contains(key)
        || programs::accounts::WellKnownAccount::of(key).is_some()
}

fn list(ui: &mut Ui, session: &Session, owner: Option<&str>) -> Result<Status> {
    let owner = owner.map(|text| session.names.address(text)).transpose()?;
    let is_wanted = |(key, account): &(Pubkey, &selkie::AccountSharedData)| match &owner {
        Some(owner) => account.owner() == owner,
        None => !is_genesis_account(key, account),
    };
    let accounts: Vec<_> = session.svm().accounts().filter(is_wanted).collect();
    if ui.json {
        let values = accounts.iter().map(|(key, account)| {
            json!({
                "pubkey": key.to_string(),
                "name": session.names.label(key),
                "lamports": account.lamports(),
                "owner": account.owner().to_string(),
                "space": account.data().len(),
            })
        });
        ui.object(&values.collect::<Value>())?;
        return Ok(Status::Success);
    }
    if accounts.is_empty() {
        writeln!(ui.out, "no accounts")?;
    }
    for (key, account) in accounts {
        let owner = session.names.label(account.owner()).unwrap_or(account.owner().to_string());
        let name = session.names.label(&key).map_or(String::new(), |name| format!("  ({name})"));
        let (balance, bytes) = (amount::sol(account.lamports()), account.data().len());
        writeln!(ui.out, "{key:<44}  {balance:>18}  {bytes:>8} bytes  {owner}{name}")?;
    }
    Ok(Status::Success)
}

fn set(ui: &mut Ui, args: &SetArgs) -> Result<Status> {
    let mut session = Session::open_or_new(&args.session)?.without_payer()?;
    let key = session.names.address(&args.account)?;
    let before = session.account(&key)?;
    let after = changed(&session, args, before.clone())?;
    session.cluster().set_account(key, after.clone())?;
    session.save(ui)?;
    let change = AccountChange { key: &key, before: before.unwrap_or_default(), after };
    if ui.json {
        ui.object(&change.json())?;
    } else {
        change.show(ui, &session.names.show(&key), &|key| session.names.show(key))?;
    }
    Ok(Status::Success)
}

/// Returns the account with the changes that the arguments ask for.
fn changed(session: &Session, args: &SetArgs, before: Option<Account>) -> Result<Account> {
    let is_new = before.is_none();
    let new = || Account { rent_epoch: u64::MAX, ..Account::default() };
    let mut account = before.unwrap_or_else(new);
    if let Some(owner) = &args.owner {
        account.owner = session.names.address(owner)?;
    }
    if let Some(text) = &args.data {
        let bytes = data::parse(text, &|key| session.names.address(key))?;
        write_data(&mut account.data, args.offset, &bytes)?;
    }
    let space = args.space.unwrap_or(account.data.len());
    if space > DATA_BYTES_MAX {
        bail!("an account has at most {DATA_BYTES_MAX} bytes of data, not {space}");
    }
    account.data.resize(space, 0);
    account.executable = args.executable.unwrap_or(account.executable);
    let sol = args.sol.as_deref().map(amount::parse_sol).transpose()?;
    account.lamports = match sol.or(args.lamports) {
        Some(lamports) => lamports,
        None if is_new => session.svm().minimum_balance_for_rent_exemption(account.data.len()),
        None => account.lamports,
    };
    Ok(account)
}

/// Replaces all data, or writes bytes at an offset.
fn write_data(data: &mut Vec<u8>, offset: Option<usize>, bytes: &[u8]) -> Result<()> {
    let Some(offset) = offset else {
        *data = bytes.to_vec();
        return Ok(());
    };
    let len = data.len();
    let range = offset.checked_add(bytes.len()).and_then(|end| data.get_mut(offset..end));
    let range = range.ok_or_else(|| {
        let new = bytes.len();
        anyhow!("the account has {len} bytes of data: {new} bytes at offset {offset} do not fit")
    });
    range.advise("--space extends the data")?.copy_from_slice(bytes);
    Ok(())
}

fn dump(ui: &mut Ui, args: &DumpArgs) -> Result<Status> {
    let mut session = Session::open(&args.session)?.without_payer()?;
    let key = session.names.address(&args.account)?;
    session.cluster().fetch(&[key])?;
    existing(&session, &key)?;
    let text = session.svm().account_json(&key).map_err(|error| anyhow!("{error}"))?;
    let Some(path) = &args.output else {
        write!(ui.out, "{text}")?;
        return Ok(Status::Success);
    };
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let shown = session.names.show(&key);
    if ui.json {
        ui.object(&json!({ "pubkey": key.to_string(), "file": path }))?;
    } else {
        writeln!(ui.out, "{GOOD}dumped{GOOD:#} {shown} to {}", path.display())?;
    }
    Ok(Status::Success)
}

fn load(ui: &mut Ui, args: &LoadArgs) -> Result<Status> {
    let mut session = Session::open_or_new(&args.session)?.without_payer()?;
    let mut loaded = Vec::new();
    for path in &args.files {
        let text = String::from_utf8(read(path)?);
        let text = text.with_context(|| format!("{} is not text", path.display()))?;
        let key = session.svm_mut().load_account_json(&text);
        let key = key.map_err(|error| anyhow!("{}: {error}", path.display()));
        let key = key.advise("write such a file with `solana account KEY --output json`")?;
        if let (true, Some(account)) = (session.cluster().is_copy(), session.svm().account(&key)) {
            session.cluster().set_account(key, account)?;
        }
        loaded.push(key);
    }
    session.save(ui)?;
    if ui.json {
        let keys: Vec<String> = loaded.iter().map(ToString::to_string).collect();
        ui.object(&json!({ "loaded": keys }))?;
    } else {
        for key in loaded {
            writeln!(ui.out, "{GOOD}loaded{GOOD:#} {}", session.names.show(&key))?;
        }
    }
    Ok(Status::Success)
}
