//! An instruction that was entered and whose program is driven from outside, syscall by syscall.
//!
//! What a program would do by running, the holder of an [`Invocation`] does in its place: a tool
//! that stands in for a program, or that wants to know what one syscall makes of some memory.

use selkie_vm::{MemoryMap, Region};
use solana_account::Account;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use crate::{
    chain::cost::ComputeBudget,
    programs::program::Running,
    runtime::{
        context::{InvokeContext, Options, environment::Environment},
        input::{self, DataMode, Input},
        instruction::{self, Instruction, with_missing},
        syscalls::{self, Call, Syscall},
        transaction_accounts::ReturnData,
    },
};

/// An instruction that was entered and not left.
///
/// ```
/// use selkie_elf::{Executable, Functions};
/// use selkie_isa::{Version, layout::HEAP_START};
/// use selkie_svm::{
///     ComputeBudget, Environment, Instruction, Invocation, Loader, Program, Pubkey, syscalls,
/// };
/// use selkie_vm::{Config, MemoryMap, Region};
///
/// let exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
/// let executable =
///     Executable::from_text(Version::V0, exit, 0, Functions::default(), Default::default())?;
/// let id = Pubkey::new_from_array([7; 32]);
/// let mut environment = Environment::default();
/// environment.programs.insert(id, Program::new(executable, Loader::V3)?);
/// let instruction = Instruction { program_id: id, accounts: vec![], data: vec![] };
///
/// let mut invocation =
///     Invocation::enter(&instruction, &[], &environment, ComputeBudget::default())?;
/// let mut heap = *b"hello";
/// let regions = vec![Region::writable(HEAP_START, &mut heap)];
/// let mut memory = MemoryMap::new(regions, &Config::default(), Version::V0)?;
/// let log = syscalls::find("sol_log_").ok_or("a syscall that is always there")?;
/// assert_eq!(invocation.call(log, [HEAP_START, 5, 0, 0, 0], &mut memory).ok(), Some(0));
/// assert_eq!(invocation.logs(), ["Program log: hello"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Invocation<'e> {
    context: InvokeContext<'e>,
    input: Input,
}

impl<'e> Invocation<'e> {
    /// Enters an instruction. Accounts that are not given are those that
    /// [`process_instruction`](crate::process_instruction) would take.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn enter(
        instruction: &Instruction,
        accounts: &[(Pubkey, Account)],
        environment: &'e Environment,
        budget: ComputeBudget,
    ) -> Result<Self, InstructionError> {
        let accounts = with_missing(instruction, accounts, environment);
        let options = Options { budget, ..Options::default() };
        let mut context = instruction::enter(instruction, accounts, environment, &options);
        context.push(None)?;
        let program = environment.programs.get(&instruction.program_id);
        let program = program.ok_or(InstructionError::UnsupportedProgramId)?;
        context.frame_mut().program = Some(Running::Borrowed(program));
        let abi = program.loader().abi();
        let features = environment.features;
        let input = Input::of(abi, context.instruction(), &context.accounts, features)?;
        context.frame_mut().layout = input.layout.clone();
        Ok(Self { context, input })
    }

    /// The input that the program gets.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The regions of memory that the program sees its input in: one, or several where accounts
    /// have regions of their own. `bytes` are those of the input.
    #[must_use]
    pub fn input_regions<'b>(&mut self, bytes: &'b mut [u8]) -> Vec<Region<'b>> {
        let mode = DataMode::of(self.context.environment.features);
        let context = &mut self.context;
        let can_change = |place| {
            let account = context.borrow(place).ok()?;
            account.can_change_data().is_ok().then(|| account.index())
        };
        let mut regions = Vec::new();
        input::regions(mode, &self.input.layout, bytes, can_change, &mut regions);
        regions
    }

    /// Calls a syscall as the program would, and returns r0.
    ///
    /// # Errors
    /// As programs get to see it: [`SyscallError`](crate::SyscallError), [`InstructionError`] or
    /// [`Trap`](selkie_vm::Trap).
    pub fn call(
        &mut self,
        syscall: &Syscall,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
    ) -> Result<u64, selkie_vm::SyscallError> {
        let mut meter = self.context.meter;
        let mut call = Call::new(&mut self.context, memory, &mut meter);
        let result = syscalls::run(syscall, &mut call, arguments);
        self.context.meter = meter;
        result
    }

    /// Compute units that are left.
    #[must_use]
    pub fn units_left(&self) -> u64 {
        self.context.meter.remaining()
    }

    /// The log so far.
    #[must_use]
    pub fn logs(&self) -> &[String] {
        self.context.logs.lines()
    }

    /// What was returned last.
    #[must_use]
    pub fn return_data(&self) -> &ReturnData {
        &self.context.return_data
    }

    /// Has something returned already, as if by an instruction before.
    pub fn set_return_data(&mut self, return_data: ReturnData) {
        self.context.return_data = return_data;
    }
}
