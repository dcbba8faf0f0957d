//! Opens a tally and adds to it. Run `selkie build` or `anchor build` first.

use anchor_lang::{AccountDeserialize, InstructionData, ToAccountMetas};
use selkie::{Instruction, Signer, Svm, built, ids::system_program, keypair};
use tally::{Tally, TallyError, accounts, instruction};

#[test]
fn a_tally_counts() -> Result<(), Box<dyn std::error::Error>> {
    let (tally, owner) = (keypair("tally"), keypair("owner"));
    let mut svm = Svm::new();
    svm.add_program(tally::ID, built("tally"))?;
    svm.airdrop(&owner.pubkey(), 1_000_000_000)?;

    let open = accounts::Open {
        tally: tally.pubkey(),
        owner: owner.pubkey(),
        system_program: system_program::ID,
    };
    let open = Instruction {
        program_id: tally::ID,
        accounts: open.to_account_metas(None),
        data: instruction::Open {}.data(),
    };
    svm.send_instructions(&[open], &[&owner, &tally])?;

    let add = |amount| Instruction {
        program_id: tally::ID,
        accounts: accounts::Add { tally: tally.pubkey(), owner: owner.pubkey() }
            .to_account_metas(None),
        data: instruction::Add { amount }.data(),
    };
    svm.send_instructions(&[add(41), add(1)], &[&owner])?;

    let account = svm.account(&tally.pubkey()).ok_or("no tally")?;
    assert_eq!(Tally::try_deserialize(&mut account.data.as_slice())?.count, 42);

    let failed = svm.send_instructions(&[add(u64::MAX)], &[&owner]).unwrap_err();
    assert_eq!(failed.custom(), Some(TallyError::Overflow.into()), "{failed}");
    Ok(())
}
