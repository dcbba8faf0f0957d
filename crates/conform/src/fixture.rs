//! Fixtures that are run by themselves: what they recorded is what they expect.

use selkie_fixture::{Fixture, InstructionFixture, ReadError, SyscallFixture};
use selkie_svm::{Loader, Syscall};

use crate::{
    BadVector, Check, Context, Verdict, elf_loader, features::FeatureIds, instr, mollusk, rules,
    runtime, syscall_case, txn,
};

/// Runs a fixture and compares what came out with what it recorded.
///
/// # Errors
/// If it cannot be read.
pub fn judge(bytes: &[u8], context: &Context) -> Result<Verdict, BadVector> {
    match Fixture::read(bytes) {
        Ok(Fixture::Elf(fixture)) => elf_loader::judge_recorded(&fixture, context),
        Ok(Fixture::Instruction(fixture)) => judge_instruction(&fixture, context),
        Ok(Fixture::Syscall(fixture)) => judge_syscall(&fixture),
        Ok(Fixture::Mollusk(fixture)) => mollusk::judge(&fixture, context),
        Ok(Fixture::Transaction(fixture)) => txn::judge(&fixture, context),
        Err(error @ ReadError::UnknownEntrypoint(_)) => Ok(Verdict::Skipped(error.to_string())),
        Err(error) => Err(BadVector(error.to_string())),
    }
}

fn judge_instruction(
    fixture: &InstructionFixture,
    context: &Context,
) -> Result<Verdict, BadVector> {
    let ids: FeatureIds = fixture.input.features.iter().copied().collect();
    let expected = instr::Expected::recorded(&fixture.output);
    let mut case = instr::Case::new(&fixture.input, ids.features());
    let program = case.instruction.program_id;
    let loader = case.owner(&program).and_then(|owner| Loader::of(&owner));
    // A builtin program that a loader owns was to be replaced by a program with the same address.
    // Its file is nowhere, but it does the same for another number of compute units.
    if loader.is_some() && case.environment.builtins.get(&program).is_some() {
        case.set_owner(&program, runtime::NATIVE_LOADER);
        case.is_another_build = true;
    } else if loader.is_some() && program == Loader::V4.address() {
        return Ok(Verdict::Skipped("mainnet has no loader v4".to_owned()));
    }
    case.judge(&expected, context)
}

fn judge_syscall(fixture: &SyscallFixture) -> Result<Verdict, BadVector> {
    let given = &fixture.input;
    let Some(syscall) = Syscall::find(&given.name) else {
        return Ok(Verdict::Skipped(format!("syscall {} is not supported yet", given.name)));
    };
    let ids: FeatureIds = given.instruction.features.iter().copied().collect();
    let expected = syscall_case::Expected::recorded(fixture);
    let mut check = Check::default();
    syscall_case::Case::new(given, syscall, ids.features())?.check(&mut check, &expected)?;
    Ok(rules::explain(check.finish()?, &ids, &given.name))
}
