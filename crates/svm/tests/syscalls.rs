//! Each syscall: its result, its cost, and the order of its errors.

mod common;

use common::{HEAP, INPUT, PROGRAM, Ran, STACK, Setup, call, exit, key, lddw, poke};
use selkie_svm::{
    ComputeBudget, EpochStake, Feature, FeatureSet, InstructionError, Loader, Options, Pubkey,
    Sysvars, sysvars::Clock,
};

/// A call with up to five arguments.
#[derive(Clone, Default)]
struct Call {
    name: &'static str,
    arguments: Vec<u64>,
    /// Words to write to memory before the call.
    words: Vec<(u64, u64)>,
    setup: Setup,
}

fn a_call(name: &'static str, arguments: &[u64]) -> Call {
    Call { name, arguments: arguments.to_vec(), ..Call::default() }
}

/// The outcome of a call: r0 or the text of the error, and the compute units of the syscall alone.
type Outcome = (Result<u64, String>, u64);

impl Call {
    /// Writes a table of slices to an address.
    fn slices(mut self, addr: u64, slices: &[(u64, u64)]) -> Self {
        for (index, (start, len)) in (0..).zip(slices) {
            self.words.push((addr + 16 * index, *start));
            self.words.push((addr + 16 * index + 8, *len));
        }
        self
    }

    fn loader_v1(mut self) -> Self {
        self.setup.loader = Loader::V1;
        self
    }

    fn data(mut self, data: &[u8]) -> Self {
        self.setup.data = data.to_vec();
        self
    }

    fn text(&self) -> Vec<Vec<u8>> {
        let words = self.words.iter().map(|(addr, word)| poke(*addr, *word));
        let arguments = (1..).zip(&self.arguments).map(|(register, value)| lddw(register, *value));
        words.chain(arguments).chain([call(self.name), exit()]).collect()
    }

    /// Returns the compute units consumed before the syscall.
    fn overhead(&self) -> u64 {
        3 * self.words.len() as u64 + self.arguments.len() as u64 + 1
    }

    fn run(&self) -> Ran {
        self.setup.run(&self.text())
    }

    /// Runs the call with this many compute units for the syscall.
    fn run_with(&self, units: u64) -> Outcome {
        let mut call = self.clone();
        let units = units + self.overhead();
        call.setup.options = Options {
            budget: ComputeBudget { compute_unit_limit: units, ..ComputeBudget::default() },
            ..Options::default()
        };
        outcome(&call, &call.run())
    }
}

fn outcome(call: &Call, receipt: &Ran) -> Outcome {
    let run = receipt.run.as_ref().expect("the program ran");
    let units = run.compute_units - call.overhead();
    match &run.result {
        Ok(r0) => (Ok(*r0), units - 1),
        Err(_) => {
            let text = receipt.logs.last().unwrap();
            let start = format!("Program {PROGRAM} failed: ");
            (Err(text.strip_prefix(&start).unwrap().to_owned()), units)
        }
    }
}

fn check(call: Call, r0: u64, units: u64) {
    assert_eq!(outcome(&call, &call.run()), (Ok(r0), units), "{}", call.name);
}

/// Checks that the call fails with `text` and costs `units` compute units, and that it exceeds the
/// budget with one compute unit less.
fn check_fails(call: Call, text: &str, units: u64) {
    assert_eq!(outcome(&call, &call.run()), (Err(text.to_owned()), units), "{}", call.name);
    if let Some(fewer) = units.checked_sub(1) {
        let exceeded = InstructionError::ComputationalBudgetExceeded.to_string();
        assert_eq!(call.run_with(fewer), (Err(exceeded), fewer), "{}", call.name);
    }
}

fn reading(len: u64, addr: u64) -> String {
    format!("Access violation reading {len} bytes at address {addr:#x} (in unallocated region)")
}

fn writing(len: u64, addr: u64) -> String {
    format!("Access violation writing {len} bytes at address {addr:#x} (in unallocated region)")
}

