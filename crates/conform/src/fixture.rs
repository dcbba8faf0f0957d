//! Fixtures that are run by themselves: what they recorded is what they expect.

use selkie_fixture::{Fixture, InstructionFixture, ReadError, SyscallFixture};
use selkie_svm::Syscall;

use crate::{
    BadVector, Check, Context, Verdict, elf_loader, features::FeatureIds, instr, mollusk,
    prototype::Prototype, rules, syscall_case, txn,
};

/// Runs a fixture and compares what came out with what it recorded.
///
/// # Errors
/// If it cannot be read.
pub fn judge(bytes: &[u8], context: &Context) -> Result<Verdict, BadVector> {
    match Fixture::read(bytes) {
        Ok(Fixture::Elf(fixture)) => elf_loader::judge_recorded(&fixture, context),
        Ok(Fixture::Instruction(fixture)) => judge_instruction(fixture, bytes, context),
        Ok(Fixture::Syscall(fixture)) => judge_syscall(&fixture),
        Ok(Fixture::Mollusk(fixture)) => mollusk::judge(&fixture, context),
        Ok(Fixture::Transaction(fixture)) => txn::judge(&fixture),
        Err(error @ ReadError::UnknownEntrypoint(_)) => Ok(Verdict::Skipped(error.to_string())),
        Err(error) => Err(BadVector(error.to_string())),
    }
}

fn judge_instruction(
    fixture: InstructionFixture,
    bytes: &[u8],
    context: &Context,
) -> Result<Verdict, BadVector> {
    if let Some(prototype) = Prototype::of(&fixture.input.program_id) {
        return prototype.judge(fixture, bytes, context);
    }
    let ids: FeatureIds = fixture.input.features.iter().copied().collect();
    let expected = instr::Expected::recorded(&fixture.output);
    instr::Case::new(&fixture.input, ids.features()).judge(&expected, context)
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
