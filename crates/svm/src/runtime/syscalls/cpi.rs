//! Cross-program invocations (CPI): reads and checks the caller's instruction and account infos,
//! passes the caller's account changes on to the callee, and the callee's back to the caller.
//!
//! Checks, charges and accesses to the caller's memory follow mainnet's order, which decides the
//! error and the compute units that remain (agave: `cpi.rs` of `solana-program-runtime`).
//! [`Convention`] hides the difference between the memory layouts of the Rust and the C SDK.

mod copy;

use selkie_isa::layout::INPUT_START;
use selkie_vm::{Access, SyscallError as Error};
use smallvec::SmallVec;
use solana_account::ReadableAccount;
use solana_instruction::AccountMeta;
use solana_instruction_error::InstructionError;
use solana_pubkey::{MAX_SEEDS, Pubkey};
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, native_loader};

use self::copy::{take_mapped_data, to_callee, to_caller, update_region};
use crate::{
    chain::{
        cost::{
            CALL_ACCOUNT_INFOS_MAX, CALL_DATA_BYTES_MAX, CALL_SIGNERS_MAX,
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
