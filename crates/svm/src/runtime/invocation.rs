//! An instruction in progress whose syscalls a tool calls in place of the program.
//!
//! The tool acts as the program, or tests a syscall on some memory.

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

/// An instruction in progress.
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
    /// Starts an instruction. Accounts that are not passed are those that
    /// [`process_instruction`](crate::process_instruction) would use.
    ///
    /// # Errors
    /// [`InstructionError::UnsupportedProgramId`] if the environment does not have the program.
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

    /// Returns the program's serialized input.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the memory regions of the program's input: one, or several if each account's data are a
    /// region. `bytes` are those of the input.
    #[must_use]
    pub fn input_regions<'b>(&mut self, bytes: &'b mut [u8]) -> Vec<Region<'b>> {
        let mode = DataMode::of(self.context.environment.features);
        let context = &mut self.context;
        let can_change = |index| {
            let account = context.borrow(index).ok()?;
            account.can_change_data().is_ok().then(|| account.index())
        };
        let mut regions = Vec::new();
        input::regions(mode, &self.input.layout, bytes, can_change, &mut regions);
        regions
    }

    /// Calls a syscall as the program would, and returns r0.
    ///
    /// # Errors
    /// The error that would end the program: [`SyscallError`](crate::SyscallError), [`InstructionError`] or
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

    /// Returns the remaining compute units.
    #[must_use]
    pub fn units_left(&self) -> u64 {
        self.context.meter.remaining()
    }

    /// Returns the log lines so far.
    #[must_use]
    pub fn logs(&self) -> &[String] {
        self.context.logs.lines()
    }

    /// Returns the return data.
    #[must_use]
    pub fn return_data(&self) -> &ReturnData {
        &self.context.return_data
    }

    /// Sets the return data, as if by an earlier instruction.
    pub fn set_return_data(&mut self, return_data: ReturnData) {
        self.context.return_data = return_data;
    }
}
