//! `selkie program show` and `selkie program list`.

use std::io::Write as _;

use anyhow::{Result, anyhow};
use selkie::{
    AccountSharedData, Loader, Pubkey, ReadableAccount as _, Svm,
    loader::{BUFFER_HEADER_BYTES, PROGRAM_DATA_HEADER_BYTES, State},
    runtime::program_cache::{EntryKind, LOADER_V4_HEADER_BYTES},
};
use serde_json::{Value, json};

use crate::{
    args::program::StateArgs,
    cluster::Cluster,
    names,
    ui::{Advise as _, DIM, STRONG, Status, Ui},
};

/// A program, or a buffer.
pub(super) struct Entry {
    id: Pubkey,
    loader: Loader,
    /// The program's state in the cache; `None` for a buffer.
    kind: Option<EntryKind>,
    /// The account that holds the ELF file.
    holder: Pubkey,
    /// Offset of the file in that account's data.
    header: usize,
    file_bytes: usize,
    lamports: u64,
    deployed: Option<u64>,
    authority: Option<Pubkey>,
}

impl Entry {
    /// Returns the ELF file.
    pub(super) fn file(&self, svm: &Svm) -> Vec<u8> {
        let holder = svm.shared_account(&self.holder).unwrap_or_default();
        holder.data().get(self.header..).unwrap_or_default().to_vec()
    }

    /// Whether it is a closed program.
    pub(super) fn is_closed(&self) -> bool {
        self.kind == Some(EntryKind::Closed)
    }

    /// Returns the upgrade authority of a program or the authority of a buffer.
    pub(super) fn authority(&self) -> Option<Pubkey> {
        self.authority
    }

    pub(super) fn type_name(&self) -> &'static str {
        if self.kind.is_some() { "program" } else { "buffer" }
    }

    fn json(&self) -> Value {
        json!({
            "address": self.id.to_string(),
            "type": self.type_name(),
            "loader": self.loader.address().to_string(),
            "state": self.kind.map(state),
            "file_account": self.holder.to_string(),
            "file_bytes": self.file_bytes,
            "lamports": self.lamports,
            "deployed": self.deployed,
            "authority": self.authority.map(|key| key.to_string()),
        })
    }
}

/// Returns the state of a program. A command starts with an empty cache, so programs that are not
/// loaded yet are callable.
fn state(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Loaded | EntryKind::Unloaded => "callable",
        EntryKind::Builtin => "builtin",
        EntryKind::FailedVerification => "rejected by the verifier",
        EntryKind::Closed => "closed",
        EntryKind::DelayVisibility => "callable from the next slot on",
    }
}

/// Returns the program or buffer at an address.
pub(super) fn find(svm: &Svm, id: &Pubkey) -> Result<Entry> {
    let account = svm.shared_account(id);
    let found = account.as_ref().and_then(|account| of(svm, *id, account));
    let shown = svm.show(id);
    found
        .ok_or_else(|| match &account {
            None => anyhow!("no program or buffer at {shown}: no account is there"),
            Some(it) => anyhow!(
                "no program or buffer at {shown}: the account there is owned by {} and has {} bytes",
                svm.show(it.owner()),
                it.data().len()
            ),
        })
        .advise(others(svm))
}

/// Names the programs that were deployed.
fn others(svm: &Svm) -> String {
    const LISTED_MAX: usize = 4;
    let all = svm.written_accounts().filter_map(|(id, account)| of(svm, id, account));
    let all: Vec<String> = all.filter(|it| it.kind.is_some()).map(|it| svm.show(&it.id)).collect();
    match all.len() {
        0 => "`selkie deploy PROGRAM` deploys one".to_owned(),
        1..=LISTED_MAX => format!("deployed here: {}", all.join(", ")),
        _ => "`selkie program list` lists them".to_owned(),
    }
}

