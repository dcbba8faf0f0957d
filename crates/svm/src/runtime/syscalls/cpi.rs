//! Cross-program invocations (CPI): reads and checks the caller's instruction and account infos,
//! passes the caller's account changes on to the callee, and the callee's back to the caller.
//!
//! Checks, charges and accesses to the caller's memory follow mainnet's order, which decides the
//! error and the compute units that remain (agave: `cpi.rs` of `solana-program-runtime`).
//! [`Convention`] hides the difference between the memory layouts of the Rust and the C SDK.

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
        instruction_context::{InstructionAccount, InstructionContext},
        syscalls::{
            Call, charge,
            guest::Guest,
            pda::{Seeds, create_program_address},
        },
        transaction_accounts::BorrowedAccount,
    },
};

/// The memory layout of an invocation's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Convention {
    /// `StableInstruction`, `AccountMeta` and `AccountInfo` of the Rust SDK.
    Rust,
    /// `SolInstruction`, `SolAccountMeta` and `SolAccountInfo` of the C SDK.
    C,
}

/// The offset of the value in an `Rc<RefCell<T>>`: two reference counts and the borrow flag precede
/// it.
const RC_VALUE: u64 = 24;

/// The instructions of loader v3 that programs may invoke, by their first byte.
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

/// Invokes another program for the current one.
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
    // The callee charges the context's meter, which lags behind the caller's while the caller runs.
    call.context.meter = *call.meter;
    let CpiInstruction { program_id, metas, data } = instruction;
    let callee = call.context.prepare_cpi(&program_id, &metas, data, &signers)?;
    let mut accounts = read_accounts(call, convention, &callee, infos, infos_count)?;
    let features = Features::of(call.context);
    if features.mode == DataMode::Direct {
        take_mapped_data(call)?;
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

/// The features that change how invocations work.
#[derive(Clone, Copy)]
struct Features {
    /// Pointers to account fields must be those of the caller's input; all other pointers must lie
    /// below the input (SIMD-0459).
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

/// The instruction of an invocation. Most have a few accounts.
struct CpiInstruction {
    program_id: Pubkey,
    metas: SmallVec<[AccountMeta; 8]>,
    data: Vec<u8>,
}

/// Reads the instruction, and charges for its data and accounts.
fn read_instruction(
    call: &mut Call<'_, '_, '_>,
    convention: Convention,
    addr: u64,
) -> Result<CpiInstruction, Error> {
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
    let raw_metas = raw_metas.chunks_exact(usize::try_from(meta_bytes).unwrap_or(1));
    let metas: Result<_, Error> = raw_metas.map(|raw| read_meta(memory, convention, raw)).collect();
    Ok(CpiInstruction { program_id, metas: metas?, data: data.to_vec() })
}

#[inline]
fn read_meta(
    memory: &Guest<'_, '_>,
    convention: Convention,
    raw: &[u8],
) -> Result<AccountMeta, Error> {
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
    Ok(AccountMeta { pubkey, is_signer: is_signer == 1, is_writable: is_writable == 1 })
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

/// Derives the addresses that the caller signs for, one for each list of seeds.
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

/// Refuses precompiles, the other loaders, and most instructions of loader v3 (agave:
/// `check_authorized_program`).
fn check_callable(context: &InvokeContext<'_>, instruction: &CpiInstruction) -> Result<(), Error> {
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

/// An account of an invocation, as the caller's account info describes it. Pointers are guest
/// addresses.
struct CallerAccount {
    /// The account's index in the caller's instruction.
    index_in_caller: usize,
    /// Whether the callee may change it.
    is_writable: bool,
    /// Whether the caller's region of the account data must be updated after the invocation.
    updates_region: bool,
    pointers: Pointers,
    /// The length of the data when the caller's input was serialized.
    original_len: u64,
}

type CallerAccounts = SmallVec<[CallerAccount; 4]>;

/// The fields of an account in the caller's memory.
#[derive(Clone, Copy)]
struct Pointers {
    lamports: u64,
    owner: u64,
    data: u64,
    /// The length of the data according to the caller; a value, not a pointer.
    data_len: u64,
    /// The length field of the account info.
    len: u64,
}

/// The caller's account infos.
struct AccountInfos {
    /// The guest address of the array.
    addr: u64,
    /// The bytes of an account info.
    info_bytes: u64,
    /// The address of each account, and the first words of its info.
    infos: SmallVec<[(Pubkey, [u64; 6]); 8]>,
}

/// Reads the caller's infos of the callee's accounts. Without SIMD-0459 the caller's changes of each
/// account are passed on to the callee before the next account is read.
fn read_accounts(
    call: &mut Call<'_, '_, '_>,
    convention: Convention,
    callee: &InstructionContext<'_>,
    infos: u64,
    infos_count: u64,
) -> Result<CallerAccounts, Error> {
    let features = Features::of(call.context);
    let infos = read_infos(call, convention, features, infos, infos_count)?;
    let mut accounts = CallerAccounts::new();
    for (index, meta) in (0_u16..).zip(&callee.accounts) {
        if meta.first != index {
            continue;
        }
        let account = read_account(call, convention, features, &infos, *meta)?;
        let Some(mut account) = account else { continue };
        if features.restricts_addresses {
            let data_len = read_u64(&call.memory, account.pointers.len)?;
            charge(call.meter, INVOKE_ACCOUNT_DATA.compute_units(data_len))?;
        } else {
            account.updates_region |= to_callee(call, features, &account)?;
        }
        accounts.push(account);
    }
    Ok(accounts)
}

/// Copies the array of account infos, so that later writes to accounts do not change them.
#[inline]
fn read_infos(
    call: &mut Call<'_, '_, '_>,
    convention: Convention,
    features: Features,
    addr: u64,
    count: u64,
) -> Result<AccountInfos, Error> {
    let info_bytes = match convention {
        Convention::Rust => 48,
        Convention::C => 56,
    };
    let end = addr.saturating_add(count.saturating_mul(info_bytes));
    if features.restricts_addresses && end >= INPUT_START {
        return Err(SyscallError::InvalidPointer.into());
    }
    let raw = call.memory.elements(addr, count, info_bytes, 8)?;
    if count > CALL_ACCOUNT_INFOS_MAX {
        let max = CALL_ACCOUNT_INFOS_MAX;
        return Err(SyscallError::MaxInstructionAccountInfosExceeded { count, max }.into());
    }
    charge(call.meter, INVOKE_ACCOUNT_INFOS.compute_units(count))?;
    let mut infos = SmallVec::new();
    for raw in raw.chunks_exact(usize::try_from(info_bytes).unwrap_or(1)) {
        let info: [u64; 6] = core::array::from_fn(|index| word(raw, index.saturating_mul(8)));
        infos.push((call.memory.pubkey(info[0])?, info));
    }
    Ok(AccountInfos { addr, info_bytes, infos })
}

/// Finds and checks the caller's info of an account. Executable accounts need none: they are charged
/// for, and `None` is returned.
#[inline]
fn read_account(
    call: &mut Call<'_, '_, '_>,
    convention: Convention,
    features: Features,
    infos: &AccountInfos,
    meta: InstructionAccount,
) -> Result<Option<CallerAccount>, Error> {
    let caller = call.context.instruction();
    let index_in_caller = caller.accounts.iter().position(|it| it.index == meta.index);
    let index_in_caller = index_in_caller.ok_or(InstructionError::MissingAccount)?;
    let account = call.context.accounts.get(usize::from(meta.index))?;
    if account.account.executable() {
        let len = account.account.data().len() as u64;
        charge(call.meter, INVOKE_ACCOUNT_DATA.compute_units(len))?;
        return Ok(None);
    }
    let key = account.key;
    let Some(position) = infos.infos.iter().position(|(known, _)| *known == key) else {
        call.context.logs.line(format!("Instruction references an unknown account {key}"));
        return Err(InstructionError::MissingAccount.into());
    };
    let Some(layout) = call.context.frame().layout.account(index_in_caller).copied() else {
        return Err(InstructionError::MissingAccount.into());
    };
    let (_, info) = infos.infos.get(position).ok_or(SyscallError::InvalidLength)?;
    let info_addr = infos.addr.saturating_add(infos.info_bytes.saturating_mul(position as u64));
    let pointers = match convention {
        Convention::Rust => rust_pointers(call, features, info, &layout)?,
        Convention::C => c_pointers(call, features, info, info_addr, &layout)?,
    };
    Ok(Some(CallerAccount {
        index_in_caller,
        is_writable: meta.is_writable,
        updates_region: meta.is_writable,
        pointers,
        original_len: layout.data_bytes as u64,
    }))
}

/// Reads a Rust `AccountInfo`, which refers to lamports and data by an `Rc<RefCell<&mut _>>` each.
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

/// Reads a C `SolAccountInfo`, which contains the length of the data.
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

/// Fails, with a log line, if a pointer is not that of the field in the caller's input.
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

/// Checks that the caller may write to the account data that its info describes. Returns their length.
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
fn to_callee(
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
fn to_caller(
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
fn update_region(
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
fn take_mapped_data(call: &mut Call<'_, '_, '_>) -> Result<(), Error> {
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
