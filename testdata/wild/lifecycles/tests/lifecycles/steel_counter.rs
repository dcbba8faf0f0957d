//! The counter in steel.

use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_signer::Signer as _;
use wild_lifecycles::{ANCHOR_ID, SYSTEM, World, key};

#[test]
fn adds() {
    let mut world = World::new("steel-counter", &[("steel-counter", ANCHOR_ID)]);
    let payer = world.payer.pubkey();
    let (counter, _) = Address::find_program_address(&[b"counter"], &ANCHOR_ID);
    let initialize = |counter: Address| Instruction {
        program_id: ANCHOR_ID,
        accounts: vec![
            AccountMeta::new(payer, true),
            AccountMeta::new(counter, false),
            AccountMeta::new_readonly(SYSTEM, false),
        ],
        data: vec![0],
    };
    let add = |amount: u64| Instruction {
        program_id: ANCHOR_ID,
        accounts: vec![AccountMeta::new(payer, true), AccountMeta::new(counter, false)],
        data: [&[1][..], &amount.to_le_bytes()].concat(),
    };
    let other = key(9).pubkey();
    world.fail_with("other seeds", &[initialize(other)], &[], InstructionError::InvalidSeeds);
    world.pass("initialize", &[initialize(counter)], &[]);
    world.pass("add", &[add(5), add(37)], &[]);
    assert_eq!(world.data(&counter)[8..], 42_u64.to_le_bytes());
    world.fail("overflow", &[add(u64::MAX)], &[], 0);
}
