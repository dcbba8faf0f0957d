//! Orders in bytemuck.

use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_signer::Signer as _;
use wild_lifecycles::{World, key};

#[test]
fn sorts_orders() {
    let id = key(20).pubkey();
    let mut world = World::new("bytemuck-orders", &[("bytemuck-orders", id)]);
    let book = key(3);
    world.create(&book, 8 + 16 * 16, &id);
    let place = |price: u64| Instruction {
        program_id: id,
        accounts: vec![AccountMeta::new(book.pubkey(), false)],
        data: [price.to_le_bytes(), 1_u64.to_le_bytes()].concat(),
    };
    for at in 0..16 {
        world.pass("place", &[place(at * 7 % 16)], &[]);
    }
    let data = world.data(&book.pubkey());
    let prices: Vec<u8> = data[8..].chunks_exact(16).map(|it| it[0]).collect();
    assert_eq!(prices, (0..16).rev().collect::<Vec<u8>>());
    world.fail_with("full", &[place(1)], &[], InstructionError::AccountDataTooSmall);
}
