//! Fixtures judged by their own recorded result.

use selkie_fixture::{Fixture, InstructionFixture, ReadError, SyscallFixture};
use selkie_svm::syscalls;

pub use crate::fixture_kind::FixtureKind;
use crate::{
    BadVector, Check, Context, Verdict, elf_loader,
    features::FeatureIds,
    instr, mollusk,
    prototype::{self, Prototype},
    rules, syscall_case, txn,
};

const ELF: FixtureKind = FixtureKind {
    name: "Firedancer: ELF file",
    compared: "whether it loads; the loaded image, text, entry and functions",
};
const INSTRUCTION: FixtureKind = FixtureKind {
    name: "Firedancer: instruction",
    compared: "result, compute units, accounts, return data",
};
const SYSCALL: FixtureKind =
    FixtureKind { name: "Firedancer: syscall", compared: "error, r0, compute units, memory" };
const TRANSACTION: FixtureKind = FixtureKind {
    name: "Firedancer: transaction",
    compared: "result, accounts, fee, compute units",
};
const MOLLUSK: FixtureKind =
    FixtureKind { name: "Mollusk: instruction", compared: "result, accounts, return data" };

/// The table of fixture kinds.
pub const FIXTURES: &[FixtureKind] =
    &[ELF, INSTRUCTION, prototype::V3, prototype::V4, SYSCALL, TRANSACTION, MOLLUSK];

/// Runs a fixture and compares the result with the recorded one.
///
/// # Errors
/// If the fixture cannot be decoded.
pub fn judge(bytes: &[u8], context: &Context) -> Result<Verdict, BadVector> {
    let fixture = match Fixture::read(bytes) {
        Ok(fixture) => fixture,
        Err(error @ ReadError::UnknownEntrypoint(_)) => {
            return Ok(Verdict::Skipped(error.to_string()));
        }
        Err(error) => return Err(BadVector(error.to_string())),
    };
    match fixture {
        Fixture::Elf(fixture) => elf_loader::judge_recorded(&fixture, context),
        Fixture::Instruction(fixture) => judge_instruction(fixture, bytes, context),
        Fixture::Syscall(fixture) => judge_syscall(&fixture, context),
        Fixture::Mollusk(fixture) => mollusk::judge(&fixture, context),
        Fixture::Transaction(fixture) => Ok(txn::judge(&fixture, context)),
    }
}

/// Returns the kind of a fixture; `None` if it cannot be decoded.
pub(crate) fn kind_of(bytes: &[u8]) -> Option<FixtureKind> {
    Some(match Fixture::read(bytes).ok()? {
        Fixture::Elf(_) => ELF,
        Fixture::Instruction(fixture) => {
            Prototype::of(&fixture.input.program_id).map_or(INSTRUCTION, |it| it.kind)
        }
        Fixture::Syscall(_) => SYSCALL,
        Fixture::Mollusk(_) => MOLLUSK,
        Fixture::Transaction(_) => TRANSACTION,
    })
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
    let case = instr::case(&fixture.input, ids.features(), context);
    instr::judge(&case, &expected, false, context)
}

fn judge_syscall(fixture: &SyscallFixture, context: &Context) -> Result<Verdict, BadVector> {
    let given = &fixture.input;
    let Some(syscall) = syscalls::find(&given.name) else {
        return Ok(Verdict::Skipped(format!("syscall {} is not supported yet", given.name)));
    };
    let ids: FeatureIds = given.instruction.features.iter().copied().collect();
    let expected = syscall_case::Expected::recorded(fixture);
    let mut check = Check::default();
    let case = syscall_case::SyscallCase::new(given, syscall, ids.features(), context)?;
    case.check(&mut check, &expected)?;
    Ok(rules::explain(check.finish()?, &ids, &given.name))
}
