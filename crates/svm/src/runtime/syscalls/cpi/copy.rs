//! Copies account changes between the memory of the caller and the accounts of the transaction:
//! before an invocation to the callee, after it back to the caller.

use selkie_vm::{Access, MemoryMap, SyscallError as Error};
use solana_account::ReadableAccount;
use solana_instruction_error::InstructionError;

use super::{CallerAccount, Features, Pointers, check_store, read_u64};
use crate::{
    chain::cost::ACCOUNT_GROWTH_MAX,
    runtime::{
        input::{self, DataMode},
        syscalls::{Call, guest::Guest},
        transaction_accounts::BorrowedAccount,
    },
};

/// Runs `use_buffer` with the whole buffer of an account's data in the caller's input, whether or not
/// the caller may access it.
fn with_data_buffer<R>(
    map: &mut MemoryMap<'_>,
    data: u64,
    use_buffer: impl FnOnce(&mut [u8]) -> R,
) -> Result<R, Error> {
    let index = map.region_index(data);
    let result = index.and_then(|index| {
        map.change_region(index, |region| {
            let is_data = region.vaddr() == data;
            region.buffer_mut().filter(|_| is_data).map(use_buffer)
        })
    });
    result.flatten().ok_or_else(|| InstructionError::AccountDataTooSmall.into())
}

/// Applies the caller's changes of an account, under the caller's privileges. Returns whether the
/// caller's region of the account data must be updated (agave: `update_callee_account`).
pub(super) fn to_callee(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    account: &CallerAccount,
) -> Result<bool, Error> {
    let memory = &mut call.memory;
    let pointers = &account.pointers;
    let mut borrowed = call.context.borrow(account.index_in_caller)?;
    let lamports = read_u64(memory, pointers.lamports)?;
    if borrowed.lamports() != lamports {
        borrowed.set_lamports(lamports)?;
    }
    let mut changed = false;
    if features.mode.has_regions() {
        changed = region_to_callee(memory, features.mode, pointers, &mut borrowed)?;
    } else {
        borrowed.set_data_within_limits(memory.bytes(pointers.data, pointers.data_len)?)?;
    }
    let owner = memory.pubkey(pointers.owner)?;
    if *borrowed.owner() != owner {
        borrowed.set_owner(owner)?;
        changed = true;
    }
    Ok(changed)
}

/// Applies the caller's changes of account data that have a region of their own. Returns whether their
/// length has changed.
#[inline]
fn region_to_callee(
    memory: &mut Guest<'_, '_>,
    mode: DataMode,
    pointers: &Pointers,
    borrowed: &mut BorrowedAccount<'_>,
) -> Result<bool, Error> {
    let len_before = borrowed.data().len();
    let len = usize::try_from(read_u64(memory, pointers.len)?).unwrap_or(usize::MAX);
    if len_before != len {
        if mode == DataMode::Regions && len < len_before {
            with_data_buffer(memory.map, pointers.data, |buffer| {
                if let Some(removed) = buffer.get_mut(len..len_before) {
                    removed.fill(0);
                }
            })?;
        }
        borrowed.set_data_len(len)?;
    }
    if mode == DataMode::Regions && borrowed.can_change_data().is_ok() {
        let len = usize::try_from(pointers.data_len).unwrap_or(usize::MAX);
        with_data_buffer(memory.map, pointers.data, |buffer| {
            borrowed.set_data(buffer.get(..len).unwrap_or_default())
        })??;
    }
    Ok(len_before != len)
}

/// Writes the callee's changes of an account to the caller's memory (agave: `update_caller_account`).
pub(super) fn to_caller(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    account: &CallerAccount,
) -> Result<(), Error> {
    let pointers = &account.pointers;
    let borrowed = call.context.borrow(account.index_in_caller)?;
    let (lamports, owner) = (borrowed.lamports(), *borrowed.owner());
    let index = borrowed.index();
    let len = borrowed.data().len() as u64;
    call.memory.write(pointers.lamports, &lamports.to_le_bytes())?;
    call.memory.write(pointers.owner, owner.as_ref())?;
    let len_before = read_u64(&call.memory, pointers.len)?;
    check_growth(call, features, account, len_before, len)?;
    if len_before != len {
        len_to_caller(call, features, pointers, len_before, len)?;
    }
    if features.mode == DataMode::Direct {
        return Ok(());
    }
    // The length field was right, and the caller's slice of the data is not that long.
    if len_before == len && pointers.data_len != len {
        return Err(InstructionError::AccountDataTooSmall.into());
    }
    let data = call.context.accounts.get(usize::from(index))?.account.data();
    if features.mode.has_regions() {
        with_data_buffer(call.memory.map, pointers.data, |buffer| {
            if let Some(buffer) = buffer.get_mut(..data.len()) {
                buffer.copy_from_slice(data);
            }
        })?;
    } else {
        call.memory.write(pointers.data, data)?;
    }
    Ok(())
}

