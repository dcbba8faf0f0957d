//! Calls between programs: what the caller wrote down is read and checked, the callee sees the
//! caller's changes, and the caller sees the callee's.
//!
//! Every check, every charge and every look at the caller's memory comes in mainnet's order, since
//! it decides the error and whether compute units are left (agave: `cpi.rs` of
//! `solana-program-runtime`). Two conventions of calling exist, Rust's and C's; they differ in how
//! things lie in memory and are one behind [`Convention`].

use selkie_isa::layout::INPUT_START;
use selkie_vm::{Access, MemoryMap, SyscallError as Error};
use smallvec::SmallVec;
use solana_account::ReadableAccount;
use solana_instruction::AccountMeta;
use solana_instruction_error::InstructionError;
use solana_pubkey::{MAX_SEEDS, Pubkey};
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, native_loader};

use crate::{
    chain::{
        cost::{
            ACCOUNT_GROWTH_MAX, CALL_ACCOUNT_INFOS_MAX, CALL_DATA_BYTES_MAX, CALL_SIGNERS_MAX,
            INSTRUCTION_ACCOUNTS_MAX, INVOKE_ACCOUNT_DATA, INVOKE_ACCOUNT_INFOS,
            INVOKE_ACCOUNT_METAS, INVOKE_DATA,
        },
        error::SyscallError,
        features::Feature,
    },
    runtime::{
        context::InvokeContext,
        input::{self, AccountLayout, DataMode},
        instruction_context::InstructionContext,
        syscalls::{
            Call, charge,
            guest::Guest,
            pda::{Seeds, create_program_address},
        },
    },
};

/// How a call lies in the caller's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Convention {
    /// `StableInstruction`, `AccountMeta` and `AccountInfo` of the Rust SDK.
    Rust,
    /// `SolInstruction`, `SolAccountMeta` and `SolAccountInfo` of the C SDK.
    C,
}

/// Where the value lies in an `Rc<RefCell<T>>`: behind both counters and the borrow flag.
const RC_VALUE: u64 = 24;

/// The instructions of loader v3 that programs may call, by their first byte.
const LOADER_V3_CALLABLE: [(u8, Option<Feature>); 4] = [(3, None), (4, None), (7, None), (5, None)];

pub(super) fn invoke_rust(
    call: &mut Call<'_, '_, '_>,
    [instruction, infos, infos_count, seeds, seeds_count]: [u64; 5],
) -> Result<u64, Error> {
    invoke(call, Convention::Rust, instruction, infos, infos_count, seeds, seeds_count)
}

pub(super) fn invoke_c(
    call: &mut Call<'_, '_, '_>,
    [instruction, infos, infos_count, seeds, seeds_count]: [u64; 5],
) -> Result<u64, Error> {
    invoke(call, Convention::C, instruction, infos, infos_count, seeds, seeds_count)
}

/// Calls another program, as a syscall of the current one.
pub(crate) fn invoke(
    call: &mut Call<'_, '_, '_>,
    convention: Convention,
    instruction: u64,
    infos: u64,
    infos_count: u64,
    signers_seeds: u64,
    signers_count: u64,
) -> Result<u64, Error> {
    let instruction = read_instruction(call, convention, instruction)?;
    let signers = read_signers(call, signers_seeds, signers_count)?;
    check_callable(call.context, &instruction)?;
    // Whoever is called charges the context's meter, while the caller's is in its machine.
    call.context.meter = *call.meter;
    let Called { program_id, metas, data } = instruction;
    let callee = call.context.prepare_cpi(&program_id, &metas, data, &signers)?;
    let mut accounts = read_accounts(call, convention, &callee, infos, infos_count)?;
    let features = Features::of(call.context);
    if features.mode == DataMode::Direct {
        take_in_place(call)?;
    }
    if features.restricts_addresses {
        for account in &mut accounts {
            account.updates_region |= to_callee(call, features, account)?;
        }
    }
    call.context.meter = *call.meter;
    let result = call.context.process_inner(callee);
    *call.meter = call.context.meter;
    result?;
    for account in accounts.iter().filter(|account| account.is_writable) {
        to_caller(call, features, account)?;
    }
    if features.mode.has_regions() {
        for account in accounts.iter().filter(|account| account.updates_region) {
            update_region(call, features.mode, account)?;
        }
    }
    Ok(0)
}