/// Returns the lines that a call logs.
fn lines(call: Call, units: u64) -> Vec<String> {
    let receipt = call.run();
    assert_eq!(outcome(&call, &receipt), (Ok(0), units), "{}", call.name);
    let end = receipt.logs.len() - 2;
    receipt.logs[1..end].to_vec()
}

/// Returns the instruction data after a call that overwrites it.
fn written(call: Call, r0: u64, units: u64) -> Vec<u8> {
    let receipt = call.run();
    assert_eq!(outcome(&call, &receipt), (Ok(r0), units), "{}", call.name);
    let start = usize::try_from(DATA - INPUT).unwrap();
    receipt.input[start..start + call.setup.data.len()].to_vec()
}

/// The address of the instruction data if there are no accounts.
const DATA: u64 = INPUT + 16;
/// An unmapped address.
const NOWHERE: u64 = 0x9_0000_0000;

#[test]
fn abort_and_panic_end_the_program_with_their_text() {
    check_fails(a_call("abort", &[]), "SBF program panicked", 0);
    let file = a_call("sol_panic_", &[DATA, 4, 7, 9]).data(b"a.rs");
    check_fails(file, "SBF program Panicked in a.rs at 7:9", 4);
    check_fails(a_call("sol_panic_", &[NOWHERE, 4, 7, 9]), &reading(4, NOWHERE), 4);
    let text = "invalid utf-8 sequence of 1 bytes from index 1: [97, 255]";
    check_fails(a_call("sol_panic_", &[DATA, 2, 7, 9]).data(b"a\xff"), text, 2);
}

#[test]
fn log_writes_utf8_text_and_charges_by_length() {
    let log = a_call("sol_log_", &[DATA, 2]).data(b"hi");
    assert_eq!(lines(log, 100), ["Program log: hi"]);
    let long = a_call("sol_log_", &[DATA, 300]).data(&[b'a'; 300]);
    assert_eq!(lines(long, 300), [format!("Program log: {}", "a".repeat(300))]);
    assert_eq!(lines(a_call("sol_log_", &[NOWHERE, 0]), 100), ["Program log: "]);
    check_fails(a_call("sol_log_", &[NOWHERE, 101]), &reading(101, NOWHERE), 101);
    let cut = a_call("sol_log_", &[DATA, 1]).data(&[0xf0]);
    check_fails(cut, "incomplete utf-8 byte sequence from index 0: [240]", 100);
}

#[test]
fn log_formats_numbers_addresses_and_compute_units() {
    let numbers = a_call("sol_log_64_", &[0, 1, 255, u64::MAX, 16]);
    let expected = ["Program log: 0x0, 0x1, 0xff, 0xffffffffffffffff, 0x10"];
    assert_eq!(lines(numbers, 100), expected);
    let pubkey = a_call("sol_log_pubkey", &[DATA]).data(key(3).as_ref());
    assert_eq!(lines(pubkey, 100), [format!("Program log: {}", key(3))]);
    check_fails(a_call("sol_log_pubkey", &[NOWHERE]), &reading(32, NOWHERE), 100);
    let units = a_call("sol_log_compute_units_", &[]);
    assert_eq!(lines(units, 100), ["Program consumption: 199899 units remaining"]);
}

#[test]
fn log_data_encodes_slices_and_charges_slices_and_bytes() {
    let slices = [(DATA, 2), (NOWHERE, 0), (DATA, 3)];
    let data = a_call("sol_log_data", &[HEAP, 3]).data(b"abc").slices(HEAP, &slices);
    assert_eq!(lines(data, 100 + 300 + 5), ["Program data: YWI=  YWJj"]);
    check_fails(a_call("sol_log_data", &[NOWHERE, 2]), &reading(32, NOWHERE), 100);
    check_fails(a_call("sol_log_data", &[HEAP + 4, 1]), "Unaligned pointer", 100);
    check(a_call("sol_log_data", &[HEAP + 4, 1]).loader_v1(), 0, 200);
    let slices = a_call("sol_log_data", &[HEAP, 1]).slices(HEAP, &[(NOWHERE, 7)]);
    check_fails(slices, &reading(7, NOWHERE), 207);
    check_fails(a_call("sol_log_data", &[HEAP, u64::MAX]), "InvalidLength", 100);
}

