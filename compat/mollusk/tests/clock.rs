//! Programs at every clock.

use selkie_mollusk::{Mollusk, program::loader_keys::LOADER_V3, result::Check};
use solana_account::Account;
use solana_clock::Clock;
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;

#[test]
fn added_programs_can_be_invoked_at_every_clock() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/scenarios/counter.so");
    let elf = std::fs::read(file).expect("the file of a program");
    let (id, count) = (Pubkey::new_unique(), Pubkey::new_unique());
    for added_in in [0, 1000] {
        let mut mollusk = Mollusk::default();
        mollusk.sysvars.warp_to_slot(added_in);
        mollusk.add_program_with_loader_and_elf(&id, &LOADER_V3, &elf);
        let accounts = vec![AccountMeta::new(count, false)];
        let call = Instruction { program_id: id, accounts, data: 1_u64.to_le_bytes().to_vec() };
        for slot in [0, 1, 1000, 999, 0] {
            mollusk.sysvars.clock = Clock { slot, unix_timestamp: 7, ..Clock::default() };
            let data = vec![0; 8];
            let account = Account { lamports: 10_000_000, data, owner: id, ..Account::default() };
            let accounts = [(count, account)];
            mollusk.process_and_validate_instruction(&call, &accounts, &[Check::success()]);
        }
    }
}
