//! Names of an instruction's accounts.
//!
//! | item | what it names |
//! |---|---|
//! | `name` | the next account, which must be there |
//! | `name?` | the next account, left out if there is none |
//! | `name?4` | the next account, left out unless there are 4 accounts |
//! | `object.name?` | the next account, in an object that the data gave |
//! | `name\|` | the next account, null if there is none |
//! | `@name` | an authority, and as `multisigName` with `signers` if accounts follow it |
//! | `@name/other` | the same, with `other` as the name of a multisignature account |
//! | `*name`, `+name` | the remaining accounts as a list; with `+` at least one |
//! | `~name` | the last accounts as a list, as many as the field `#` says |
//! | `^name` | the account of one proof; `name` is that of a record account |
//! | `&name` | the account of one proof, or the instructions sysvar |
//! | `%a,b` | the accounts of the proofs `a` and `b` |
//! | `=4` | there must be 4 accounts |

use serde_json::{Map, Value, json};

/// The field that holds the length of a list at the end, removed again.
const COUNT: &str = "#";

/// Inserts the accounts by their names. `None` if there are too few.
pub(super) fn name_accounts(
    layout: &str,
    accounts: &[String],
    info: &mut Map<String, Value>,
) -> Option<()> {
    let tail = info.remove(COUNT).and_then(|count| count.as_u64()).unwrap_or(0);
    let head_len = accounts.len().checked_sub(usize::try_from(tail).ok()?)?;
    let (head, tail) = accounts.split_at(head_len);
    let mut next = 0_usize;
    for item in layout.split_whitespace() {
        let (mark, name) = split_mark(item);
        match mark {
            Some('=') if accounts.len() < name.parse().ok()? => return None,
            Some('=') => {}
            Some('@') => authority(name, head.get(next..)?, info)?,
            Some('*') => drop(info.insert(name.to_owned(), json!(head.get(next..)?))),
            Some('+') if head.len() <= next => return None,
            Some('+') => drop(info.insert(name.to_owned(), json!(head.get(next..)?))),
            Some('~') => drop(info.insert(name.to_owned(), json!(tail))),
            Some('^') => next = proof(name, head, next, info)?,
            Some('&') => {
                let is_context = info.get("proofInstructionOffset") == Some(&json!(0));
                let name = if is_context { name } else { "instructionsSysvar" };
                one(name, head, next, info)?;
                next = next.saturating_add(1);
            }
            Some('%') => next = proofs(name, head, next, info)?,
            _ => {
                one(item, head, next, info)?;
                next = next.saturating_add(1);
            }
        }
    }
    Some(())
}

fn split_mark(item: &str) -> (Option<char>, &str) {
    let mut rest = item.chars();
    match rest.next().filter(|mark| "=@*+~^&%".contains(*mark)) {
        Some(mark) => (Some(mark), rest.as_str()),
        None => (None, item),
    }
}

/// Inserts one account: `name`, `name?`, `name?4` or `name|`.
fn one(item: &str, accounts: &[String], at: usize, info: &mut Map<String, Value>) -> Option<()> {
    let account = accounts.get(at);
    if let Some(name) = item.strip_suffix('|') {
        info.insert(name.to_owned(), json!(account));
    } else if let Some((name, least)) = item.split_once('?') {
        let least = least.parse().unwrap_or(at.saturating_add(1));
        if let Some(account) = account.filter(|_| accounts.len() >= least) {
            insert(info, name, json!(account));
        }
    } else {
        info.insert(item.to_owned(), json!(account?));
    }
    Some(())
}

/// Inserts a field, or that of an inner object if the name has a dot.
fn insert(info: &mut Map<String, Value>, name: &str, value: Value) {
    let inner = name
        .split_once('.')
        .and_then(|(object, name)| Some((info.get_mut(object)?.as_object_mut()?, name.to_owned())));
    match inner {
        Some((object, name)) => object.insert(name, value),
        None => info.insert(name.to_owned(), value),
    };
}

/// Inserts an authority, or a multisignature account and its signers.
fn authority(name: &str, accounts: &[String], info: &mut Map<String, Value>) -> Option<()> {
    let (first, signers) = accounts.split_first()?;
    let (name, multisig) = match name.split_once('/') {
        Some((name, multisig)) => (name, multisig.to_owned()),
        None => (name, multisig_name(name)),
    };
    if signers.is_empty() {
        info.insert(name.to_owned(), json!(first));
    } else {
        info.insert(multisig, json!(first));
        info.insert("signers".to_owned(), json!(signers));
    }
    Some(())
}

fn multisig_name(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("multisig{}{}", first.unwrap_or_default(), letters.as_str())
}

/// Inserts the account of a proof, whose place the field `proofInstructionOffset` tells.
fn proof(
    record: &str,
    accounts: &[String],
    at: usize,
    info: &mut Map<String, Value>,
) -> Option<usize> {
    let next = at.saturating_add(1);
    let account = json!(accounts.get(at)?);
    if info.get("proofInstructionOffset") == Some(&json!(0)) {
        info.insert("proofContextStateAccount".to_owned(), account);
        return Some(next);
    }
    info.insert("instructionsSysvar".to_owned(), account);
    // One more account than the authority is the record that holds the proof.
    if accounts.len() > next.saturating_add(1) {
        info.insert(record.to_owned(), json!(accounts.get(next)?));
        return Some(next.saturating_add(1));
    }
    Some(next)
}

/// Inserts the accounts of several proofs. All but the last account are taken for proofs, since a
/// multisignature account cannot be told from them.
fn proofs(
    names: &str,
    accounts: &[String],
    at: usize,
    info: &mut Map<String, Value>,
) -> Option<usize> {
    let is_context = |info: &Map<String, Value>, name: &str| {
        info.get(&format!("{name}InstructionOffset")) == Some(&json!(0))
    };
    let last = accounts.len().checked_sub(1)?;
    let mut next = at;
    if next < last && !names.split(',').all(|name| is_context(info, name)) {
        info.insert("instructionsSysvar".to_owned(), json!(accounts.get(next)?));
        next = next.saturating_add(1);
    }
    for name in names.split(',') {
        if next >= last {
            break;
        }
        let kind = if is_context(info, name) { "ContextStateAccount" } else { "RecordAccount" };
        info.insert(format!("{name}{kind}"), json!(accounts.get(next)?));
        next = next.saturating_add(1);
    }
    Some(next)
}
