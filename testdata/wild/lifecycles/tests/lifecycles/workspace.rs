//! Two programs of a workspace.

use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_signer::Signer as _;
use wild_lifecycles::{World, key};

#[test]
fn passes_bids_on() {
    let (auction, registry, book) = (key(20).pubkey(), key(21).pubkey(), key(3));
    let programs = [("workspace-auction", auction), ("workspace-registry", registry)];
    let mut world = World::new("workspace", &programs);
    world.create(&book, 40, &registry);
    let bid = |amount: u64| Instruction {
        program_id: auction,
        accounts: vec![
            AccountMeta::new(book.pubkey(), false),
            AccountMeta::new_readonly(registry, false),
        ],
        data: [&[7; 32][..], &amount.to_le_bytes()].concat(),
    };
    let done = world.pass("bid", &[bid(10)], &[]);
    assert!(done.logs.contains(&format!("Program {registry} invoke [2]")), "{:#?}", done.logs);
    assert_eq!(world.data(&book.pubkey())[32..], 10_u64.to_le_bytes());
    world.fail("too low", &[bid(10)], &[], 7);
    world.pass("bid more", &[bid(11)], &[]);
    let short = Instruction { data: vec![1], ..bid(0) };
    world.fail_with("short", &[short], &[], InstructionError::InvalidInstructionData);
}
