//! Mollusk's fixtures: an instruction of a program whose file they do not contain.
//!
//! They were recorded with builds that no package contains. [`PROGRAMS`] lists the files that are run
//! instead: they behave the same except for compute units, which are not compared.

use selkie_fixture::InstructionFixture;
use selkie_svm::{Account, Loader, Pubkey, error};

use crate::{
    BadVector, Check, Context, Verdict,
    features::FeatureIds,
    instr::{self, State},
};

/// The programs of the fixtures, with the name of an ELF file for each.
const PROGRAMS: [(Pubkey, &str); 3] = [
    (Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"), "7b44674b9704"),
    (Pubkey::from_str_const("AddressLookupTab1e1111111111111111111111111"), "e264e1537c5e"),
    (Pubkey::from_str_const("Config1111111111111111111111111111111111111"), "06dd0ed33dda"),
];

/// Processes the instruction and compares its result, the return data and the accounts.
pub(crate) fn judge(fixture: &InstructionFixture, context: &Context) -> Result<Verdict, BadVector> {
    let (input, expected) = (&fixture.input, &fixture.output);
    let id = input.program_id;
    let Some((_, file)) = PROGRAMS.iter().find(|(program, _)| *program == id) else {
        return Ok(Verdict::Skipped(format!("the file of program {id} is not known")));
    };
    let elf = match context.elf(file) {
        Ok(elf) => elf,
        Err(why) => return Ok(why.into()),
    };
    let ids: FeatureIds = input.features.iter().copied().collect();
    let features = ids.features();
    let mut case = instr::case(input, features, context);
    let program = Account {
        lamports: 1,
        data: elf.to_vec(),
        owner: Loader::V2.address(),
        executable: true,
        ..Account::default()
    };
    case.accounts.set(id, program.into());
    let mut check = Check::default();
    instr::run_each(&case, &mut check, context, |check, processed| {
        let result = match expected.result {
            0 => Ok(()),
            r0 => error::from_return_value(r0).map_or(Ok(()), Err),
        };
        check.same("program_result", result, instr::error(processed).cloned().map_or(Ok(()), Err));
        check.same("return_data", &expected.return_data, &instr::returned(processed));
        for given in &expected.accounts {
            let expected = State::recorded(given);
            // Accounts outside of the instruction do not change.
            let got = instr::after(processed, &given.address).unwrap_or_else(|| expected.clone());
            check.same(&format!("account {}", given.address), expected, got);
        }
    })?;
    check.finish()
}
