//! Instructions outside of a transaction: without signatures, fees and blockhashes.

use std::collections::BTreeMap;

use selkie_svm::{
    AccountChange, AccountStore, Environment, Inspector, Loader, Options, Processed, ProgramCache,
    ProgramEntry, TransactionPrograms, Workspace, execute::execute_instructions,
    transaction_accounts::TransactionAccount,
};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_instruction::Instruction;
use solana_message::{Message, MessageHeader, compiled_instruction::CompiledInstruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;

/// The accounts of a store, overlaid with given ones.
#[derive(Debug)]
pub struct Overlay<'a, S> {
    /// The given accounts.
    pub given: BTreeMap<Pubkey, AccountSharedData>,
    /// The store.
    pub base: &'a S,
}

impl<S: AccountStore> AccountStore for Overlay<'_, S> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.given.get(key).cloned().or_else(|| self.base.account(key))
    }
}

/// Processes instructions that share compute units, logs and the instructions sysvar, like those of one
/// transaction. If one fails, no account changes. Also returns the unsigned message that they would be.
pub fn process_instructions<S: AccountStore>(
    instructions: &[Instruction],
    overlay: &Overlay<'_, S>,
    environment: &Environment,
    programs: &ProgramCache,
    options: &Options,
    inspector: Option<&mut dyn Inspector>,
    workspace: &mut Workspace,
) -> (Box<Processed>, Message) {
    let (message, keys) = compile(instructions, &overlay.given);
    let named = keys.iter().filter(|key| **key != sysvar::instructions::ID);
    let accounts: Vec<(Pubkey, AccountSharedData)> =
        named.map(|key| (*key, overlay.account(key).unwrap_or_default())).collect();
    let found: BTreeMap<Pubkey, AccountSharedData> =
        keys.iter().filter_map(|key| Some((*key, overlay.account(key)?))).collect();
    let programs = find_programs(&accounts, overlay, environment, programs);
    let (mut processed, after) = execute_instructions(
        instructions,
        accounts.into_iter().map(TransactionAccount::from).collect(),
        &programs,
        environment,
        options,
        inspector.map(|inspector| inspector as &mut dyn Inspector),
        workspace,
    );
    processed.accounts = changes(instructions, after, found, processed.result.is_ok());
    (processed, message)
}

/// Looks up the programs among `accounts`. A program whose programdata account is not given is
/// taken from the store below.
fn find_programs<S: AccountStore>(
    accounts: &[(Pubkey, AccountSharedData)],
    overlay: &Overlay<'_, S>,
    environment: &Environment,
    cache: &ProgramCache,
) -> TransactionPrograms {
    let mut programs = TransactionPrograms::default();
    let (slot, features) = (environment.slot(), environment.features);
    for (key, account) in accounts.iter().filter(|(_, it)| Loader::of(it.owner()).is_some()) {
        let given = cache.get(key, account, overlay, slot, features);
        let below = |account: Option<&AccountSharedData>| {
            cache.get(key, account?, overlay.base, slot, features)
        };
        let entry = match given {
            Some(ProgramEntry::Loaded(_)) => given,
            _ => overlay.base.with_account(key, below).or(given),
        };
        if let Some(entry) = entry {
            programs.insert(*key, entry);
        }
    }
    programs
}

/// Lists the account changes.
fn changes(
    instructions: &[Instruction],
    after: Vec<TransactionAccount>,
    mut found: BTreeMap<Pubkey, AccountSharedData>,
    is_ok: bool,
) -> Vec<AccountChange> {
    let is_writable = |key: &Pubkey| {
        let mut metas = instructions.iter().flat_map(|instruction| &instruction.accounts);
        metas.any(|meta| meta.pubkey == *key && meta.is_writable)
    };
    let changes = after.into_iter().map(|after| AccountChange {
        before: found.remove(&after.key),
        is_writable: is_writable(&after.key),
        key: after.key,
        write: (is_ok && after.is_touched).then_some(after.account),
    });
    changes.collect()
}

/// Compiles instructions to an unsigned message, and lists its account keys: given accounts first,
/// then those the instructions name, then programs.
pub(crate) fn compile(
    instructions: &[Instruction],
    given: &BTreeMap<Pubkey, AccountSharedData>,
) -> (Message, Vec<Pubkey>) {
    let mut keys: Vec<Pubkey> = Vec::new();
    let mut places: BTreeMap<Pubkey, usize> = BTreeMap::new();
    let named = instructions.iter().flat_map(|it| it.accounts.iter().map(|meta| meta.pubkey));
    let programs = instructions.iter().map(|it| it.program_id);
    // The instructions sysvar comes last, where the runtime adds it.
    let is_added = |key: &Pubkey| *key == sysvar::instructions::ID && !given.contains_key(key);
    let (added, others): (Vec<_>, Vec<_>) =
        given.keys().copied().chain(named).chain(programs).partition(is_added);
    for key in others.into_iter().chain(added) {
        places.entry(key).or_insert_with(|| {
            keys.push(key);
            keys.len().saturating_sub(1)
        });
    }
    // An index is a byte: accounts beyond 256 all get the last one, which is wrong but harmless.
    let byte = |key: &Pubkey| {
        places.get(key).and_then(|place| u8::try_from(*place).ok()).unwrap_or(u8::MAX)
    };
    let compiled = instructions.iter().map(|instruction| CompiledInstruction {
        program_id_index: byte(&instruction.program_id),
        accounts: instruction.accounts.iter().map(|meta| byte(&meta.pubkey)).collect(),
        data: instruction.data.clone(),
    });
    let message = Message {
        header: MessageHeader::default(),
        account_keys: keys.clone(),
        instructions: compiled.collect(),
        ..Message::default()
    };
    (message, keys)
}