fn of(svm: &Svm, id: Pubkey, account: &AccountSharedData) -> Option<Entry> {
    let loader = Loader::of(account.owner())?;
    let own = |header: usize| Entry {
        id,
        loader,
        kind: svm.program_kind(&id),
        holder: id,
        header,
        file_bytes: account.data().len().saturating_sub(header),
        lamports: account.lamports(),
        deployed: None,
        authority: None,
    };
    match (loader, State::of_data(account.data())) {
        (Loader::V1 | Loader::V2, _) => Some(own(0)),
        (Loader::V4, _) => Some(own(LOADER_V4_HEADER_BYTES)),
        (Loader::V3, Some(State::Buffer { authority })) => {
            Some(Entry { kind: None, authority, ..own(BUFFER_HEADER_BYTES) })
        }
        (Loader::V3, Some(State::Program { program_data })) => {
            let entry = own(0);
            let Some(data) = svm.shared_account(&program_data) else {
                return Some(Entry { file_bytes: 0, ..entry });
            };
            let (deployed, authority) = match State::of_data(data.data()) {
                Some(State::ProgramData { slot, authority }) => (Some(slot), authority),
                _ => (None, None),
            };
            Some(Entry {
                holder: program_data,
                header: PROGRAM_DATA_HEADER_BYTES,
                file_bytes: data.data().len().saturating_sub(PROGRAM_DATA_HEADER_BYTES),
                lamports: entry.lamports.saturating_add(data.lamports()),
                deployed,
                authority,
                ..entry
            })
        }
        (Loader::V3, _) => None,
    }
}

pub(super) fn run(ui: &mut Ui, of: &StateArgs, program: Option<&str>) -> Result<Status> {
    let mut cluster = Cluster::open(of)?;
    let Some(id) = program else {
        cluster.fetch_programs()?;
        return list(ui, &cluster.svm);
    };
    let id = names::find(of, id)?;
    cluster.fetch(&[id])?;
    let svm = &cluster.svm;
    let entry = find(svm, &id)?;
    if ui.json {
        ui.object(&entry.json())?;
        return Ok(Status::Success);
    }
    writeln!(ui.out, "{STRONG}{}{STRONG:#} {}", entry.type_name(), entry.id)?;
    let sol =
        |lamports: u64| format!("{}.{:09} SOL", lamports / 1_000_000_000, lamports % 1_000_000_000);
    let authority = entry.authority.map_or("none".to_owned(), |key| key.to_string());
    let loader = format!("{} {}", loader_name(entry.loader), entry.loader.address());
    let mut rows = vec![
        ("loader", loader),
        ("file", format!("{} bytes in {}", entry.file_bytes, entry.holder)),
        ("authority", authority),
        ("balance", sol(entry.lamports)),
    ];
    if let Some(slot) = entry.deployed {
        rows.push(("deployed", format!("in slot {slot}; the current slot is {}", svm.slot())));
    }
    if let Some(kind) = entry.kind {
        rows.push(("state", state(kind).to_owned()));
    }
    for (name, value) in rows {
        writeln!(ui.out, "  {DIM}{name:<9}{DIM:#} {value}")?;
    }
    Ok(Status::Success)
}

fn loader_name(loader: Loader) -> &'static str {
    match loader {
        Loader::V1 => "v1",
        Loader::V2 => "v2",
        Loader::V3 => "v3",
        Loader::V4 => "v4",
    }
}

fn list(ui: &mut Ui, svm: &Svm) -> Result<Status> {
    let entries: Vec<Entry> =
        svm.written_accounts().filter_map(|(id, account)| of(svm, id, account)).collect();
    if ui.json {
        ui.object(&Value::Array(entries.iter().map(Entry::json).collect()))?;
        return Ok(Status::Success);
    }
    if entries.is_empty() {
        writeln!(ui.out, "no programs")?;
    }
    for entry in entries {
        let Entry { id, loader, file_bytes, kind, .. } = &entry;
        let (type_name, loader) = (entry.type_name(), loader_name(*loader));
        let state = kind.map_or("being written", state);
        writeln!(ui.out, "{id:<44}  {type_name:<7} {loader} {file_bytes:>9} bytes  {state}")?;
    }
    Ok(Status::Success)
}
