//! Surfpool's cheatcodes about programs: written in parts, copied, given to another authority.

use selkie_layout::loader::{PROGRAM_DATA_HEADER_BYTES, State};
use selkie_node::View;
use selkie_programs::program_data_key;
use serde_json::Value;
use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader_upgradeable, system_program};

use crate::{
    error::RpcError,
    methods::{call::Call, cheats::refused, surfnet::now},
    params::{Params, parse_key},
};

/// The longest file of a program: with its header, the largest account.
const FILE_BYTES_MAX: usize = 10 * 1024 * 1024 - PROGRAM_DATA_HEADER_BYTES;

fn optional_key(params: &mut Params, index: usize) -> Result<Option<Pubkey>, RpcError> {
    params.optional::<String>(index)?.map(|text| parse_key(&text)).transpose()
}

/// Returns an account of loader v3 that is rent-exempt.
fn account(data: Vec<u8>, executable: bool, view: &View) -> AccountSharedData {
    let (lamports, owner) = (view.minimum_balance(data.len()), bpf_loader_upgradeable::ID);
    Account { lamports, data, owner, executable, rent_epoch: u64::MAX }.into()
}

fn program_account(program: &Pubkey, view: &View) -> AccountSharedData {
    account(State::Program { program_data: program_data_key(program) }.write(), true, view)
}

/// Returns the file of a programdata account with a new header.
fn program_data(
    slot: u64,
    authority: Option<Pubkey>,
    file: &[u8],
    view: &View,
) -> AccountSharedData {
    let mut data = State::ProgramData { slot, authority }.write();
    data.resize(PROGRAM_DATA_HEADER_BYTES, 0);
    data.extend_from_slice(file);
    account(data, false, view)
}

/// Returns slot, authority and file of a program of loader v3.
fn deployed(
    program: &Pubkey,
    view: &View,
) -> Result<(u64, Option<Pubkey>, AccountSharedData), RpcError> {
    let account = view.account(&program_data_key(program)).filter(|it| {
        *it.owner() == bpf_loader_upgradeable::ID && it.data().len() >= PROGRAM_DATA_HEADER_BYTES
    });
    let state = account.as_ref().and_then(|it| State::of_data(it.data()));
    match (state, account) {
        (Some(State::ProgramData { slot, authority }), Some(account)) => {
            Ok((slot, authority, account))
        }
        _ => {
            let text = format!("{program} is not a program of the upgradeable loader");
            Err(RpcError::invalid_params(text))
        }
    }
}

/// Writes a part of a program's file, which begins as zeros. The program can be invoked when all parts
/// make an ELF file.
pub(super) fn write(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let program = params.key(0)?;
    let bytes: String = params.required(1)?;
    let bytes = hex::decode(bytes)
        .map_err(|error| RpcError::invalid_params(format!("Invalid hex data provided: {error}")))?;
    let offset: usize = params.required(2)?;
    let authority = optional_key(params, 3)?;
    let end = offset.checked_add(bytes.len()).filter(|end| *end <= FILE_BYTES_MAX);
    let end = end.ok_or_else(|| {
        RpcError::invalid_params(format!("the file would be longer than {FILE_BYTES_MAX} bytes"))
    })?;
    call.fetch(&[program])?;
    let view = call.node.view(CommitmentLevel::Processed);
    let (authority, mut file) = match deployed(&program, &view) {
        Ok((_, before, account)) => {
            (authority.or(before), account.data()[PROGRAM_DATA_HEADER_BYTES..].to_vec())
        }
        Err(_) => (Some(authority.unwrap_or(system_program::ID)), Vec::new()),
    };
    file.resize(file.len().max(end), 0);
    file[offset..end].copy_from_slice(&bytes);
    let accounts = vec![
        (program, program_account(&program, &view)),
        (program_data_key(&program), program_data(view.slot(), authority, &file, &view)),
    ];
    call.node.set_accounts(accounts).map_err(refused)?;
    Ok(now(call, Value::Null))
}

pub(super) fn clone(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let (source, destination) = (params.key(0)?, params.key(1)?);
    call.fetch(&[source])?;
    let view = call.node.view(CommitmentLevel::Processed);
    let (_, authority, account) = deployed(&source, &view)?;
    let file = &account.data()[PROGRAM_DATA_HEADER_BYTES..];
    let accounts = vec![
        (destination, program_account(&destination, &view)),
        (program_data_key(&destination), program_data(view.slot(), authority, file, &view)),
    ];
    call.node.set_accounts(accounts).map_err(refused)?;
    Ok(now(call, Value::Null))
}

pub(super) fn set_authority(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let program = params.key(0)?;
    let authority = optional_key(params, 1)?;
    call.fetch(&[program])?;
    let view = call.node.view(CommitmentLevel::Processed);
    let (slot, _, mut account) = deployed(&program, &view)?;
    let mut header = State::ProgramData { slot, authority }.write();
    header.resize(PROGRAM_DATA_HEADER_BYTES, 0);
    account.data_as_mut_slice()[..PROGRAM_DATA_HEADER_BYTES].copy_from_slice(&header);
    call.node.set_account(program_data_key(&program), account).map_err(refused)?;
    Ok(now(call, Value::Null))
}
