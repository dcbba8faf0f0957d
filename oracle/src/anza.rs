//! anza's engine: `solana-sbpf`.

#![allow(unsafe_code, reason = "anza's mapping takes raw pointers")]

use core::{
    cell::{Cell, RefCell},
    error::Error,
    ptr::NonNull,
};
use std::{rc::Rc, sync::Arc};

use selkie_isa::{Version, symbol::ENTRYPOINT};
use solana_sbpf::{
    ebpf,
    elf::Executable,
    error::{EbpfError, ProgramResult, StableResult},
    interpreter::Interpreter,
    memory_region::{AccessType, AccessViolationHandler, HostBuffer, MemoryMapping, MemoryRegion},
    program::{BuiltinFunctionDefinition, BuiltinProgram, FunctionRegistry, SBPFVersion},
    verifier::RequisiteVerifier,
    vm::{CallFrame, Config, ContextObject, EbpfVm, ExecutionMode},
};

use crate::{
    case::{Case, Decision, Refused, RegionSpec, SYSCALLS},
    observed::{End, Observed, Run, Trace},
    syscalls::{self, Failure, Memory},
};

/// The state that syscalls of anza's engine use.
pub(crate) struct Context {
    remaining: u64,
    memory: MemoryMapping,
    asked: Asked,
}

/// The calls of the host, by syscalls and by the handler of access violations.
type Asked = Rc<Cell<Trace>>;

impl ContextObject for Context {
    fn consume(&mut self, amount: u64) {
        self.remaining = self.remaining.saturating_sub(amount);
    }

    fn get_remaining(&self) -> u64 {
        self.remaining
    }

    fn active_mapping_ptr(&mut self) -> NonNull<MemoryMapping> {
        NonNull::from_mut(&mut self.memory)
    }
}

impl Memory for Context {
    type Error = EbpfError;

    fn load(&mut self, vaddr: u64, len: u64) -> Result<&[u8], EbpfError> {
        match self.memory.map(AccessType::Load, vaddr, len) {
            // SAFETY: the mapping bounded the slice, and nothing else uses it meanwhile.
            StableResult::Ok(buffer) => Ok(unsafe { &*buffer.ptr() }),
            StableResult::Err(error) => Err(error),
        }
    }

    fn store(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], EbpfError> {
        match self.memory.map(AccessType::Store, vaddr, len) {
            // SAFETY: the mapping bounded the slice, and nothing else uses it meanwhile.
            StableResult::Ok(buffer) => Ok(unsafe { &mut *buffer.ptr_mut() }),
            StableResult::Err(error) => Err(error),
        }
    }

    fn consume(&mut self, units: u64) -> bool {
        let enough = self.remaining >= units;
        self.remaining = self.remaining.saturating_sub(units);
        enough
    }

    fn remaining(&self) -> u64 {
        self.remaining
    }

    fn note(&mut self, numbers: &[u64]) {
        note(&self.asked, numbers);
    }
}

fn note(asked: &Asked, numbers: &[u64]) {
    let mut trace = asked.get();
    trace.note(numbers);
    asked.set(trace);
}

struct Syscall<const INDEX: usize>;

impl<const INDEX: usize> BuiltinFunctionDefinition<Context> for Syscall<INDEX> {
    type Error = Box<dyn Error>;

    fn rust(
        context: &mut Context,
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
    ) -> Result<u64, Self::Error> {
        syscalls::call(INDEX, [a, b, c, d, e], context).map_err(|failure| {
            Box::<dyn Error>::from(match failure {
                Failure::Memory(error) => error,
                Failure::DivideByZero => EbpfError::DivideByZero,
                Failure::Exceeded => EbpfError::ExceededMaxInstructions,
            })
        })
    }
}

pub(crate) fn version(version: Version) -> SBPFVersion {
    match version {
        Version::V0 => SBPFVersion::V0,
        Version::V1 => SBPFVersion::V1,
        Version::V2 => SBPFVersion::V2,
        Version::V3 => SBPFVersion::V3,
        Version::V4 => SBPFVersion::V4,
    }
}

/// anza's runtime environment: settings and syscalls.
fn loader(config: Config) -> Arc<BuiltinProgram<Context>> {
    let mut loader = BuiltinProgram::new_loader(config);
    macro_rules! register {
        ($($index:literal)*) => {
            $(Syscall::<$index>::register(&mut loader, SYSCALLS[$index]).expect("unique names");)*
        };
    }
    register!(0 1 2 3 4 5 6);
    Arc::new(loader)
}

/// An environment with syscalls of these names and one common handler.
pub(crate) fn named_loader(config: Config, names: &[&str]) -> Arc<BuiltinProgram<Context>> {
    let mut loader = BuiltinProgram::new_loader(config);
    for name in names {
        Syscall::<0>::register(&mut loader, name).expect("unique names");
    }
    Arc::new(loader)
}

fn config(case: &Case) -> Config {
    Config {
        max_call_depth: case.config.call_depth_max,
        stack_frame_size: usize::try_from(case.config.stack_frame_bytes).expect("small frames"),
        enable_stack_frame_gaps: case.config.stack_frame_gaps,
        aligned_memory_mapping: case.config.aligned_memory,
        enable_instruction_meter: case.config.metered,
        ..Config::default()
    }
}

