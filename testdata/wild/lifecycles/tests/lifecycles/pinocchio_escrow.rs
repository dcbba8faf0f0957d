//! The escrow in pinocchio: an offer that is made, and taken.

use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_signer::Signer as _;
use wild_lifecycles::{ASSOCIATED, SYSTEM, TOKEN, World, associated, key};

#[test]
fn is_made_and_taken() {
    let id = key(20).pubkey();
    let mut world = World::new("pinocchio-escrow", &[("pinocchio-escrow", id)]);
    let (maker, taker) = (key(2), key(3));
    world.svm.airdrop(&maker.pubkey(), 10_000_000_000).unwrap();
    let (given, wanted) = (world.mint(10, 6, &TOKEN), world.mint(11, 0, &TOKEN));
    let source = world.fund(&maker.pubkey(), &given, 1_000, &TOKEN);
    let payment = world.fund(&maker.pubkey(), &wanted, 0, &TOKEN);
    let purse = world.fund(&taker.pubkey(), &wanted, 50, &TOKEN);
    let target = world.fund(&taker.pubkey(), &given, 0, &TOKEN);
    let (offer, bump) = Address::find_program_address(&[b"offer", maker.pubkey().as_ref()], &id);
    let vault = associated(&offer, &given, &TOKEN);

    let make = |amount: u64, bump: u8| Instruction {
        program_id: id,
        accounts: vec![
            AccountMeta::new(maker.pubkey(), true),
            AccountMeta::new(offer, false),
            AccountMeta::new_readonly(given, false),
            AccountMeta::new(source, false),
            AccountMeta::new(vault, false),
            AccountMeta::new_readonly(SYSTEM, false),
            AccountMeta::new_readonly(TOKEN, false),
            AccountMeta::new_readonly(ASSOCIATED, false),
        ],
        data: [&[0][..], &amount.to_le_bytes(), &50_u64.to_le_bytes(), &[bump]].concat(),
    };
    let take = Instruction {
        program_id: id,
        accounts: vec![
            AccountMeta::new_readonly(taker.pubkey(), true),
            AccountMeta::new(maker.pubkey(), false),
            AccountMeta::new(offer, false),
            AccountMeta::new(vault, false),
            AccountMeta::new(target, false),
            AccountMeta::new(purse, false),
            AccountMeta::new(payment, false),
            AccountMeta::new_readonly(TOKEN, false),
        ],
        data: vec![1],
    };

    let error = InstructionError::InvalidAccountOwner;
    world.fail_with("nothing to take", &[take.clone()], &[&taker], error);
    // The token program's error of too few tokens, from two calls below.
    world.fail("too much", &[make(1_001, bump)], &[&maker], 1);
    let error = InstructionError::ProgramFailedToComplete;
    world.fail_with("another bump", &[make(400, bump.wrapping_sub(1))], &[&maker], error);
    world.pass("make", &[make(400, bump)], &[&maker]);
    assert_eq!((world.tokens(&source), world.tokens(&vault)), (600, 400));
    world.fail("made already", &[make(1, bump)], &[&maker], 0);

    let done = world.pass("take", &[take.clone()], &[&taker]);
    assert!(done.logs.contains(&"Program log: 400 for 50".to_owned()), "{:#?}", done.logs);
    assert_eq!((world.tokens(&target), world.tokens(&payment)), (400, 50));
    assert_eq!(world.tokens(&purse), 0);
    assert_eq!(world.svm.get_balance(&vault).unwrap_or_default(), 0);
    // The offer is still there, but its vault is not.
    world.fail_with("taken", &[take], &[&taker], InstructionError::InvalidAccountData);
}
