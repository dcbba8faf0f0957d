//! Aborts, stack height, compute units, sibling instructions, and the deprecated allocator.

use selkie_isa::layout::HEAP_START;
use selkie_vm::SyscallError as Error;

use super::{Call, guest::Output};
use crate::{
    chain::error::SyscallError,
    runtime::{input::ALIGNMENT, instruction_context::InstructionContext},
};

pub(super) fn abort(_: &mut Call<'_, '_, '_>, _: [u64; 5]) -> Result<u64, Error> {
    Err(SyscallError::Abort.into())
}

pub(super) fn panic(
    call: &mut Call<'_, '_, '_>,
    [file, len, line, column, ..]: [u64; 5],
) -> Result<u64, Error> {
    let file = call.memory.text(file, len)?.to_owned();
    Err(SyscallError::Panic { file, line, column }.into())
}

pub(super) fn stack_height(call: &mut Call<'_, '_, '_>, _: [u64; 5]) -> Result<u64, Error> {
    Ok(call.context.stack_height() as u64)
}

pub(super) fn remaining_compute_units(
    call: &mut Call<'_, '_, '_>,
    _: [u64; 5],
) -> Result<u64, Error> {
    Ok(call.meter.remaining())
}

/// `sol_alloc_free_`. Heap memory is allocated from the bottom up, and never freed.
pub(super) fn alloc_free(
    call: &mut Call<'_, '_, '_>,
    [size, addr, ..]: [u64; 5],
) -> Result<u64, Error> {
    let align = if call.memory.aligned { ALIGNMENT as u64 } else { 1 };
    if addr != 0 {
        return Ok(0);
    }
    let heap_bytes = u64::from(call.context.heap_bytes);
    let used = &mut call.context.frame_mut().heap_used;
    let start = used.next_multiple_of(align);
    match start.checked_add(size) {
        Some(end) if end <= heap_bytes => {
            *used = end;
            Ok(HEAP_START.saturating_add(start))
        }
        _ => Ok(0),
    }
}

/// The bytes of an account meta: address, signer flag, writable flag.
const META_BYTES: u64 = 34;

/// `sol_get_processed_sibling_instruction`: writes the instruction that was processed `index + 1`
/// instructions before the current one, at the same stack height and for the same caller. If `meta`
/// does not have its lengths, only the lengths are written.
pub(super) fn sibling(
    call: &mut Call<'_, '_, '_>,
    [index, meta, program_out, data_out, accounts_out]: [u64; 5],
) -> Result<u64, Error> {
    let Some(sibling) = find_sibling(call, index).cloned() else { return Ok(0) };
    let meta_output = Output { addr: meta, len: 16, align: 8 };
    call.memory.check_outputs(call.context, &[meta_output])?;
    let lens = [sibling.data.len() as u64, sibling.accounts.len() as u64];
    let lens_bytes = lens.map(u64::to_le_bytes).concat();
    if call.memory.bytes(meta, 16)? != lens_bytes {
        call.memory.write(meta, &lens_bytes)?;
        return Ok(1);
    }
    call.memory.check_outputs(
        call.context,
        &[
            Output::bytes(program_out, 32),
            Output::bytes(data_out, lens[0]),
            Output::bytes(accounts_out, lens[1].saturating_mul(META_BYTES)),
            meta_output,
        ],
    )?;
    let mut metas = Vec::new();
    for account in &sibling.accounts {
        metas.extend(call.context.accounts.get(usize::from(account.index))?.key.as_ref());
        metas.extend([u8::from(account.is_signer), u8::from(account.is_writable)]);
    }
    call.memory.write(program_out, sibling.program_id.as_ref())?;
    call.memory.write(data_out, &sibling.data)?;
    call.memory.write(accounts_out, &metas)?;
    Ok(1)
}

