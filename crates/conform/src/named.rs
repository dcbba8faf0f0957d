//! Kinds `fd_instr` and `fd_vm_syscall`: a fixture, named by the vector, with its result according to
//! agave's current harness. That result takes precedence over the recorded one.
//!
//! The features are those of the fixture or of a profile. A fixture may lack features that mainnet
//! activated long ago and that Selkie cannot deactivate.

use selkie_fixture::Fixture;
use selkie_svm::syscalls;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Check, Context, Missing, Verdict, features::FeatureIds, instr, rules, syscall_case,
};

#[derive(Deserialize)]
struct Line<E> {
    fixture: String,
    /// `own` for those of the fixture, or the name of a profile.
    features: String,
    exp: E,
}

impl<E> Line<E> {
    /// Returns the fixture, or the reason to skip the vector.
    fn fixture(&self, context: &Context) -> Result<Result<Fixture, Missing>, BadVector> {
        match context.fixture(&self.fixture) {
            Ok(bytes) => match Fixture::read(&bytes) {
                Ok(fixture) => Ok(Ok(fixture)),
                Err(error) => Err(BadVector(error.to_string())),
            },
            Err(why) => Ok(Err(why)),
        }
    }

    fn features(&self, own: &[u64], context: &Context) -> Result<FeatureIds, BadVector> {
        match self.features.as_str() {
            "own" => Ok(own.iter().copied().collect()),
            profile => context.features(profile).cloned(),
        }
    }
}

fn names(line: &Value, folders: &[&str]) -> bool {
    let path = line.get("fixture").and_then(Value::as_str).unwrap_or_default();
    let has = |field| line.get(field).is_some();
    let folder = path.split('/').next().unwrap_or_default();
    folders.contains(&folder) && has("exp") && has("features")
}

/// Returns whether a line states the expected result of an instruction fixture.
#[must_use]
pub fn is_instr(line: &Value) -> bool {
    names(line, &["instr"])
}

/// Returns whether a line states the expected result of a syscall fixture.
#[must_use]
pub fn is_syscall(line: &Value) -> bool {
    names(line, &["syscall", "cpi"])
}

/// Processes the instruction and compares the result.
///
/// # Errors
/// If the line or the fixture is unreadable.
pub fn judge_instr(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let line = Line::<instr::Expected>::deserialize(line)?;
    let given = match line.fixture(context)? {
        Ok(Fixture::Instruction(fixture)) => fixture.input,
        Ok(_) => return Err(BadVector("the fixture is of another kind".to_owned())),
        Err(why) => return Ok(why.into()),
    };
    let ids = line.features(&given.features, context)?;
    instr::judge(&instr::case(&given, ids.features(), context), &line.exp, false, context)
}

/// Calls the syscall and compares the result.
///
/// # Errors
/// If the line or the fixture is unreadable.
pub fn judge_syscall(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let line = Line::<syscall_case::Expected>::deserialize(line)?;
    let given = match line.fixture(context)? {
        Ok(Fixture::Syscall(fixture)) => fixture.input,
        Ok(_) => return Err(BadVector("the fixture is of another kind".to_owned())),
        Err(why) => return Ok(why.into()),
    };
    let ids = line.features(&given.instruction.features, context)?;
    let Some(syscall) = syscalls::find(&given.name) else {
        return Ok(Verdict::Skipped(format!("syscall {} is not supported yet", given.name)));
    };
    let mut check = Check::default();
    let case = syscall_case::SyscallCase::new(&given, syscall, ids.features(), context)?;
    case.check(&mut check, &line.exp)?;
    Ok(rules::explain(check.finish()?, &ids, &given.name))
}