fn executable(case: &Case) -> Executable<Context> {
    let mut functions = FunctionRegistry::default();
    for &(key, pc) in &case.functions {
        // anza's engine finds the entry by its name.
        let name = if pc == case.entry_pc { ENTRYPOINT } else { "" };
        functions.register_function(key, name, pc as usize).expect("keys are unique");
    }
    Executable::from_text_bytes(&case.text, loader(config(case)), version(case.version), functions)
        .expect("text is not checked before it is verified")
}

/// Instructions after which a program without a meter is taken to be endless.
const UNMETERED_STEPS_MAX: u64 = 3000;

/// Runs a case by anza's interpreter. Returns `None` if it does not end.
pub(crate) fn observe(case: &Case, traced: bool) -> Option<Observed> {
    let executable = executable(case);
    let verdict = executable.verify::<RequisiteVerifier>().map_err(|error| match error {
        EbpfError::VerifierError(error) => error.to_string(),
        error => format!("{error:?}"),
    });
    let runs = verdict.is_ok() || case.runs_unverified();
    let run = if runs { Some(interpret(case, &executable, traced)?) } else { None };
    Some(Observed { verdict, run })
}

/// Whether anza's JIT has a back end for this processor.
pub(crate) const HAS_JIT: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
fn compile(executable: &Executable<Context>) -> Result<(), String> {
    executable.jit_compile().map_err(|error| format!("{error:?}"))
}

#[cfg(not(target_arch = "x86_64"))]
fn compile(_: &Executable<Context>) -> Result<(), String> {
    Err("anza's JIT is for x86-64 only".to_owned())
}

/// Runs a verified case by anza's JIT. The outcome has no registers and no trace.
pub(crate) fn observe_jit(case: &Case) -> Result<Run, String> {
    let executable = executable(case);
    compile(&executable)?;
    let mut surroundings = Surroundings::new(case);
    let mut context = surroundings.context(case, &executable).map_err(|it| format!("{it:?}"))?;
    let mut vm = machine(case, &executable, &mut context);
    let (consumed, result) = vm.execute_program(&executable, &mut ExecutionMode::Jit, &mut []);
    let (pc, depth) = (vm.registers[11], vm.call_depth);
    Ok(Run {
        end: end(result),
        consumed,
        pc,
        registers: [0; 11],
        depth,
        return_pcs: Vec::new(),
        remaining: context.remaining,
        memory: surroundings.memory(case, &context),
        trace: Trace::default(),
        asked: surroundings.asked.get(),
    })
}

/// The host's side of a case: the buffers behind the guest's memory, and the calls of the host.
struct Surroundings {
    buffers: Vec<Vec<u8>>,
    /// Buffers by which hooks replaced others.
    replacements: Rc<RefCell<Vec<Box<[u8]>>>>,
    asked: Asked,
}

impl Surroundings {
    fn new(case: &Case) -> Self {
        let buffers = case.regions.iter().map(|region| region.bytes.clone()).collect();
        Self { buffers, replacements: Rc::default(), asked: Asked::default() }
    }

    fn context(
        &mut self,
        case: &Case,
        executable: &Executable<Context>,
    ) -> Result<Context, EbpfError> {
        let mut hosts = Vec::new();
        let mut regions = Vec::new();
        for (index, (spec, buffer)) in case.regions.iter().zip(&mut self.buffers).enumerate() {
            let host: *mut [u8] = &raw mut buffer[..];
            hosts.push((spec.hook.map(|_| spec.clone()), host));
            regions.push(region(case, spec, index, host));
        }
        let handler = handler(hosts, Rc::clone(&self.replacements), Rc::clone(&self.asked));
        // SAFETY: the buffers are disjoint and outlive the mapping; any bytes may be written to
        // them.
        let memory = unsafe {
            MemoryMapping::new_with_access_violation_handler(
                regions,
                executable.get_config(),
                executable.get_sbpf_version(),
                handler,
            )
        }?;
        Ok(Context { remaining: case.budget, memory, asked: Rc::clone(&self.asked) })
    }

    /// Returns the contents of all memory after the run.
    fn memory(&mut self, case: &Case, context: &Context) -> Vec<Vec<u8>> {
        let mut memory = core::mem::take(&mut self.buffers);
        for (index, _) in case.regions.iter().enumerate().filter(|(_, it)| it.may_be_replaced()) {
            let payload = u16::try_from(index).ok();
            let mut regions = context.memory.get_regions().iter();
            let region = regions.find(|it| it.access_violation_handler_payload == payload);
            memory.extend(region.map(|it| {
                // SAFETY: the region's buffer belongs to `memory` or to `self.replacements`.
                unsafe { &*it.host_buffer().ptr() }.to_vec()
            }));
        }
        memory
    }
}