#[test]
fn memcpy_and_memmove_copy_and_only_memmove_may_overlap() {
    for name in ["sol_memcpy_", "sol_memmove_"] {
        let copy = a_call(name, &[DATA, DATA + 4, 4]).data(b"abcdefgh");
        assert_eq!(written(copy, 0, 10), b"efghefgh");
        check(a_call(name, &[NOWHERE, NOWHERE + 9, 0]), 0, 10);
        check_fails(a_call(name, &[NOWHERE, 0, 8]), &writing(8, NOWHERE), 10);
        check_fails(a_call(name, &[HEAP, NOWHERE, 5000]), &reading(5000, NOWHERE), 20);
    }
    check_fails(a_call("sol_memcpy_", &[HEAP, HEAP + 3, 4]), "Overlapping copy", 10);
    check_fails(a_call("sol_memcpy_", &[NOWHERE, NOWHERE, 4]), "Overlapping copy", 10);
    let overlap = a_call("sol_memmove_", &[DATA + 1, DATA, 3]).data(b"abcd");
    assert_eq!(written(overlap, 0, 10), b"aabc");
}

#[test]
fn memset_fills_and_charges_by_length() {
    let fill = a_call("sol_memset_", &[DATA + 1, 0x1_2345, 2]).data(b"abcd");
    assert_eq!(written(fill, 0, 10), b"aEEd");
    check(a_call("sol_memset_", &[NOWHERE, 1, 0]), 0, 10);
    check_fails(a_call("sol_memset_", &[NOWHERE, 1, 2501]), &writing(2501, NOWHERE), 10);
    check_fails(a_call("sol_memset_", &[NOWHERE, 1, 2750]), &writing(2750, NOWHERE), 11);
}

