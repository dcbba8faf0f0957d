//! Programs and buffers of a cluster.

use std::path::{Path, PathBuf};

use selkie::{
    AccountSharedData, DeployError, Instruction, Keypair, Loader, Pubkey, ReadableAccount as _,
    Signer as _, Svm,
    loader::{self, BUFFER_HEADER_BYTES, PROGRAM_DATA_HEADER_BYTES, State},
    program_data_key,
    runtime::program_cache::EntryKind,
};
use selkie_isa::failure::{Failure, OrFailure as _, Result};
use selkie_svm::{AccountStore, Purpose, elf_environment, program_cache::ProgramFile};
use serde_json::{Value, json};

use crate::{cluster::Cluster, names::Names};

/// A program, or a buffer.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The address.
    pub id: Pubkey,
    /// The loader that owns it.
    pub loader: Loader,
    /// The program's state in the cache; `None` for a buffer.
    pub kind: Option<EntryKind>,
    /// The account that holds the ELF file.
    pub holder: Pubkey,
    /// Offset of the file in that account's data.
    header: usize,
    /// The length of the file.
    pub file_bytes: usize,
    /// The balance of its accounts.
    pub lamports: u64,
    /// The slot of the last deployment.
    pub deployed: Option<u64>,
    /// The upgrade authority of a program, or the authority of a buffer.
    pub authority: Option<Pubkey>,
}

impl Entry {
    /// Returns the ELF file.
    #[must_use]
    pub fn file(&self, svm: &Svm) -> Vec<u8> {
        let holder = svm.shared_account(&self.holder).unwrap_or_default();
        holder.data().get(self.header..).unwrap_or_default().to_vec()
    }

    /// Whether it is a closed program.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.kind == Some(EntryKind::Closed)
    }

    /// Returns what it is.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        if self.kind.is_some() { "program" } else { "buffer" }
    }

    /// Returns what is known of it as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
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
#[must_use]
pub fn state(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Loaded | EntryKind::Unloaded => "callable",
        EntryKind::Builtin => "builtin",
        EntryKind::FailedVerification => "rejected by the verifier",
        EntryKind::Closed => "closed",
        EntryKind::DelayVisibility => "callable from the next slot on",
    }
}

/// Returns the program or buffer at an address.
///
/// # Errors
/// If there is none.
pub fn find(svm: &Svm, id: &Pubkey) -> Result<Entry> {
    let account = svm.shared_account(id);
    let found = account.as_ref().and_then(|account| of(svm, *id, account));
    let shown = svm.show(id);
    found
        .ok_or_else(|| match &account {
            None => Failure::new(format!("no program or buffer at {shown}: no account is there")),
            Some(it) => Failure::new(format!("no program or buffer at {shown}: the account there is owned by {} and has {} bytes",
                svm.show(it.owner()),
                it.data().len())),
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

/// Returns the program or buffer that an account is; `None` if it is another one.
#[must_use]
pub fn of(svm: &Svm, id: Pubkey, account: &AccountSharedData) -> Option<Entry> {
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
        (Loader::V1 | Loader::V2 | Loader::V4, _) => Some(own(loader.header_bytes())),
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

/// Returns whether there is a program of the upgradeable loader at an address.
#[must_use]
pub fn is_program(svm: &Svm, id: &Pubkey) -> bool {
    svm.shared_account(id).is_some_and(|account| {
        *account.owner() == loader::ID
            && matches!(State::of_data(account.data()), Some(State::Program { .. }))
    })
}

/// Returns why the loader would not let `authority` change a program or buffer. Checking first saves
/// the fee of a failing transaction.
///
/// # Errors
/// If there is no program or buffer, or it is closed.
pub fn why_unchangeable(svm: &Svm, id: &Pubkey, authority: &Pubkey) -> Result<Option<DeployError>> {
    let entry = find(svm, id)?;
    if entry.is_closed() {
        return Err(Failure::new(format!("{id} is closed")));
    }
    let current = entry.authority;
    let refused = DeployError::NotAuthority { program: *id, authority: current };
    Ok((current != Some(*authority)).then_some(refused))
}

/// Makes the instruction that closes a program or buffer.
#[must_use]
pub fn close_instruction(
    svm: &Svm,
    id: &Pubkey,
    recipient: &Pubkey,
    authority: &Pubkey,
) -> Instruction {
    match is_program(svm, id) {
        true => loader::close_program(id, recipient, authority),
        false => loader::close_buffer(id, recipient, authority),
    }
}

/// Makes the instruction that gives a program or buffer another authority, or none.
#[must_use]
pub fn authority_instruction(
    svm: &Svm,
    id: &Pubkey,
    authority: &Pubkey,
    new: Option<&Pubkey>,
) -> Instruction {
    let account = if is_program(svm, id) { program_data_key(id) } else { *id };
    loader::set_authority(&account, authority, new)
}

/// The address of a program to deploy, and its key.
#[derive(Debug)]
pub struct ProgramKey {
    /// The address.
    pub id: Pubkey,
    /// The key, unless only the address is known.
    pub key: Option<Keypair>,
    /// The file of the key.
    pub file: Option<PathBuf>,
}

impl ProgramKey {
    /// Finds the key of a program by what the user calls it; without that it is the one beside the
    /// program's file, which is made if it is not there.
    ///
    /// # Errors
    /// If there is no such address, or a key file cannot be used.
    pub fn find(
        cluster: &mut Cluster,
        names: &Names,
        program: &Path,
        named: Option<&str>,
    ) -> Result<Self> {
        if let Some(text) = named {
            let (id, key) = (names.address(text)?, names.key(text)?);
            return Ok(Self { id, key, file: names.key_file(text) });
        }
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        let beside = program.with_file_name(format!("{stem}-keypair.json"));
        let key = cluster.read_or_generate_key(&beside)?;
        Ok(Self { id: key.pubkey(), key: Some(key), file: Some(beside) })
    }
}

/// Returns the address of the program that a file is of: the one with the same bytes, or else that of the
/// file's stem among the names.
#[must_use]
pub fn of_file(svm: &Svm, elf: &[u8], stem: &str, names: &Names) -> Option<Pubkey> {
    let environment = elf_environment(svm.features(), Purpose::Deployment);
    let stripped = selkie_elf::strip(elf, &environment);
    let forms = [Some(elf), stripped.as_deref()];
    // A file may be followed by room for longer ones.
    let is_it = |bytes: &[u8]| {
        let mut forms = forms.iter().flatten();
        forms.any(|it| bytes.strip_prefix(*it).is_some_and(is_room))
    };
    let mut programs = svm
        .written_accounts()
        .filter_map(|(id, account)| Some((id, ProgramFile::find(account, &Accounts(svm))?)));
    let same_bytes = programs.find(|(_, deployed)| is_it(deployed.bytes())).map(|(id, _)| id);
    same_bytes.or_else(|| {
        let id = names.defined(stem)?;
        ProgramFile::find(&svm.shared_account(&id)?, &Accounts(svm)).map(|_| id)
    })
}

fn is_room(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// The accounts of a cluster, for the program cache.
struct Accounts<'a>(&'a Svm);

impl AccountStore for Accounts<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.0.shared_account(key)
    }
}
