//! Kind `verify`: a program, and the verifier's result and its text.

use selkie_elf::Executable;
use selkie_vm::{VerifyError, verify, verify_calls};
use serde::Deserialize;
use serde_json::Value;

use crate::{BadVector, Context, Verdict, check::Check, program::ProgramCase};

/// Verifies a program and compares the result.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let case = Case::deserialize(line)?;
    match case.program.executable(context)? {
        Ok(executable) => case.check(&executable),
        Err(why) => why.verdict(),
    }
}

#[derive(Deserialize, Debug)]
struct Case {
    #[serde(flatten)]
    program: ProgramCase,
    verifier: Option<String>,
    expect: Expect,
}

#[derive(Deserialize, Debug)]
struct Expect {
    err: Option<String>,
    debug: Option<String>,
    display: Option<String>,
}

impl Case {
    fn check(&self, executable: &Executable) -> Result<Verdict, BadVector> {
        let mut check = Check::default();
        let verdict = match self.verifier.as_deref() {
            Some("LocalVerifier") => verify_calls(executable),
            _ => verify(executable),
        };
        let (debug, display) = match verdict {
            Ok(()) => Default::default(),
            Err(error) => (anza_debug(&error), error.to_string()),
        };
        let name = debug.split('(').next().unwrap_or_default().to_owned();
        check.same("err", self.expect.err.clone().unwrap_or_default(), name);
        check.equal("debug", self.expect.debug.clone(), debug);
        check.equal("display", self.expect.display.clone(), display);
        check.finish()
    }
}

/// Formats an error like the `Debug` output of anza sbpf's verifier error.
pub(crate) fn anza_debug(error: &VerifyError) -> String {
    match *error {
        VerifyError::ProgramLengthNotMultiple => "ProgramLengthNotMultiple".to_owned(),
        VerifyError::NoProgram => "NoProgram".to_owned(),
        VerifyError::LddwCannotBeLast => "LDDWCannotBeLast".to_owned(),
        VerifyError::DivisionByZero { pc } => format!("DivisionByZero({pc})"),
        VerifyError::UnsupportedEndianArgument { pc } => format!("UnsupportedLEBEArgument({pc})"),
        VerifyError::IncompleteLddw { pc } => format!("IncompleteLDDW({pc})"),
        VerifyError::JumpOutOfCode { target, pc } => format!("JumpOutOfCode({target}, {pc})"),
        VerifyError::JumpToMiddleOfLddw { target, pc } => {
            format!("JumpToMiddleOfLDDW({target}, {pc})")
        }
        VerifyError::InvalidSourceRegister { pc } => format!("InvalidSourceRegister({pc})"),
        VerifyError::CannotWriteR10 { pc } => format!("CannotWriteR10({pc})"),
        VerifyError::InvalidDestinationRegister { pc } => {
            format!("InvalidDestinationRegister({pc})")
        }
        VerifyError::UnknownOpcode { code, pc } => format!("UnknownOpCode({code}, {pc})"),
        VerifyError::ShiftWithOverflow { shift, bits, pc } => {
            format!("ShiftWithOverflow({shift}, {bits}, {pc})")
        }
        VerifyError::InvalidRegister { pc } => format!("InvalidRegister({pc})"),
        VerifyError::InvalidFunction { pc } => format!("InvalidFunction({pc})"),
        VerifyError::InvalidSyscall { key, .. } => format!("InvalidSyscall({key})"),
        VerifyError::UnalignedImmediate { pc } => format!("UnalignedImmediate({pc})"),
    }
}