#[test]
fn memcmp_returns_the_difference_of_the_first_unequal_bytes() {
    let compare = |left: u64, right: u64, len| {
        let call = a_call("sol_memcmp_", &[DATA + left, DATA + right, len, DATA + 8]);
        let written = written(call.data(b"aab\xffaaa_...."), 0, 10);
        i32::from_le_bytes(*written[8..].first_chunk().unwrap())
    };
    assert_eq!(compare(0, 4, 2), 0);
    assert_eq!(compare(0, 4, 3), 1);
    assert_eq!(compare(4, 0, 3), -1);
    assert_eq!(compare(3, 0, 1), 158);
    assert_eq!(compare(0, 2, 0), 0);
    let call = |left, right, out| a_call("sol_memcmp_", &[left, right, 8, out]);
    check_fails(call(NOWHERE, NOWHERE + 1, NOWHERE), &reading(8, NOWHERE), 10);
    check_fails(call(HEAP, NOWHERE, NOWHERE), &reading(8, NOWHERE), 10);
    check_fails(call(HEAP, HEAP, NOWHERE), &writing(4, NOWHERE), 10);
    check_fails(call(HEAP, HEAP, HEAP + 2), "Unaligned pointer", 10);
    check(call(HEAP, HEAP, HEAP + 2).loader_v1(), 0, 10);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hash_of_slices_equals_hash_of_their_concatenation() {
    for (name, of_nothing, of_abc) in [
        ("sol_sha256", "e3b0c44298fc1c14", "ba7816bf8f01cfea"),
        ("sol_keccak256", "c5d2460186f7233c", "4e03657aea45a94f"),
        ("sol_blake3", "af1349b9f5f9a1a6", "6437b3ac38465133"),
        ("sol_sha512", "cf83e1357eefb8bd", "ddaf35a193617aba"),
    ] {
        let nothing = a_call(name, &[NOWHERE, 0, DATA]).data(&[0; 64]);
        assert!(hex(&written(nothing, 0, 85)).starts_with(of_nothing), "{name}");
        let mut data = [0; 67];
        data[..3].copy_from_slice(b"abc");
        let slices = [(DATA, 1), (DATA + 1, 2), (NOWHERE, 0)];
        let abc = a_call(name, &[HEAP, 3, DATA + 3]).data(&data).slices(HEAP, &slices);
        assert!(hex(&written(abc, 0, 85 + 30)[3..]).starts_with(of_abc), "{name}");
        let long = a_call(name, &[HEAP, 1, STACK]).slices(HEAP, &[(HEAP, 101)]);
        check(long, 0, 85 + 50);
    }
}

#[test]
fn hashes_check_count_then_output_then_slices() {
    let call = |slices, count, out| a_call("sol_sha256", &[slices, count, out]);
    let receipt = call(NOWHERE, 20_001, NOWHERE).run();
    let line = "Sha256 Hashing 20001 sequences in one syscall is over the limit 20000";
    assert_eq!(receipt.logs[1], line);
    // Too many are rejected before compute units run out.
    check_fails(call(NOWHERE, 20_001, NOWHERE), "Hashing too many sequences", 0);
    check_fails(call(NOWHERE, 1, NOWHERE), &writing(32, NOWHERE), 85);
    check_fails(call(NOWHERE, 1, HEAP), &reading(16, NOWHERE), 85);
    check_fails(call(HEAP + 1, 1, HEAP), "Unaligned pointer", 85);
    let second = call(HEAP, 2, STACK).slices(HEAP, &[(HEAP, 40), (NOWHERE, 40)]);
    check_fails(second, &reading(40, NOWHERE), 85 + 20);
}

/// A wallet's associated token account on mainnet: three seeds and a program, one by one in the
/// instruction data, followed by space for a bump, the address and a fourth seed.
fn associated_token(name: &'static str, count: u64, arguments: &[u64]) -> Call {
    let keys = [
        "G4rE24Tzh89qJJxLsSnScRNUF54gJ3NK6ce1e5RFVCEp",
        "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        "4HnqjBnHjGAptyFqQYZk8xZ1kbcSEpXf6P8rDngTcLWJ",
        "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    ];
    let mut data: Vec<u8> =
        keys.iter().flat_map(|key| Pubkey::from_str_const(key).to_bytes()).collect();
    data.extend([0; 34]);
    let slices = [(DATA, 32), (DATA + 32, 32), (DATA + 64, 32), (SEED, 1)];
    let arguments = [&[HEAP, count, DATA + 96], arguments].concat();
    a_call(name, &arguments).slices(HEAP, &slices).data(&data)
}

/// The number of bumps that fail before the first valid one.
const FAILED_BUMPS: u64 = 5;

const ADDRESS: u64 = DATA + 128;
const BUMP: u64 = ADDRESS + 32;
const SEED: u64 = BUMP + 1;

#[test]
fn program_addresses_are_found() {
    let account = Pubkey::from_str_const("B59joXqk31MKCers4KDj5W1udaiSLhpAJeePz845Nafo");
    let find = associated_token("sol_try_find_program_address", 3, &[ADDRESS, BUMP]);
    let after = written(find, 0, 1500 * (1 + FAILED_BUMPS));
    let bump = after[160];
    assert_eq!((&after[128..160], u64::from(bump)), (account.as_ref(), 255 - FAILED_BUMPS));
    // The address is created with the same bump, and not with one that fails.
    let create = |bump: u8, r0| {
        let mut call = associated_token("sol_create_program_address", 4, &[ADDRESS]);
        *call.setup.data.last_mut().unwrap() = bump;
        written(call, r0, 1500)[128..160].to_vec()
    };
    assert_eq!(create(bump, 0), account.as_ref());
    assert_eq!(create(bump + 1, 1), [0; 32]);
}

#[test]
fn program_addresses_check_memory_and_seeds_in_order() {
    let too_long = "Could not create program address with signer seeds: \
                    Length of the seed is too long for address generation";
    for name in ["sol_create_program_address", "sol_try_find_program_address"] {
        let call = |seeds, count, program| a_call(name, &[seeds, count, program, NOWHERE, NOWHERE]);
        check_fails(call(NOWHERE, 17, NOWHERE), &reading(17 * 16, NOWHERE), 1500);
        check_fails(call(HEAP, 17, NOWHERE), too_long, 1500);
        let seeds = call(HEAP, 2, NOWHERE).slices(HEAP, &[(NOWHERE, 32), (NOWHERE, 33)]);
        check_fails(seeds, &reading(32, NOWHERE), 1500);
        let seeds = call(HEAP, 1, NOWHERE).slices(HEAP, &[(NOWHERE, 33)]);
        check_fails(seeds, too_long, 1500);
        check_fails(call(HEAP, 0, NOWHERE), &reading(32, NOWHERE), 1500);
    }
    let find = |out, bump| associated_token("sol_try_find_program_address", 3, &[out, bump]);
    let units = 1500 * (1 + FAILED_BUMPS);
    check_fails(find(NOWHERE, NOWHERE), &writing(1, NOWHERE), units);
    check_fails(find(NOWHERE, BUMP), &writing(32, NOWHERE), units);
    check_fails(find(ADDRESS, ADDRESS + 31), "Overlapping copy", units);
    // With sixteen seeds every bump fails, since it would be the seventeenth seed.
    let mut full = a_call("sol_try_find_program_address", &[HEAP, 16, DATA, DATA, DATA]);
    full.setup.options.budget.compute_unit_limit = 1_400_000;
    check(full.data(&[0; 32]), 1, 1500 * 256);
}

#[test]
fn getters_write_the_c_struct_of_each_sysvar() {
    for (name, units, len) in [
        ("sol_get_clock_sysvar", 140, 40),
        ("sol_get_epoch_schedule_sysvar", 140, 40),
        ("sol_get_rent_sysvar", 124, 24),
        ("sol_get_epoch_rewards_sysvar", 196, 96),
        ("sol_get_last_restart_slot", 108, 8),
    ] {
        check(a_call(name, &[HEAP]), 0, units);
        check_fails(a_call(name, &[HEAP]).loader_v1(), "Unaligned pointer", units);
        check_fails(a_call(name, &[INPUT]), "Invalid pointer", units);
        check_fails(a_call(name, &[16]), &writing(len, 16), units);
        check_fails(a_call(name, &[HEAP + 4]), "Unaligned pointer", units);
        let mut absent = a_call(name, &[HEAP]);
        absent.setup.environment.sysvars = Sysvars::empty();
        check_fails(absent, "Unsupported sysvar", units);
    }
}

#[test]
fn get_sysvar_reads_a_part_of_the_account_data() {
    let id = solana_sdk_ids::sysvar::clock::ID;
    let call = |out, offset, len| {
        let mut call = a_call("sol_get_sysvar", &[DATA, out, offset, len]).data(id.as_ref());
        let clock = Clock { slot: 7, unix_timestamp: 9, ..Clock::default() };
        call.setup.environment.sysvars.set_clock(&clock);
        call
    };
    check(call(HEAP, 0, 40), 0, 110);
    check(call(HEAP, 33, 8), 1, 110);
    check(call(HEAP, 40, 0), 0, 110);
    check(call(HEAP, 41, 0), 1, 110);
    check(call(HEAP, 0, 5000), 1, 120);
    check(call(HEAP, 0, 8).data(&[1; 32]), 2, 110);
    check_fails(call(HEAP, 0, 8).loader_v1(), "Unaligned pointer", 110);
    check_fails(call(INPUT, 0, 8), "Invalid pointer", 110);
    check_fails(call(16, 0, 8), &writing(8, 16), 110);
    check_fails(call(HEAP, u64::MAX, 8), "Program arithmetic overflowed", 110);
    check_fails(a_call("sol_get_sysvar", &[NOWHERE, HEAP, 0, 8]), &reading(32, NOWHERE), 110);
}

#[test]
fn the_clock_may_be_written_to_the_input_without_the_address_restriction() {
    let mut call = a_call("sol_get_clock_sysvar", &[DATA]).data(&[1; 40]);
    call.setup.environment.features =
        FeatureSet::mainnet().without(Feature::SyscallParameterAddressRestrictions);
    assert_eq!(written(call, 0, 140), [0; 40]);
}

#[test]
fn epoch_stake_of_the_cluster_and_of_vote_accounts() {
    let call = |vote_account| {
        let mut call = a_call("sol_get_epoch_stake", &[vote_account]).data(key(1).as_ref());
        call.setup.environment.epoch_stake =
            EpochStake { total: 1000, vote_accounts: [(key(1), 30)].into() };
        call
    };
    check(call(0), 1000, 100);
    check(call(DATA), 30, 110);
    check(call(DATA).data(&[2; 32]), 0, 110);
    check_fails(call(NOWHERE), &reading(32, NOWHERE), 110);
}

#[test]
fn set_return_data_limits_length_and_charges_by_it() {
    let set = |addr, len| a_call("sol_set_return_data", &[addr, len]);
    check(set(DATA, 3).data(b"abc"), 0, 100);
    check(set(NOWHERE, 0), 0, 100);
    check(set(HEAP, 1024), 0, 104);
    check_fails(set(NOWHERE, 1025), "Return data too large (1025 > 1024)", 104);
    check_fails(set(NOWHERE, 1), &reading(1, NOWHERE), 100);
    let get = |out, len, program| a_call("sol_get_return_data", &[out, len, program]);
    check(get(NOWHERE, 9, NOWHERE), 0, 100);
}

/// Sets three bytes of return data, then gets them.
#[test]
fn get_return_data_copies_data_and_program() {
    let get = |out: u64, len: u64, program: u64| {
        let set = [lddw(1, DATA), lddw(2, 250), call("sol_set_return_data")];
        let get = [lddw(1, out), lddw(2, len), lddw(3, program), call("sol_get_return_data")];
        let setup = Setup { data: [7; 300].to_vec(), ..Setup::default() };
        let receipt = setup.run(&[set.concat(), get.concat(), exit()]);
        let units = receipt.compute_units - 3 - 101 - 4;
        (receipt.receipt.result, units, receipt.input[16..].to_vec())
    };
    let full = Err(InstructionError::Custom(250));
    let (result, units, bytes) = get(DATA + 260, 20, HEAP);
    assert_eq!((result, units), (full.clone(), 101));
    assert_eq!(bytes[259..281], [7; 22]);
    let (result, units, bytes) = get(DATA, 1000, DATA + 250);
    assert_eq!((result, units), (full, 102));
    assert_eq!(bytes[250..282], [0xaa; 32]);
    assert_eq!(get(NOWHERE, 0, NOWHERE).1, 101);
    let failed = Err(InstructionError::ProgramFailedToComplete);
    assert_eq!((get(HEAP, 20, HEAP + 19).0, get(HEAP, 20, HEAP + 19).1), (failed, 100));
}

#[test]
fn stack_height_and_remaining_compute_units_are_returned() {
    check(a_call("sol_get_stack_height", &[]), 1, 100);
    let siblings = a_call("sol_get_processed_sibling_instruction", &[0, NOWHERE, 0, 0, 0]);
    check(siblings, 0, 100);
    check(a_call("sol_remaining_compute_units", &[]), 199_899, 100);
}

#[test]
fn alloc_free_allocates_aligned_heap_from_the_bottom() {
    let alloc = |size, addr| a_call("sol_alloc_free_", &[size, addr]);
    check(alloc(8, 0), HEAP, 0);
    check(alloc(8, HEAP), 0, 0);
    check(alloc(32 * 1024, 0), HEAP, 0);
    check(alloc(32 * 1024 + 1, 0), 0, 0);
    check(alloc(u64::MAX, 0), 0, 0);
    let twice = |loader| {
        let alloc = [lddw(1, 3), lddw(2, 0), call("sol_alloc_free_")].concat();
        let setup = Setup { loader, ..Setup::default() };
        let receipt = setup.run(&[alloc.clone(), alloc, exit()]);
        receipt.run.unwrap().result.unwrap()
    };
    assert_eq!((twice(Loader::V3), twice(Loader::V1)), (HEAP + 8, HEAP + 3));
}

const CURVE25519_BASE: [u8; 32] = {
    let mut bytes = [0x66; 32];
    bytes[0] = 0x58;
    bytes
};

#[test]
fn points_of_each_curve_validate_and_add() {
    let base = |call: Call| call.data(&CURVE25519_BASE);
    let validate = |curve, point| base(a_call("sol_curve_validate_point", &[curve, point]));
    check(validate(0, DATA), 0, 159);
    check(validate(1, DATA), 1, 169);
    check_fails(validate(5, NOWHERE), &reading(96, NOWHERE), 1565);
    check_fails(validate(0x86, NOWHERE), &reading(192, NOWHERE), 1968);
    for curve in [2, 4, 0x80, 0x84, 0x105] {
        check_fails(validate(curve, DATA), "InvalidAttribute", 0);
    }
    let op = |curve, operation, out| {
        base(a_call("sol_curve_group_op", &[curve, operation, DATA, DATA, out]))
    };
    assert_eq!(written(op(0, 1, DATA), 0, 475)[..2], [1, 0]);
    check(op(0, 2, NOWHERE), 1, 2177);
    check_fails(op(0, 0, NOWHERE), &writing(32, NOWHERE), 473);
    check_fails(op(0, 3, DATA), "InvalidAttribute", 0);
    check_fails(op(5, 3, DATA), "InvalidAttribute", 0);
}

#[test]
fn curves_and_operations_of_inactive_features_fail() {
    let with = |features: FeatureSet, name, arguments: &[u64]| {
        let mut call = a_call(name, arguments).data(&CURVE25519_BASE);
        call.setup.environment.features = features;
        call
    };
    let mainnet = FeatureSet::mainnet();
    let lenient = mainnet.without(Feature::AbortOnInvalidCurve);
    check(with(lenient, "sol_curve_validate_point", &[9, DATA]), 1, 0);
    check(with(lenient, "sol_curve_group_op", &[0, 9, DATA, DATA, DATA]), 1, 0);
    check(with(lenient, "sol_curve_multiscalar_mul", &[5, DATA, DATA, 1, DATA]), 1, 0);
    let without_bls = lenient.without(Feature::Bls12381);
    let validate = with(without_bls, "sol_curve_validate_point", &[5, DATA]);
    check_fails(validate, "InvalidAttribute", 0);
    let without_g2 = mainnet.without(Feature::AltBn128G2);
    let g2_add = with(without_g2, "sol_alt_bn128_group_op", &[4, DATA, 0, DATA]);
    check_fails(g2_add, "InvalidAttribute", 0);
    let big_only = mainnet.without(Feature::AltBn128LittleEndian);
    for name in ["sol_alt_bn128_group_op", "sol_alt_bn128_compression"] {
        check_fails(with(big_only, name, &[0x80, DATA, 0, DATA]), "InvalidAttribute", 0);
    }
}

#[test]
fn multiscalar_multiplication_charges_by_points() {
    let sum = |count, out| a_call("sol_curve_multiscalar_mul", &[0, HEAP, DATA, count, out]);
    let call = sum(1, DATA).data(&CURVE25519_BASE);
    assert_eq!(written(call, 0, 2273)[..2], [1, 0]);
    check_fails(sum(0, NOWHERE), &writing(32, NOWHERE), 2273);
    check_fails(sum(513, HEAP), "InvalidLength", 0);
    let nowhere = a_call("sol_curve_multiscalar_mul", &[0, NOWHERE, NOWHERE, 3, HEAP]);
    check_fails(nowhere, &reading(96, NOWHERE), 2273 + 2 * 758);
}

#[test]
fn alt_bn128_operations_charge_their_costs() {
    let op = |operation, len, out| a_call("sol_alt_bn128_group_op", &[operation, DATA, len, out]);
    assert_eq!(written(op(0, 64, DATA).data(&[0; 64]), 0, 334), [0; 64]);
    check(op(0, 64, HEAP).data(&[1; 64]), 1, 334);
    check(op(4, 64, HEAP).data(&[0; 64]), 1, 535);
    check_fails(op(2, 64, NOWHERE), &writing(64, NOWHERE), 3840);
    check_fails(op(1, 64, HEAP), "InvalidAttribute", 0);
    let pairing = op(3, 0, DATA).data(&[7; 32]);
    assert_eq!(written(pairing, 0, 36_364 + 85 + 32), [&[0; 31][..], &[1]].concat());
    let compress = |operation| {
        let call = a_call("sol_alt_bn128_compression", &[operation, DATA, 64, HEAP]);
        call.data(&[0; 64])
    };
    check(compress(0), 0, 130);
    check(compress(3), 0, 13_710);
    check_fails(compress(4), "InvalidAttribute", 0);
}

#[test]
fn poseidon_hashes_and_charges_by_inputs() {
    let hash = |parameters, endianness, count| {
        let call = a_call("sol_poseidon", &[parameters, endianness, HEAP, count, DATA]);
        call.data(&[1; 32]).slices(HEAP, &[(DATA, 32), (DATA, 31)])
    };
    // The result of `solana-poseidon`.
    let expected = [5, 191, 172, 229, 129, 238, 97, 119];
    assert_eq!(written(hash(0, 0, 1), 0, 603)[..8], expected);
    check(hash(0, 0, 2), 1, 542 + 4 * 61);
    check(hash(0, 0, 0), 1, 542);
    check_fails(hash(1, 2, 13), "Invalid parameters.", 0);
    check_fails(hash(0, 2, 13), "Invalid endianness.", 0);
    check_fails(hash(0, 1, 13), "InvalidLength", 0);
}

#[test]
fn secp256k1_recover_returns_error_codes() {
    let recover = |id, out| a_call("sol_secp256k1_recover", &[DATA, id, DATA, out]).data(&[1; 64]);
    check(recover(4, HEAP), 2, 25_000);
    check(recover(u64::MAX, HEAP), 2, 25_000);
    check(recover(3, HEAP), 3, 25_000);
    check_fails(recover(0, NOWHERE), &writing(64, NOWHERE), 25_000);
}

#[test]
fn big_mod_exp_returns_powers() {
    // 3 to the power of 5 modulo 7, in three words from HEAP + 48 on.
    let power = |lens: [u64; 3], out| {
        let numbers = [(HEAP + 48, lens[0]), (HEAP + 56, lens[1]), (HEAP + 64, lens[2])];
        let mut call = a_call("sol_big_mod_exp", &[HEAP, out]).slices(HEAP, &numbers);
        call.words.extend([(HEAP + 48, 3), (HEAP + 56, 5), (HEAP + 64, 7)]);
        call.setup.environment.features = FeatureSet::all();
        call.data(&[9; 8])
    };
    assert_eq!(written(power([1, 1, 2], DATA), 0, 422 + 2), [5, 0, 9, 9, 9, 9, 9, 9]);
    assert_eq!(written(power([0, 1, 1], DATA), 0, 422 + 1)[..2], [0, 9]);
    check_fails(power([513, 1, 1], DATA), "InvalidLength", 422);
    check_fails(power([1, 1, 0], DATA), "InvalidAttribute", 422 + 1);
    check_fails(power([1, 1, 1], NOWHERE), &writing(1, NOWHERE), 422 + 1);
    let mut unaligned = power([1, 1, 1], DATA);
    unaligned.arguments[0] = HEAP + 1;
    check_fails(unaligned, "Unaligned pointer", 422);
}
