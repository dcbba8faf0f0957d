//! Anchor's counter.

use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_signer::Signer as _;
use wild_lifecycles::{ANCHOR_ID, SYSTEM, World, anchor_data, key};

#[test]
fn counts_for_its_authority() {
    let mut world = World::new("anchor-counter", &[("anchor-counter", ANCHOR_ID)]);
    let (authority, counter, full) = (key(2), key(3), key(4));
    world.svm.airdrop(&authority.pubkey(), 1_000_000_000).unwrap();
    let initialize = |counter: &Keypair, start: u64| Instruction {
        program_id: ANCHOR_ID,
        accounts: vec![
            AccountMeta::new(counter.pubkey(), true),
            AccountMeta::new(authority.pubkey(), true),
            AccountMeta::new_readonly(SYSTEM, false),
        ],
        data: anchor_data("initialize", &[&start.to_le_bytes()]),
    };
    let increment = |counter: &Keypair, authority: &Keypair| Instruction {
        program_id: ANCHOR_ID,
        accounts: vec![
            AccountMeta::new(counter.pubkey(), false),
            AccountMeta::new_readonly(authority.pubkey(), true),
        ],
        data: anchor_data("increment", &[]),
    };

    world.fail("no counter", &[increment(&counter, &authority)], &[&authority], 3012);
    world.pass("initialize", &[initialize(&counter, 41)], &[&counter, &authority]);
    let done = world.pass("increment", &[increment(&counter, &authority)], &[&authority]);
    assert!(done.logs.contains(&"Program log: count 42".to_owned()), "{:#?}", done.logs);
    assert_eq!(world.data(&counter.pubkey())[40..], 42_u64.to_le_bytes());
    assert_eq!(world.data(&counter.pubkey())[8..40], authority.pubkey().to_bytes());

    world.fail("twice", &[initialize(&counter, 0)], &[&counter, &authority], 0);
    world.fail("another authority", &[increment(&counter, &key(5))], &[&key(5)], 2001);
    world.pass("a full counter", &[initialize(&full, u64::MAX)], &[&full, &authority]);
    world.fail("overflow", &[increment(&full, &authority)], &[&authority], 6000);
    let unknown = Instruction { data: vec![0; 8], ..increment(&counter, &authority) };
    world.fail("no such instruction", &[unknown], &[&authority], 101);
}
