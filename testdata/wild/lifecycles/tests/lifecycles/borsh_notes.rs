//! Notes in borsh.

use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer as _;
use wild_lifecycles::{SYSTEM, World, borsh, key};

#[test]
fn keeps_notes_of_its_owner() {
    let id = key(20).pubkey();
    let mut world = World::new("borsh-notes", &[("borsh-notes", id)]);
    let owner = key(2);
    world.svm.airdrop(&owner.pubkey(), 10_000_000_000).unwrap();
    let (notes, _) = Address::find_program_address(&[b"notes", owner.pubkey().as_ref()], &id);
    let call = |signer: &Keypair, data: Vec<u8>| Instruction {
        program_id: id,
        accounts: vec![
            AccountMeta::new(notes, false),
            AccountMeta::new(signer.pubkey(), true),
            AccountMeta::new_readonly(SYSTEM, false),
        ],
        data,
    };
    let open = [&[0][..], &500_u64.to_le_bytes()].concat();
    let write = |title: &str, text: &str| {
        let tags = [&1_u32.to_le_bytes()[..], &borsh("tag")].concat();
        [&[1][..], &borsh(title), &borsh(text), &tags].concat()
    };
    let remove = |title: &str| [&[2][..], &borsh(title)].concat();

    world.pass("open", &[call(&owner, open)], &[&owner]);
    world.pass("write", &[call(&owner, write("b", "second"))], &[&owner]);
    let done = world.pass("write", &[call(&owner, write("a", "first"))], &[&owner]);
    assert!(done.logs.contains(&"Program log: 2 notes".to_owned()), "{:#?}", done.logs);
    let other = key(5);
    world.fail("another owner", &[call(&other, write("c", ""))], &[&other], 0);
    world.fail("no such note", &[call(&owner, remove("c"))], &[&owner], 1);
    world.pass("remove", &[call(&owner, remove("b"))], &[&owner]);
    let expected = [&1_u32.to_le_bytes()[..], &borsh("a"), &borsh("first")].concat();
    assert_eq!(world.data(&notes)[32..][..expected.len()], expected);
    let long = call(&owner, write("long", &"x".repeat(600)));
    world.fail_with("too long", &[long], &[&owner], InstructionError::BorshIoError);
}
