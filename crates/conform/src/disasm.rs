//! Kind `disasm`: a program, and its listing by anza sbpf's disassembler.

use selkie_inspect::{NamedProgram, listing::anza};
use serde::Deserialize;
use serde_json::Value;

use crate::{BadVector, Context, Verdict, check::Check, program::ProgramCase};

#[derive(Deserialize)]
struct Case {
    expect: String,
}

/// Lists the program and compares the listing line by line.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let Case { expect } = Case::deserialize(line)?;
    let program = match program(line, context)? {
        Ok(program) => program,
        Err(verdict) => return Ok(verdict),
    };
    let got = anza(&program);
    let mut check = Check::default();
    let mut lines = expect.lines().zip(got.lines()).zip(1..);
    if let Some(((expected, got), number)) = lines.find(|((expected, got), _)| expected != got) {
        check.differ(&format!("line {number}"), expected, got);
    }
    check.same("lines", expect.lines().count(), got.lines().count());
    check.same("the bytes are the same", true, expect == got);
    check.finish()
}

/// Returns the program of a vector, or the verdict if it is missing or does not load.
pub(crate) fn program(
    line: &Value,
    context: &Context,
) -> Result<Result<NamedProgram, Verdict>, BadVector> {
    match ProgramCase::deserialize(line)?.executable(context)? {
        Ok(executable) => Ok(Ok(NamedProgram::new(executable))),
        Err(why) => why.verdict().map(Err),
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use serde_json::json;

    use super::*;

    fn check(expect: &str, passes: bool) {
        let line = json!({
            "kind": "disasm", "sbpf_version": 3, "text": "85000000030000009500000000000000",
            "functions": [[0, 0, "entrypoint"]], "expect": expect,
        });
        let context = Context::new(Path::new("none"), Arc::default()).unwrap();
        assert_eq!(judge(&line, &context).unwrap() == Verdict::Passed, passes, "{expect}");
    }

    #[test]
    fn every_byte_of_the_listing_is_compared() {
        check("entrypoint:\n    syscall 3\n    exit\n", true);
        check("entrypoint:\n    syscall 3\n    exit", false);
        check("entrypoint:\n    syscall 4\n    exit\n", false);
        check("", false);
    }
}
