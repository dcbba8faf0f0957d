//! Names of an instruction's accounts, by their roles.

use selkie_layout::role::{Role, Take};
use serde_json::{Map, Value, json};

use crate::parsed::layout::{COUNT, camel, upper};

/// Inserts the accounts by their names. `None` if there are too few.
pub(super) fn name_accounts(
    roles: &[Role],
    accounts: &[String],
    info: &mut Map<String, Value>,
) -> Option<()> {
    let tail = info.remove(COUNT).and_then(|count| count.as_u64()).unwrap_or(0);
    let head_len = accounts.len().checked_sub(usize::try_from(tail).ok()?)?;
    let (head, tail) = accounts.split_at(head_len);
    let mut next = 0_usize;
    for role in roles {
        let name = camel(&role.name);
        let (account, after) = (head.get(next), next.saturating_add(1));
        match &role.take {
            Take::One => {
                info.insert(name, json!(account?));
                next = after;
            }
            Take::Optional(least) => {
                let is_there = head.len() >= *least;
                info.extend(account.filter(|_| is_there).map(|it| (name, json!(it))));
                next = after;
            }
            Take::OrNull => {
                info.insert(name, json!(account));
                next = after;
            }
            Take::Inside(field) => {
                let inner = info.get_mut(*field).and_then(Value::as_object_mut);
                if let (Some(inner), Some(account)) = (inner, account) {
                    inner.insert(name, json!(account));
                }
                next = after;
            }
            Take::Authority(multisig) => authority(&name, *multisig, head.get(next..)?, info)?,
            Take::Some if account.is_none() => return None,
            Take::Rest | Take::Some => drop(info.insert(name, json!(head.get(next..)?))),
            Take::Last => drop(info.insert(name, json!(tail))),
            Take::Proof => next = proof(&name, head, next, info)?,
            Take::ContextOrSysvar => {
                let is_context = info.get("proofInstructionOffset") == Some(&json!(0));
                let name = if is_context { name } else { "instructionsSysvar".to_owned() };
                info.insert(name, json!(account?));
                next = after;
            }
            Take::Proofs(names) => {
                let names: Vec<String> = names.iter().map(|it| camel(it)).collect();
                next = proofs(&names, head, next, info)?;
            }
        }
    }
    Some(())
}

/// Inserts an authority, or a multisignature account and its signers.
fn authority(
    name: &str,
    multisig: Option<&str>,
    accounts: &[String],
    info: &mut Map<String, Value>,
) -> Option<()> {
    let (first, signers) = accounts.split_first()?;
    if signers.is_empty() {
        info.insert(name.to_owned(), json!(first));
    } else {
        let multisig = multisig.map_or_else(|| format!("multisig{}", upper(name)), camel);
        info.insert(multisig, json!(first));
        info.insert("signers".to_owned(), json!(signers));
    }
    Some(())
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
    names: &[String],
    accounts: &[String],
    at: usize,
    info: &mut Map<String, Value>,
) -> Option<usize> {
    let is_context = |info: &Map<String, Value>, name: &str| {
        info.get(&format!("{name}InstructionOffset")) == Some(&json!(0))
    };
    let last = accounts.len().checked_sub(1)?;
    let mut next = at;
    if next < last && !names.iter().all(|name| is_context(info, name)) {
        info.insert("instructionsSysvar".to_owned(), json!(accounts.get(next)?));
        next = next.saturating_add(1);
    }
    for name in names {
        if next >= last {
            break;
        }
        let kind = if is_context(info, name) { "ContextStateAccount" } else { "RecordAccount" };
        info.insert(format!("{name}{kind}"), json!(accounts.get(next)?));
        next = next.saturating_add(1);
    }
    Some(next)
}