/// Fails, with a log line, if the account data no longer fit into the caller's input.
#[inline]
fn check_growth(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    account: &CallerAccount,
    len_before: u64,
    len: u64,
) -> Result<(), Error> {
    let growth_max = match features.restricts_addresses && !call.memory.aligned {
        true => 0,
        false => ACCOUNT_GROWTH_MAX as u64,
    };
    let is_too_long = len > account.original_len.saturating_add(growth_max);
    if is_too_long && (features.restricts_addresses || len_before != len) {
        call.context.logs.line(format!(
            "Account data size realloc limited to {growth_max} in inner instructions"
        ));
        return Err(InstructionError::InvalidRealloc.into());
    }
    Ok(())
}

/// Writes the new length of account data to the caller's info and input.
#[inline]
fn len_to_caller(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    pointers: &Pointers,
    len_before: u64,
    len: u64,
) -> Result<(), Error> {
    if features.mode != DataMode::Direct {
        if len < len_before {
            zero_tail(call, features, pointers, len)?;
        }
        if !features.mode.has_regions() && len > 0 {
            call.memory.map.locate(Access::Store, pointers.data, len)?;
        }
    }
    call.memory.write(pointers.len, &len.to_le_bytes())?;
    // The length in the caller's input lies right before the data.
    let len_in_input = pointers.data.saturating_sub(8);
    check_store(&call.memory, len_in_input, 8, 8)?;
    call.memory.write(len_in_input, &len.to_le_bytes())
}

/// Zeroes the data from `len` up to the length that the caller's info has.
fn zero_tail(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    pointers: &Pointers,
    len: u64,
) -> Result<(), Error> {
    let Some(tail) = pointers.data_len.checked_sub(len) else {
        return Err(InstructionError::AccountDataTooSmall.into());
    };
    let bytes = |value| usize::try_from(value).unwrap_or(usize::MAX);
    if features.mode.has_regions() {
        with_data_buffer(call.memory.map, pointers.data, |buffer| {
            if let Some(tail) = buffer.get_mut(bytes(len)..bytes(pointers.data_len)) {
                tail.fill(0);
            }
        })
    } else {
        if tail > 0 {
            call.memory.map.slice_mut(pointers.data.saturating_add(len), tail)?.fill(0);
        }
        Ok(())
    }
}

/// Resizes the caller's region of account data to their length, and makes it writable if the caller
/// may change them.
pub(super) fn update_region(
    call: &mut Call<'_, '_, '_>,
    mode: DataMode,
    account: &CallerAccount,
) -> Result<(), Error> {
    let layout = &call.context.frame().layout;
    if layout.account(account.index_in_caller).is_none_or(|it| it.data_capacity == 0) {
        return Ok(());
    }
    let borrowed = call.context.borrow(account.index_in_caller)?;
    let payload = borrowed.can_change_data().is_ok().then(|| borrowed.index());
    let data = borrowed.data();
    let map = &mut call.memory.map;
    let index = map.region_index(account.pointers.data).ok_or(InstructionError::MissingAccount)?;
    map.change_region(index, |region| {
        if mode == DataMode::Direct
            && let Some(buffer) = region.buffer_mut()
        {
            let (used, unused) = buffer.split_at_mut(data.len().min(buffer.len()));
            used.copy_from_slice(data.get(..used.len()).unwrap_or_default());
            unused.fill(0);
        }
        region.grow(data.len() as u64);
        region.set_writable(payload.is_some());
        region.set_payload(payload);
    });
    Ok(())
}

/// Copies the caller's stores to directly mapped account data (see [`DataMode::Direct`]) to the
/// accounts.
pub(super) fn take_mapped_data(call: &mut Call<'_, '_, '_>) -> Result<(), Error> {
    let accounts: Vec<(usize, u64)> = call
        .context
        .frame()
        .layout
        .accounts()
        .map(|(index, account)| (index, input::vaddr(account.data)))
        .collect();
    for (index_in_caller, data) in accounts {
        let Some(index) = call.memory.map.region_index(data) else { continue };
        let regions = call.memory.map.regions();
        let Some(region) = regions.get(index).filter(|region| region.vaddr() == data) else {
            continue;
        };
        let Some(_) = region.payload() else { continue };
        let bytes = region.bytes();
        let account = call.context.instruction_account(index_in_caller)?;
        let raw = call.context.accounts.raw_mut(usize::from(account.index));
        if let Some(raw) = raw
            && raw.data().len() == bytes.len()
            && raw.data() != bytes
        {
            raw.set_data_from_slice(bytes);
            call.context.accounts.touch(usize::from(account.index));
        }
    }
    Ok(())
}
