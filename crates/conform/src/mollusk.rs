//! Mollusk's fixtures: an instruction of a program whose file they do not contain.
//!
//! They were recorded with builds that no package contains. [`PROGRAMS`] lists the files that are run
//! instead: they behave the same except for compute units, which are not compared.

use selkie_fixture::InstructionFixture;
use selkie_svm::{Account, FeatureSet, Loader, Program, Pubkey, Purpose, elf_environment, error};

use crate::{
    BadVector, Check, Context, Verdict,
    features::FeatureIds,
    instr::{Case, State},
    runtime,
    vector::hex,
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
    let mut case = Case::new(input, features);
    let program = program(&elf, features)?;
    case.environment.programs.insert(id, program);
    if let Some((_, account)) = case.accounts.iter_mut().find(|(key, _)| *key == id) {
        let owner = Loader::V3.address();
        *account = Account { lamports: 1, owner, executable: true, ..Account::default() };
    }
    let mut check = Check::default();
    case.check(&mut check, context, |check, receipt| {
        let result = match expected.result {
            0 => Ok(()),
            r0 => error::from_return_value(r0).map_or(Ok(()), Err),
        };
        check.same("program_result", result, receipt.result.clone());
        let returned = receipt.return_data.as_ref().map_or(&[][..], |it| &it.data);
        check.same("return_data", hex(&expected.return_data), hex(returned));
        for given in &expected.accounts {
            let (address, account) = runtime::account(given);
            // Accounts outside of the instruction do not change.
            let got = receipt.accounts.iter().find(|(key, _)| *key == address);
            let got = got.map_or_else(
                || State::new(address, &account),
                |(key, account)| State::new(*key, account),
            );
            check.same(&format!("account {address}"), State::new(address, &account), got);
        }
    })?;
    check.finish()
}

fn program(elf: &[u8], features: FeatureSet) -> Result<Program, BadVector> {
    let against = elf_environment(features, Purpose::Execution);
    let program = Program::load(elf, Loader::V3, &against).map_err(|error| error.to_string())?;
    Ok(program.for_features(features))
}
