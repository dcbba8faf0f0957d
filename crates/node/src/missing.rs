//! Notes on programs that a transaction calls and the node does not have.
//!
//! Clients get the error of a real cluster, which names no program; the notes are for the node's log.

use solana_account::{AccountSharedData, ReadableAccount as _};
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

const fn key(text: &str) -> Pubkey {
    Pubkey::from_str_const(text)
}

/// Programs that libraries call without their users' knowledge, and that a new cluster lacks.
const KNOWN: &[(Pubkey, &str)] = &[
    (key("SysExL2WDyJi9aRZrXorrjHJut3JwHQ7R9bTyctbNNG"), "Metaplex's System Extras"),
    (key("TokExjvjJmhKaRBShsBAsbSvEWMA1AgUNK7ps4SAc2p"), "Metaplex's Token Extras"),
    (key("auth9SigNpDKz4sJJ1DfCTuZrZNSAgh9sFD3rboVmgg"), "Metaplex's Token Auth Rules"),
    (key("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"), "Metaplex's Token Metadata"),
];

/// Returns a note for each program that a message calls and that does not exist, if the result of its
/// transaction is about that.
pub(crate) fn notes(
    message: &VersionedMessage,
    result: &Result<(), TransactionError>,
    find: &dyn Fn(&Pubkey) -> Option<AccountSharedData>,
) -> Vec<String> {
    let is_about_programs = matches!(
        result,
        Err(TransactionError::ProgramAccountNotFound | TransactionError::InvalidProgramForExecution)
    );
    if !is_about_programs {
        return Vec::new();
    }
    let keys = message.static_account_keys();
    let called = message.instructions().iter().map(|it| usize::from(it.program_id_index));
    let mut programs: Vec<&Pubkey> = called.filter_map(|index| keys.get(index)).collect();
    programs.sort_unstable();
    programs.dedup();
    let is_missing = |key: &Pubkey| find(key).is_none_or(|account| !account.executable());
    programs.into_iter().filter(|key| is_missing(key)).map(note).collect()
}

fn note(program: &Pubkey) -> String {
    let known = KNOWN.iter().find(|(key, _)| key == program);
    let name = known.map(|(_, name)| format!(", {name},")).unwrap_or_default();
    format!(
        "there is no program at {program}{name} on this node; start it with --clone {program} and \
         --url, with --fork, or with --bpf-program"
    )
}
