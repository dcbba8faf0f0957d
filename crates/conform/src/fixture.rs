//! Fixtures that are run by themselves: what they recorded is what they expect.

use selkie_fixture::{Fixture, ReadError};

use crate::{BadVector, Context, Verdict, elf_loader, features::FeatureIds, instr, rules};

/// Runs a fixture and compares what came out with what it recorded.
///
/// # Errors
/// If it cannot be read.
pub fn judge(bytes: &[u8], context: &Context) -> Result<Verdict, BadVector> {
    match Fixture::read(bytes) {
        Ok(Fixture::Elf(fixture)) => elf_loader::judge_recorded(&fixture, context),
        Ok(Fixture::Instruction(fixture)) => {
            let ids: FeatureIds = fixture.input.features.iter().copied().collect();
            let expected = instr::Expected::recorded(&fixture.output);
            let verdict = instr::Case::new(&fixture.input, ids.features());
            Ok(rules::explain(verdict.judge(&expected, context)?, &ids, None))
        }
        Ok(_) => Ok(Verdict::Skipped("not yet".to_owned())),
        Err(error @ ReadError::UnknownEntrypoint(_)) => Ok(Verdict::Skipped(error.to_string())),
        Err(error) => Err(BadVector(error.to_string())),
    }
}