/// Finds the sibling among the instructions that were started. The trace has all top-level
/// instructions from the start, and the inner instructions after them.
fn find_sibling<'a, 'e>(
    call: &'a Call<'_, 'e, '_>,
    index: u64,
) -> Option<&'a InstructionContext<'e>> {
    let context = &call.context;
    let current = context.instruction();
    let range = match current.stack_height {
        1 => 0..context.top_level_started,
        _ => context.top_level..context.trace.len(),
    };
    let same_caller = context
        .trace
        .get(range)?
        .iter()
        .rev()
        .filter(|other| other.caller == current.caller)
        .take_while(|other| other.stack_height >= current.stack_height)
        .filter(|other| other.stack_height == current.stack_height);
    // The first is the current instruction itself.
    same_caller.skip(1).nth(usize::try_from(index).ok()?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use selkie_elf::{Executable, Functions};
    use selkie_isa::Version;
    use selkie_vm::{Config, MemoryMap, Region};
    use solana_pubkey::Pubkey;

    use super::*;
    use crate::runtime::context::Scratch;
    use crate::{
        chain::account::Loader,
        programs::program::{Program, Running},
        runtime::{
            context::{InvokeContext, InvokeFrame, Options, environment::Environment},
            input::Layout,
            instruction_context::InstructionAccount,
            transaction_accounts::TransactionAccounts,
        },
    };

    fn key(byte: u8) -> Pubkey {
        Pubkey::new_from_array([byte; 32])
    }

    fn instruction(
        program: u8,
        stack_height: usize,
        caller: Option<usize>,
    ) -> InstructionContext<'static> {
        let account =
            InstructionAccount { index: 0, first: 0, is_signer: true, is_writable: false };
        InstructionContext {
            program_id: key(program),
            program_index: None,
            accounts: vec![account; usize::from(program)].into(),
            data: vec![program; 3].into(),
            stack_height,
            caller,
            compute_units: 0,
        }
    }

    const META: usize = 8;
    const PROGRAM: usize = 24;
    const DATA: usize = 56;
    const ACCOUNTS: usize = 60;

    /// Calls the syscall in the last instruction, with `lens` as the lengths in `meta`.
    fn call_sibling(
        trace: Vec<InstructionContext<'static>>,
        index: u64,
        lens: [u64; 2],
    ) -> (Result<u64, String>, Vec<u8>) {
        let exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
        let functions = Functions::default();
        let executable =
            Executable::from_text(Version::V0, exit, 0, functions, Arc::default()).unwrap();
        let program = Program::new(executable, Loader::V3).unwrap();
        let environment = Environment::default();
        let accounts = TransactionAccounts::new([(key(9), Default::default())]);
        let mut context = InvokeContext::new(
            accounts,
            &environment,
            &Options::default(),
            &mut Scratch::default(),
        );
        // Top-level instructions come first, inner instructions after them.
        let current = trace.len() - 1;
        let mut order: Vec<usize> = (0..trace.len()).collect();
        order.sort_by_key(|index| trace[*index].stack_height > 1);
        let new_index = |old: usize| order.iter().position(|index| *index == old).unwrap();
        context.trace = order
            .iter()
            .map(|index| {
                let instruction = trace[*index].clone();
                let caller = instruction.caller.map(new_index);
                InstructionContext { caller, ..instruction }
            })
            .collect();
        context.top_level = trace.iter().filter(|it| it.stack_height == 1).count();
        context.top_level_started = context.top_level;
        context.stack.push(InvokeFrame {
            instruction: new_index(current),
            program: Some(Running::Borrowed(&program)),
            layout: Layout::default(),
            heap_used: 0,
        });
        let mut bytes = vec![0; 200];
        bytes[META..META + 16].copy_from_slice(&lens.map(u64::to_le_bytes).concat());
        let regions = vec![Region::writable(HEAP_START, &mut bytes)];
        let mut memory = MemoryMap::new(regions, &Config::default(), Version::V0).unwrap();
        let mut meter = context.meter;
        let address = |offset: usize| HEAP_START + offset as u64;
        let mut call = Call::new(&mut context, &mut memory, &mut meter);
        let result = sibling(
            &mut call,
            [index, address(META), address(PROGRAM), address(DATA), address(ACCOUNTS)],
        );
        let result = result.map_err(|error| error.to_string());
        drop(memory);
        (result, bytes)
    }

    /// Two instructions, an inner instruction of the second, and the current one.
    fn trace() -> Vec<InstructionContext<'static>> {
        vec![
            instruction(2, 1, None),
            instruction(1, 1, None),
            instruction(7, 2, Some(1)),
            instruction(4, 1, None),
        ]
    }

    #[test]
    fn siblings_are_counted_back_from_the_current_instruction() {
        let (result, bytes) = call_sibling(trace(), 0, [3, 1]);
        assert_eq!(result, Ok(1));
        assert_eq!(bytes[PROGRAM..DATA], [1; 32]);
        assert_eq!(bytes[DATA..ACCOUNTS], [1, 1, 1, 0]);
        assert_eq!(bytes[ACCOUNTS..ACCOUNTS + 35], [&[9; 32][..], &[1, 0, 0]].concat());
        let (result, bytes) = call_sibling(trace(), 1, [3, 2]);
        assert_eq!((result, &bytes[PROGRAM..DATA]), (Ok(1), &[2; 32][..]));
        for index in [2, u64::MAX] {
            assert_eq!(call_sibling(trace(), index, [3, 2]).0, Ok(0));
        }
    }

    #[test]
    fn only_instructions_of_the_same_caller_are_siblings() {
        let mut trace = trace();
        trace.push(instruction(5, 2, Some(3)));
        assert_eq!(call_sibling(trace.clone(), 0, [3, 7]).0, Ok(0));
        trace.push(instruction(6, 2, Some(3)));
        let (result, bytes) = call_sibling(trace, 0, [0, 0]);
        assert_eq!(
            (result, &bytes[META..META + 16]),
            (Ok(1), &[3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0][..])
        );
        assert_eq!(bytes[PROGRAM..], [0; 176]);
    }

    #[test]
    fn lengths_that_do_not_match_are_written_alone() {
        let (result, bytes) = call_sibling(trace(), 0, [3, 0]);
        assert_eq!((result, bytes[META], bytes[META + 8]), (Ok(1), 3, 1));
        assert_eq!(bytes[PROGRAM..], [0; 176]);
    }
}
