//! A counter with steel.
use steel::*;

declare_id!("8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff");

#[repr(u8)]
#[derive(
    Clone, Copy, Debug, Eq, PartialEq, num_enum::IntoPrimitive, num_enum::TryFromPrimitive,
)]
pub enum CounterAccount {
    Counter = 0,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Counter {
    pub value: u64,
}

account!(CounterAccount, Counter);

#[repr(u8)]
#[derive(Clone, Copy, Debug, Eq, PartialEq, num_enum::TryFromPrimitive)]
pub enum CounterInstruction {
    Initialize = 0,
    Add = 1,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Initialize {}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Add {
    pub amount: [u8; 8],
}

instruction!(CounterInstruction, Initialize);
instruction!(CounterInstruction, Add);

#[repr(u32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error, num_enum::IntoPrimitive)]
pub enum CounterError {
    #[error("the value does not fit")]
    Overflow = 0,
}

error!(CounterError);

entrypoint!(process);

pub fn process(program: &Pubkey, accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let (instruction, data) = parse_instruction::<CounterInstruction>(&ID, program, data)?;
    match instruction {
        CounterInstruction::Initialize => initialize(accounts),
        CounterInstruction::Add => add(accounts, data),
    }
}

fn initialize(accounts: &[AccountInfo]) -> ProgramResult {
    let [signer, counter, system] = accounts else {
        return Err(ProgramError::NotEnoughAccountKeys);
    };
    signer.is_signer()?;
    counter.is_empty()?.is_writable()?.has_seeds(&[b"counter"], &ID)?;
    system.is_program(&system_program::ID)?;
    create_program_account::<Counter>(counter, system, signer, &ID, &[b"counter"])?;
    counter.as_account_mut::<Counter>(&ID)?.value = 0;
    Ok(())
}

fn add(accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let amount = u64::from_le_bytes(Add::try_from_bytes(data)?.amount);
    let [signer, counter] = accounts else { return Err(ProgramError::NotEnoughAccountKeys) };
    signer.is_signer()?;
    let counter = counter.as_account_mut::<Counter>(&ID)?;
    counter.value = counter.value.checked_add(amount).ok_or(CounterError::Overflow)?;
    Ok(())
}
