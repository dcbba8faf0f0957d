//! Sysvars.
//!
//! Getters fail for programs of loader v1, and write below the input region only.

use selkie_isa::layout::INPUT_START;
use selkie_vm::SyscallError as Error;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar as ids;

use super::{Call, guest::Output};
use crate::chain::{
    cost::{EPOCH_STAKE_CLUSTER, EPOCH_STAKE_VOTE_ACCOUNT},
    error::SyscallError,
    features::Feature,
    sysvars,
};

pub(super) fn clock(call: &mut Call<'_, '_, '_>, [out, ..]: [u64; 5]) -> Result<u64, Error> {
    get_struct(call, &ids::clock::ID, out)
}

pub(super) fn epoch_schedule(
    call: &mut Call<'_, '_, '_>,
    [out, ..]: [u64; 5],
) -> Result<u64, Error> {
    get_struct(call, &ids::epoch_schedule::ID, out)
}

pub(super) fn rent(call: &mut Call<'_, '_, '_>, [out, ..]: [u64; 5]) -> Result<u64, Error> {
    get_struct(call, &ids::rent::ID, out)
}

pub(super) fn epoch_rewards(
    call: &mut Call<'_, '_, '_>,
    [out, ..]: [u64; 5],
) -> Result<u64, Error> {
    get_struct(call, &ids::epoch_rewards::ID, out)
}

pub(super) fn last_restart_slot(
    call: &mut Call<'_, '_, '_>,
    [out, ..]: [u64; 5],
) -> Result<u64, Error> {
    get_struct(call, &ids::last_restart_slot::ID, out)
}

const FEES_BYTES: u64 = 8;

/// `sol_get_fees_sysvar`. No cluster has the fees sysvar any more: the call fails after all checks.
pub(super) fn fees(call: &mut Call<'_, '_, '_>, [out, ..]: [u64; 5]) -> Result<u64, Error> {
    check_address(call, out)?;
    let output = Output { addr: out, len: FEES_BYTES, align: FEES_BYTES };
    call.memory.check_outputs(call.context, &[output])?;
    Err(InstructionError::UnsupportedSysvar.into())
}

fn get_struct(call: &mut Call<'_, '_, '_>, id: &Pubkey, out: u64) -> Result<u64, Error> {
    check_address(call, out)?;
    let (len, align) = sysvars::struct_layout(id);
    call.memory.check_outputs(call.context, &[Output { addr: out, len, align }])?;
    let bytes = call.context.environment.sysvars.as_struct(id);
    call.memory.write(out, bytes.ok_or(InstructionError::UnsupportedSysvar)?)?;
    Ok(0)
}

fn check_address(call: &Call<'_, '_, '_>, out: u64) -> Result<(), Error> {
    let features = call.context.environment.features;
    if !call.memory.aligned {
        Err(SyscallError::UnalignedPointer.into())
    } else if out >= INPUT_START && features.has(Feature::SyscallParameterAddressRestrictions) {
        Err(SyscallError::InvalidPointer.into())
    } else {
        Ok(())
    }
}

const OUT_OF_RANGE: u64 = 1;
const NOT_FOUND: u64 = 2;

/// `sol_get_sysvar`: writes any part of any sysvar that programs can read.
pub(super) fn get(
    call: &mut Call<'_, '_, '_>,
    [id, out, offset, len, ..]: [u64; 5],
) -> Result<u64, Error> {
    check_address(call, out)?;
    call.memory.check_output(call.context, out, len)?;
    let id = call.memory.pubkey(id)?;
    let end = offset.checked_add(len).ok_or(InstructionError::ArithmeticOverflow)?;
    out.checked_add(len).ok_or(InstructionError::ArithmeticOverflow)?;
    let Some(data) = call.context.environment.sysvars.get_for_programs(&id) else {
        return Ok(NOT_FOUND);
    };
    let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
    let Some(part) = range.and_then(|(start, end)| data.get(start..end)) else {
        return Ok(OUT_OF_RANGE);
    };
    call.memory.write(out, part)?;
    Ok(0)
}

pub(super) fn epoch_stake(
    call: &mut Call<'_, '_, '_>,
    [vote_account, ..]: [u64; 5],
) -> Result<u64, Error> {
    if vote_account == 0 {
        call.charge(EPOCH_STAKE_CLUSTER)?;
        return Ok(call.context.environment.epoch_stake.total);
    }
    call.charge(EPOCH_STAKE_VOTE_ACCOUNT)?;
    let stake = &call.context.environment.epoch_stake;
    let vote_account = call.memory.pubkey(vote_account)?;
    Ok(stake.vote_accounts.get(&vote_account).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use selkie_protocol::syscalls::find;

    use super::*;
    use crate::chain::cost::{Amount, Cost, SYSVAR_BASE};

    #[test]
    fn a_getter_costs_as_many_compute_units_more_as_its_struct_has_bytes() {
        for (name, id) in [
            ("sol_get_clock_sysvar", ids::clock::ID),
            ("sol_get_epoch_schedule_sysvar", ids::epoch_schedule::ID),
            ("sol_get_rent_sysvar", ids::rent::ID),
            ("sol_get_epoch_rewards_sysvar", ids::epoch_rewards::ID),
            ("sol_get_last_restart_slot", ids::last_restart_slot::ID),
        ] {
            let (bytes, _) = sysvars::struct_layout(&id);
            let cost = Cost::on_entry(Amount::fixed(SYSVAR_BASE + bytes));
            assert_eq!(find(name).unwrap().cost, cost, "{name}");
        }
    }
}