fn region(case: &Case, spec: &RegionSpec, index: usize, host: *mut [u8]) -> MemoryRegion {
    let seen = core::ptr::slice_from_raw_parts_mut(host.cast::<u8>(), spec.len);
    let buffer = if spec.writable {
        HostBuffer::Mutable(seen)
    } else {
        HostBuffer::Immutable(seen.cast_const())
    };
    let gap = if spec.gapped { case.config.stack_frame_bytes } else { 0 };
    let mut region = MemoryRegion::new_gapped(buffer, spec.vaddr, gap);
    region.access_violation_handler_payload = spec.hook.and_then(|_| u16::try_from(index).ok());
    region
}

fn handler(
    hosts: Vec<(Option<RegionSpec>, *mut [u8])>,
    replacements: Rc<RefCell<Vec<Box<[u8]>>>>,
    asked: Asked,
) -> AccessViolationHandler {
    Box::new(move |region, len_max, access, vaddr, len| {
        let Some(index) = region.access_violation_handler_payload else { return };
        let (spec, host) = &hosts[usize::from(index)];
        let Some((spec, hook)) = spec.as_ref().and_then(|spec| Some((spec, spec.hook?))) else {
            return;
        };
        let refused = Refused {
            store: access == AccessType::Store,
            vaddr,
            len,
            len_max,
            region_vaddr: region.vm_addr_range().start,
            region_len: region.len() as u64,
            capacity: host.len() as u64,
        };
        note(&asked, &refused.numbers());
        let buffer = match hook.decide(refused) {
            None => return,
            Some(Decision::Change { len, unshared }) => {
                let seen = core::ptr::slice_from_raw_parts_mut(host.cast::<u8>(), len as usize);
                if unshared || region.host_buffer().is_mutable() {
                    HostBuffer::Mutable(seen)
                } else {
                    HostBuffer::Immutable(seen.cast_const())
                }
            }
            Some(Decision::Replace) => {
                let mut replacements = replacements.borrow_mut();
                replacements.push(spec.other_bytes());
                let newest = replacements.last_mut().expect("it was pushed");
                HostBuffer::Mutable(&raw mut newest[..])
            }
        };
        // SAFETY: `decide` keeps within the buffer, which outlives the mapping.
        unsafe { region.redirect(buffer) };
    })
}

fn machine<'a>(
    case: &Case,
    executable: &Executable<Context>,
    context: &'a mut Context,
) -> EbpfVm<'a, Context> {
    let loader = Arc::clone(executable.get_loader());
    let stack_bytes = executable.get_config().stack_size();
    let mut vm = EbpfVm::new(loader, executable.get_sbpf_version(), context, stack_bytes);
    vm.registers[..10].copy_from_slice(&case.registers);
    vm
}

/// Runs step by step, so that all registers are known at the end. Returns `None` if the program
/// does not end.
pub(crate) fn interpret(
    case: &Case,
    executable: &Executable<Context>,
    traced: bool,
) -> Option<Result<Run, String>> {
    let mut surroundings = Surroundings::new(case);
    let mut context = match surroundings.context(case, executable) {
        Ok(context) => context,
        Err(error) => return Some(Err(format!("{error:?}"))),
    };
    let mut vm = machine(case, executable, &mut context);
    vm.previous_instruction_meter = case.budget;
    vm.registers[ebpf::FRAME_PTR_REG + 1] = executable.get_entrypoint_instruction_offset() as u64;
    let mut frames = vec![CallFrame::default(); case.config.call_depth_max];
    let registers = vm.registers;
    let mut interpreter = Interpreter::new(&mut vm, executable, registers, &mut frames);
    let slots = case.slots() as u64;
    let (mut trace, mut before_last, mut steps) = (Trace::default(), Trace::default(), 0);
    loop {
        let before = interpreter.reg;
        if traced && before[11] < slots {
            before_last = trace;
            trace.push(&before[..11], before[11]);
        }
        if !interpreter.step() {
            break;
        }
        steps += 1;
        if !case.config.metered && steps > UNMETERED_STEPS_MAX {
            return None;
        }
    }
    let last = interpreter.reg;
    let mut result = ProgramResult::Ok(0);
    core::mem::swap(&mut result, &mut vm.program_result);
    // An instruction beyond the budget was not executed.
    if matches!(result, ProgramResult::Err(EbpfError::ExceededMaxInstructions)) && last[11] < slots
    {
        trace = before_last;
    }
    let (due, depth) = (vm.due_insn_count, vm.call_depth);
    let consumed = if case.config.metered {
        ContextObject::consume(vm.context(), due);
        case.budget.saturating_sub(vm.context().get_remaining())
    } else {
        0
    };
    let open = frames.iter().take(usize::try_from(depth).unwrap_or(usize::MAX));
    Some(Ok(Run {
        end: end(result),
        consumed,
        pc: last[11],
        registers: *last.first_chunk().expect("twelve registers"),
        depth,
        return_pcs: open.map(|frame| frame.target_pc).collect(),
        remaining: context.remaining,
        memory: surroundings.memory(case, &context),
        trace,
        asked: surroundings.asked.get(),
    }))
}

fn end(result: ProgramResult) -> End {
    match result {
        ProgramResult::Ok(r0) => End::Ok(r0),
        ProgramResult::Err(error) => {
            End::Err { debug: format!("{error:?}"), display: error.to_string() }
        }
    }
}
