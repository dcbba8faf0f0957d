//! Fixtures that are run by themselves: what they recorded is what they expect.

use selkie_fixture::{Fixture, InstructionFixture, ReadError, SyscallFixture};
use selkie_svm::{Loader, Pubkey, Syscall};

use crate::{
    BadVector, Check, Context, Verdict, elf_loader, features::FeatureIds, instr, mollusk, rules,
    syscall_case, txn,
};

/// Runs a fixture and compares what came out with what it recorded.
///
/// # Errors
/// If it cannot be read.
pub fn judge(bytes: &[u8], context: &Context) -> Result<Verdict, BadVector> {
    match Fixture::read(bytes) {
        Ok(Fixture::Elf(fixture)) => elf_loader::judge_recorded(&fixture, context),
        Ok(Fixture::Instruction(fixture)) => judge_instruction(fixture, context),
        Ok(Fixture::Syscall(fixture)) => judge_syscall(&fixture),
        Ok(Fixture::Mollusk(fixture)) => mollusk::judge(&fixture, context),
        Ok(Fixture::Transaction(fixture)) => txn::judge(&fixture),
        Err(error @ ReadError::UnknownEntrypoint(_)) => Ok(Verdict::Skipped(error.to_string())),
        Err(error) => Err(BadVector(error.to_string())),
    }
}

/// Prototypes of loaders as programs, which had addresses of their own, and the loaders.
const PROTOTYPE_V3: Pubkey = Pubkey::from_str_const("CoreBPFLoaderUpgradeab1e1111111111111111111");
const PROTOTYPE_V4: Pubkey = Pubkey::from_str_const("CoreBPFLoaderV41111111111111111111111111111");

fn judge_instruction(fixture: InstructionFixture, context: &Context) -> Result<Verdict, BadVector> {
    match fixture.input.program_id {
        PROTOTYPE_V3 => judge_prototype(fixture, context),
        PROTOTYPE_V4 => Ok(Verdict::Skipped("mainnet has no loader v4".to_owned())),
        _ => {
            let ids: FeatureIds = fixture.input.features.iter().copied().collect();
            let expected = instr::Expected::recorded(&fixture.output);
            instr::Case::new(&fixture.input, ids.features()).judge(&expected, context)
        }
    }
}

/// Judges the loader by what its prototype did. The prototype used other numbers of compute units,
/// and derived addresses from its own: where that matters, there is nothing to learn from it.
fn judge_prototype(
    mut fixture: InstructionFixture,
    context: &Context,
) -> Result<Verdict, BadVector> {
    let loader = Loader::V3.address();
    let replace = |key: &mut Pubkey| {
        if *key == PROTOTYPE_V3 {
            *key = loader;
        }
    };
    let InstructionFixture { input, output } = &mut fixture;
    replace(&mut input.program_id);
    for account in input.accounts.iter_mut().chain(&mut output.accounts) {
        replace(&mut account.address);
        replace(&mut account.owner);
        if account.address == loader {
            account.owner = selkie_svm::NATIVE_LOADER;
        }
    }
    let ids: FeatureIds = input.features.iter().copied().collect();
    let mut case = instr::Case::new(input, ids.features());
    case.is_another_build = true;
    match case.judge(&instr::Expected::recorded(output), context)? {
        Verdict::Failed(_) => {
            let why = "a prototype of loader v3 recorded it, which was never used";
            Ok(Verdict::Skipped(why.to_owned()))
        }
        verdict => Ok(verdict),
    }
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