/// The features that calls ask for.
#[derive(Clone, Copy)]
struct Features {
    /// Pointers must be those that the caller was given, and lie below the input (SIMD-0459).
    restricts_addresses: bool,
    mode: DataMode,
}

impl Features {
    fn of(context: &InvokeContext<'_>) -> Self {
        let features = context.environment.features;
        Self {
            restricts_addresses: features.has(Feature::SyscallParameterAddressRestrictions),
            mode: DataMode::of(features),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u64::from_le_bytes(*word))
}

fn pubkey(bytes: &[u8], at: usize) -> Pubkey {
    let key = bytes.get(at..).and_then(|rest| rest.first_chunk());
    key.map_or_else(Pubkey::default, |key| Pubkey::new_from_array(*key))
}

fn flag(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

/// The instruction that is to be called. Most have a few accounts.
struct Called {
    program_id: Pubkey,
    metas: SmallVec<[AccountMeta; 8]>,
    data: Vec<u8>,
}

/// Reads it.
fn read_instruction(
    call: &mut Call<'_, '_, '_>,
    convention: Convention,
    addr: u64,
) -> Result<Called, Error> {
    let memory = &call.memory;
    let (program_id, [metas, metas_count], [data, data_len]);
    match convention {
        Convention::Rust => {
            // Two vectors of pointer, capacity and length, then the program.
            let raw = memory.elements(addr, 1, 80, 8)?;
            [metas, metas_count] = [word(raw, 0), word(raw, 16)];
            [data, data_len] = [word(raw, 24), word(raw, 40)];
            program_id = pubkey(raw, 48);
        }
        Convention::C => {
            let raw = memory.elements(addr, 1, 40, 8)?;
            [metas, metas_count] = [word(raw, 8), word(raw, 16)];
            [data, data_len] = [word(raw, 24), word(raw, 32)];
            program_id = memory.pubkey(word(raw, 0))?;
        }
    }
    let (meta_bytes, align) = match convention {
        Convention::Rust => (34, 1),
        Convention::C => (16, 8),
    };
    let raw_metas = memory.elements(metas, metas_count, meta_bytes, align)?;
    let data = memory.bytes(data, data_len)?;
    check_size(metas_count, data_len)?;
    let metas_cost = INVOKE_ACCOUNT_METAS.compute_units(metas_count);
    charge(call.meter, INVOKE_DATA.compute_units(data_len).saturating_add(metas_cost))?;
    let mut read = SmallVec::new();
    for raw in raw_metas.chunks_exact(usize::try_from(meta_bytes).unwrap_or(1)) {
        let (is_signer, is_writable) = match convention {
            Convention::Rust => (flag(raw, 32), flag(raw, 33)),
            Convention::C => (flag(raw, 9), flag(raw, 8)),
        };
        if is_signer > 1 || is_writable > 1 {
            return Err(InstructionError::InvalidArgument.into());
        }
        let pubkey = match convention {
            Convention::Rust => pubkey(raw, 0),
            Convention::C => memory.pubkey(word(raw, 0))?,
        };
        let (is_signer, is_writable) = (is_signer == 1, is_writable == 1);
        read.push(AccountMeta { pubkey, is_signer, is_writable });
    }
    Ok(Called { program_id, metas: read, data: data.to_vec() })
}

fn check_size(accounts: u64, data_len: u64) -> Result<(), Error> {
    let accounts_max = INSTRUCTION_ACCOUNTS_MAX as u64;
    if accounts > accounts_max {
        let error =
            SyscallError::MaxInstructionAccountsExceeded { count: accounts, max: accounts_max };
        return Err(error.into());
    }
    if data_len > CALL_DATA_BYTES_MAX {
        let max = CALL_DATA_BYTES_MAX;
        return Err(SyscallError::MaxInstructionDataLenExceeded { len: data_len, max }.into());
    }
    Ok(())
}

/// The addresses that the caller signs for: one for each list of seeds.
fn read_signers(
    call: &mut Call<'_, '_, '_>,
    addr: u64,
    count: u64,
) -> Result<SmallVec<[Pubkey; 2]>, Error> {
    let memory = &call.memory;
    let lists = memory.slices(addr, count)?;
    if lists.len() > CALL_SIGNERS_MAX {
        return Err(SyscallError::TooManySigners.into());
    }
    let caller = call.context.instruction().program_id;
    let mut signers = SmallVec::new();
    for list in lists {
        let seeds = memory.slices(list.addr, list.len)?;
        if seeds.len() > MAX_SEEDS {
            return Err(InstructionError::MaxSeedLengthExceeded.into());
        }
        let seeds: Result<Seeds<'_>, Error> =
            seeds.map(|seed| memory.bytes(seed.addr, seed.len)).collect();
        let address = create_program_address(&seeds?, &caller, &mut call.context.on_curve);
        signers.push(address.map_err(SyscallError::BadSeeds)?);
    }
    Ok(signers)
}

/// Some programs cannot be called by others.
fn check_callable(context: &InvokeContext<'_>, instruction: &Called) -> Result<(), Error> {
    let id = instruction.program_id;
    let environment = context.environment;
    let is_loader = [native_loader::ID, bpf_loader::ID, bpf_loader_deprecated::ID].contains(&id);
    let is_refused_by_loader = id == bpf_loader_upgradeable::ID && {
        let first = instruction.data.first();
        let allows = |(byte, gate): &(u8, Option<Feature>)| {
            first == Some(byte) && gate.is_none_or(|gate| environment.features.has(gate))
        };
        !LOADER_V3_CALLABLE.iter().any(allows)
    };
    let is_precompile = environment.precompiles.get(&id, environment.features).is_some();
    if is_loader || is_refused_by_loader || is_precompile {
        return Err(SyscallError::ProgramNotSupported(id).into());
    }
    Ok(())
}

/// An account of a call, as the caller has it in memory.
struct CallerAccount {
    /// Its place among the caller's accounts.
    place: usize,
    /// Whether the callee may change it.
    is_writable: bool,
    /// Whether the caller's region for its data must follow.
    updates_region: bool,
    /// Where the balance lies.
    lamports: u64,
    /// Where the owner lies.
    owner: u64,
    /// Where the data lie.
    data: u64,
    /// As many data as the caller says there are.
    data_len: u64,
    /// Where the caller keeps their length.
    len: u64,
    /// The length when the caller's input was written.
    original_len: u64,
}

type CallerAccounts = SmallVec<[CallerAccount; 4]>;

/// Addresses of accounts, and what the caller's infos of them begin with.
type Infos = SmallVec<[(Pubkey, [u64; 6]); 8]>;

/// Reads what the caller knows of the callee's accounts.
fn read_accounts(
    call: &mut Call<'_, '_, '_>,
    convention: Convention,
    callee: &InstructionContext<'_>,
    infos: u64,
    infos_count: u64,
) -> Result<CallerAccounts, Error> {
    let features = Features::of(call.context);
    let info_bytes = match convention {
        Convention::Rust => 48,
        Convention::C => 56,
    };
    let end = infos.saturating_add(infos_count.saturating_mul(info_bytes));
    if features.restricts_addresses && end >= INPUT_START {
        return Err(SyscallError::InvalidPointer.into());
    }
    let raw = call.memory.elements(infos, infos_count, info_bytes, 8)?;
    if infos_count > CALL_ACCOUNT_INFOS_MAX {
        let max = CALL_ACCOUNT_INFOS_MAX;
        let error = SyscallError::MaxInstructionAccountInfosExceeded { count: infos_count, max };
        return Err(error.into());
    }
    charge(call.meter, INVOKE_ACCOUNT_INFOS.compute_units(infos_count))?;
    // What lies in memory now is what counts, whatever is written while accounts are looked at.
    let mut known = Infos::new();
    for raw in raw.chunks_exact(usize::try_from(info_bytes).unwrap_or(1)) {
        let info: [u64; 6] = core::array::from_fn(|index| word(raw, index.saturating_mul(8)));
        known.push((call.memory.pubkey(info[0])?, info));
    }
    let mut accounts = CallerAccounts::new();
    for (place, meta) in (0_u16..).zip(&callee.accounts) {
        if meta.first != place {
            continue;
        }
        let caller = call.context.instruction();
        let place = caller.accounts.iter().position(|it| it.index == meta.index);
        let place = place.ok_or(InstructionError::MissingAccount)?;
        let account = call.context.accounts.get(usize::from(meta.index))?;
        if account.account.executable() {
            let len = account.account.data().len() as u64;
            charge(call.meter, INVOKE_ACCOUNT_DATA.compute_units(len))?;
            continue;
        }
        let key = account.key;
        let Some(found) = known.iter().position(|(known, _)| *known == key) else {
            call.context.logs.line(format!("Instruction references an unknown account {key}"));
            return Err(InstructionError::MissingAccount.into());
        };
        let Some(at) = call.context.frame().layout.account(place).copied() else {
            return Err(InstructionError::MissingAccount.into());
        };
        let (_, info) = known.get(found).ok_or(SyscallError::InvalidLength)?;
        let info_addr = infos.saturating_add(info_bytes.saturating_mul(found as u64));
        let pointers = match convention {
            Convention::Rust => rust_pointers(call, features, info, &at)?,
            Convention::C => c_pointers(call, features, info, info_addr, &at)?,
        };
        let Pointers { lamports, owner, data, data_len, len } = pointers;
        let account = CallerAccount {
            place,
            is_writable: meta.is_writable,
            updates_region: meta.is_writable,
            lamports,
            owner,
            data,
            data_len,
            len,
            original_len: at.data_bytes as u64,
        };
        if features.restricts_addresses {
            let data_len = read_u64(&call.memory, len)?;
            charge(call.meter, INVOKE_ACCOUNT_DATA.compute_units(data_len))?;
            accounts.push(account);
        } else {
            let changed = to_callee(call, features, &account)?;
            accounts.push(CallerAccount { updates_region: meta.is_writable || changed, ..account });
        }
    }
    Ok(accounts)
}

/// Where the fields of an account lie for the caller.
struct Pointers {
    lamports: u64,
    owner: u64,
    data: u64,
    data_len: u64,
    len: u64,
}

/// Follows a Rust `AccountInfo`: balance and data are behind an `Rc<RefCell<&mut _>>` each.
fn rust_pointers(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    info: &[u64; 6],
    at: &AccountLayout,
) -> Result<Pointers, Error> {
    let restricts = features.restricts_addresses;
    let [key, lamports, data, owner, ..] = *info;
    if restricts {
        check_pointer(call, key, at.key, "key")?;
        check_pointer(call, owner, at.owner, "owner")?;
    }
    let lamports_ref = lamports.wrapping_add(RC_VALUE);
    let lamports = word(call.memory.elements(lamports_ref, 1, 8, 8)?, 0);
    if restricts {
        check_below_input(lamports_ref)?;
        check_pointer(call, lamports, at.lamports, "lamports")?;
    }
    check_store(&call.memory, lamports, 8, 8)?;
    check_store(&call.memory, owner, 32, 1)?;
    let data_ref = data.wrapping_add(RC_VALUE);
    if restricts {
        check_below_input(data_ref)?;
    }
    let raw = call.memory.elements(data_ref, 1, 16, 8)?;
    let (data, data_len) = (word(raw, 0), word(raw, 8));
    if restricts {
        check_pointer(call, data, at.data, "data")?;
    } else {
        charge(call.meter, INVOKE_ACCOUNT_DATA.compute_units(data_len))?;
    }
    let len = data_ref.saturating_add(8);
    if restricts {
        check_below_input(len)?;
    }
    check_store(&call.memory, len, 8, 1)?;
    let data_len = check_data(call, features, data, data_len, len, at)?;
    Ok(Pointers { lamports, owner, data, data_len, len })
}

/// Follows a C `SolAccountInfo`, which has the length of the data within itself.
fn c_pointers(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    info: &[u64; 6],
    info_addr: u64,
    at: &AccountLayout,
) -> Result<Pointers, Error> {
    let restricts = features.restricts_addresses;
    let [key, lamports, data_len, data, owner, _] = *info;
    if restricts {
        check_pointer(call, key, at.key, "key")?;
        check_pointer(call, owner, at.owner, "owner")?;
        check_pointer(call, lamports, at.lamports, "lamports")?;
        check_pointer(call, data, at.data, "data")?;
    }
    check_store(&call.memory, lamports, 8, 8)?;
    check_store(&call.memory, owner, 32, 1)?;
    if !restricts {
        charge(call.meter, INVOKE_ACCOUNT_DATA.compute_units(data_len))?;
    }
    let len = info_addr.saturating_add(16);
    if restricts {
        check_below_input(len)?;
    }
    check_store(&call.memory, len, 8, 1)?;
    let data_len = check_data(call, features, data, data_len, len, at)?;
    Ok(Pointers { lamports, owner, data, data_len, len })
}

/// A pointer must be the one that the caller was given.
fn check_pointer(
    call: &mut Call<'_, '_, '_>,
    pointer: u64,
    expected: usize,
    field: &str,
) -> Result<(), Error> {
    let expected = input::vaddr(expected);
    if pointer != expected {
        call.context
            .logs
            .line(format!("Invalid account info pointer `{field}': {pointer:#x} != {expected:#x}"));
        return Err(SyscallError::InvalidPointer.into());
    }
    Ok(())
}

fn check_below_input(addr: u64) -> Result<(), Error> {
    if addr >= INPUT_START { Err(SyscallError::InvalidPointer.into()) } else { Ok(()) }
}

fn check_store(memory: &Guest<'_, '_>, addr: u64, len: u64, align: u64) -> Result<(), Error> {
    memory.map.locate(Access::Store, addr, len)?;
    memory.check_alignment(addr, align)
}

/// Checks the data that the caller says an account has, and returns their length.
fn check_data(
    call: &Call<'_, '_, '_>,
    features: Features,
    data: u64,
    data_len: u64,
    len: u64,
    at: &AccountLayout,
) -> Result<u64, Error> {
    let data_len = if features.restricts_addresses {
        let len = read_u64(&call.memory, len)?;
        if len > at.data_capacity as u64 {
            return Err(InstructionError::InvalidRealloc.into());
        }
        len
    } else {
        data_len
    };
    if !features.mode.has_regions() && data_len > 0 {
        if i64::try_from(data_len).is_err() {
            return Err(SyscallError::InvalidLength.into());
        }
        call.memory.map.locate(Access::Store, data, data_len)?;
    }
    Ok(data_len)
}

fn read_u64(memory: &Guest<'_, '_>, addr: u64) -> Result<u64, Error> {
    Ok(word(memory.bytes(addr, 8)?, 0))
}

/// The room that an account's data have in the caller's input, the guest's rights aside.
fn room<R>(
    map: &mut MemoryMap<'_>,
    data: u64,
    use_it: impl FnOnce(&mut [u8]) -> R,
) -> Result<R, Error> {
    let index = map.region_index(data);
    let used = index.and_then(|index| {
        map.change_region(index, |region| {
            let is_data = region.vaddr() == data;
            region.buffer_mut().filter(|_| is_data).map(use_it)
        })
    });
    used.flatten().ok_or_else(|| InstructionError::AccountDataTooSmall.into())
}

/// Takes over what the caller has changed of an account, under its own rights. Whether the
/// caller's region for it must follow.
fn to_callee(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    account: &CallerAccount,
) -> Result<bool, Error> {
    let mut changed = false;
    let memory = &mut call.memory;
    let mut borrowed = call.context.borrow(account.place)?;
    let lamports = read_u64(memory, account.lamports)?;
    if borrowed.lamports() != lamports {
        borrowed.set_lamports(lamports)?;
    }
    if features.mode.has_regions() {
        let before = borrowed.data().len();
        let len = usize::try_from(read_u64(memory, account.len)?).unwrap_or(usize::MAX);
        if before != len {
            if features.mode == DataMode::Regions && len < before {
                room(memory.map, account.data, |room| {
                    if let Some(cut) = room.get_mut(len..before) {
                        cut.fill(0);
                    }
                })?;
            }
            borrowed.set_data_len(len)?;
            changed = true;
        }
        if features.mode == DataMode::Regions && borrowed.can_change_data().is_ok() {
            let len = usize::try_from(account.data_len).unwrap_or(usize::MAX);
            room(memory.map, account.data, |room| {
                borrowed.set_data(room.get(..len).unwrap_or_default())
            })??;
        }
    } else {
        let data = memory.bytes(account.data, account.data_len)?;
        borrowed.set_data_within_limits(data)?;
    }
    let owner = memory.pubkey(account.owner)?;
    if *borrowed.owner() != owner {
        borrowed.set_owner(owner)?;
        changed = true;
    }
    Ok(changed)
}

/// Shows the caller what the callee has changed of an account.
fn to_caller(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    account: &CallerAccount,
) -> Result<(), Error> {
    let borrowed = call.context.borrow(account.place)?;
    let (lamports, owner) = (borrowed.lamports(), *borrowed.owner());
    let index = borrowed.index();
    let len = borrowed.data().len() as u64;
    call.memory.write(account.lamports, &lamports.to_le_bytes())?;
    call.memory.write(account.owner, owner.as_ref())?;
    let before = read_u64(&call.memory, account.len)?;
    let growth_max = match features.restricts_addresses && !call.memory.aligned {
        true => 0,
        false => ACCOUNT_GROWTH_MAX as u64,
    };
    let is_too_long = len > account.original_len.saturating_add(growth_max);
    if is_too_long && (features.restricts_addresses || before != len) {
        call.context.logs.line(format!(
            "Account data size realloc limited to {growth_max} in inner instructions"
        ));
        return Err(InstructionError::InvalidRealloc.into());
    }
    let mut shown = account.data_len;
    if before != len {
        if features.mode != DataMode::Direct {
            if len < before {
                zero_tail(call, features, account, len)?;
            }
            if !features.mode.has_regions() && len > 0 {
                call.memory.map.locate(Access::Store, account.data, len)?;
            }
            shown = len;
        }
        call.memory.write(account.len, &len.to_le_bytes())?;
        // The length in the caller's input lies right before the data.
        let in_input = account.data.saturating_sub(8);
        check_store(&call.memory, in_input, 8, 8)?;
        call.memory.write(in_input, &len.to_le_bytes())?;
    }
    if features.mode == DataMode::Direct {
        return Ok(());
    }
    if shown != len {
        return Err(InstructionError::AccountDataTooSmall.into());
    }
    let data = call.context.accounts.get(usize::from(index))?.account.data();
    if features.mode.has_regions() {
        room(call.memory.map, account.data, |room| {
            if let Some(room) = room.get_mut(..data.len()) {
                room.copy_from_slice(data);
            }
        })?;
    } else {
        call.memory.write(account.data, data)?;
    }
    Ok(())
}

/// Zeroes the data from `len` on, as far as the caller knew of them.
fn zero_tail(
    call: &mut Call<'_, '_, '_>,
    features: Features,
    account: &CallerAccount,
    len: u64,
) -> Result<(), Error> {
    let Some(tail) = account.data_len.checked_sub(len) else {
        return Err(InstructionError::AccountDataTooSmall.into());
    };
    let bytes = |value| usize::try_from(value).unwrap_or(usize::MAX);
    if features.mode.has_regions() {
        room(call.memory.map, account.data, |room| {
            if let Some(tail) = room.get_mut(bytes(len)..bytes(account.data_len)) {
                tail.fill(0);
            }
        })
    } else {
        if tail > 0 {
            call.memory.map.slice_mut(account.data.saturating_add(len), tail)?.fill(0);
        }
        Ok(())
    }
}

/// Makes the caller's region for an account's data as long as they are, and writable if the
/// caller may change them.
fn update_region(
    call: &mut Call<'_, '_, '_>,
    mode: DataMode,
    account: &CallerAccount,
) -> Result<(), Error> {
    let layout = &call.context.frame().layout;
    if layout.account(account.place).is_none_or(|at| at.data_capacity == 0) {
        return Ok(());
    }
    let borrowed = call.context.borrow(account.place)?;
    let number = borrowed.can_change_data().is_ok().then(|| borrowed.index());
    let data = borrowed.data();
    let map = &mut call.memory.map;
    let index = map.region_index(account.data).ok_or(InstructionError::MissingAccount)?;
    map.change_region(index, |region| {
        if mode == DataMode::Direct
            && let Some(room) = region.buffer_mut()
        {
            let (shown, hidden) = room.split_at_mut(data.len().min(room.len()));
            shown.copy_from_slice(data.get(..shown.len()).unwrap_or_default());
            hidden.fill(0);
        }
        region.grow(data.len() as u64);
        region.set_writable(number.is_some());
        region.set_payload(number);
    });
    Ok(())
}

/// What the caller has stored to account data that it works on in place is in the accounts.
fn take_in_place(call: &mut Call<'_, '_, '_>) -> Result<(), Error> {
    let places: Vec<(usize, u64)> = call
        .context
        .frame()
        .layout
        .accounts()
        .map(|(place, at)| (place, input::vaddr(at.data)))
        .collect();
    for (place, data) in places {
        let Some(index) = call.memory.map.region_index(data) else { continue };
        let regions = call.memory.map.regions();
        let Some(region) = regions.get(index).filter(|region| region.vaddr() == data) else {
            continue;
        };
        let Some(_) = region.payload() else { continue };
        let bytes = region.bytes();
        let account = call.context.instruction_account(place)?;
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
