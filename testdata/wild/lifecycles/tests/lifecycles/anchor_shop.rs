//! The shop in Anchor, which calls Anchor's counter.

use solana_account::Account;
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer as _;
use wild_lifecycles::{
    ANCHOR_ID, ASSOCIATED, SYSTEM, TOKEN_2022, World, anchor_data, associated, discriminator, key,
};

const ID: Address = Address::from_str_const("5MZz6VDKUEYDxM6Z1R5d9yANRJgFfqAHEafGEDUpEb6o");
/// The bytes of a catalogue: a discriminator, a count, and a thousand items of 24 bytes.
const CATALOGUE_BYTES: usize = 8 + 8 + 1_000 * 24;

struct Shop {
    keeper: Address,
    shop: Address,
    voucher: Address,
    counter: Address,
    buyer: Keypair,
    purse: Address,
}

impl Shop {
    /// A price is free without a number, each with one, for bulk with two.
    fn set_up(&self, till: &Keypair, price: &[u64]) -> Instruction {
        let kind = u8::try_from(price.len()).unwrap();
        let numbers: Vec<u8> = price.iter().flat_map(|it| it.to_le_bytes()).collect();
        Instruction {
            program_id: ID,
            accounts: vec![
                AccountMeta::new(self.shop, false),
                AccountMeta::new(self.voucher, false),
                AccountMeta::new(till.pubkey(), true),
                AccountMeta::new_readonly(self.counter, false),
                AccountMeta::new(self.keeper, true),
                AccountMeta::new_readonly(TOKEN_2022, false),
                AccountMeta::new_readonly(SYSTEM, false),
            ],
            data: anchor_data("set_up", &[&[kind], &numbers]),
        }
    }

    fn list(&self, catalogue: Address, keeper: Address, names: &[&[u8; 16]]) -> Instruction {
        let count = u32::try_from(names.len()).unwrap();
        let names: Vec<u8> = names.iter().flat_map(|it| **it).collect();
        Instruction {
            program_id: ID,
            accounts: vec![
                AccountMeta::new_readonly(self.shop, false),
                AccountMeta::new(catalogue, false),
                AccountMeta::new_readonly(keeper, true),
            ],
            data: anchor_data("list", &[&count.to_le_bytes(), &names]),
        }
    }

    fn sell(&self, vouchers: u64) -> Instruction {
        Instruction {
            program_id: ID,
            accounts: vec![
                AccountMeta::new(self.shop, false),
                AccountMeta::new(self.voucher, false),
                AccountMeta::new(self.purse, false),
                AccountMeta::new(self.counter, false),
                AccountMeta::new(self.keeper, false),
                AccountMeta::new(self.buyer.pubkey(), true),
                AccountMeta::new_readonly(ANCHOR_ID, false),
                AccountMeta::new_readonly(TOKEN_2022, false),
                AccountMeta::new_readonly(ASSOCIATED, false),
                AccountMeta::new_readonly(SYSTEM, false),
            ],
            data: anchor_data("sell", &[&vouchers.to_le_bytes()]),
        }
    }

    fn redeem(&self) -> Instruction {
        Instruction {
            program_id: ID,
            accounts: vec![
                AccountMeta::new_readonly(self.shop, false),
                AccountMeta::new(self.voucher, false),
                AccountMeta::new(self.purse, false),
                AccountMeta::new_readonly(self.buyer.pubkey(), true),
                AccountMeta::new_readonly(TOKEN_2022, false),
            ],
            data: anchor_data("redeem", &[]),
        }
    }

    fn enter(&self, ledger: Address, lamports: i64) -> Instruction {
        Instruction {
            program_id: ID,
            accounts: vec![
                AccountMeta::new_readonly(self.shop, false),
                AccountMeta::new(ledger, false),
                AccountMeta::new_readonly(self.keeper, true),
            ],
            data: anchor_data("enter", &[&lamports.to_le_bytes()]),
        }
    }

    /// `theirs` is to be an account of `program`.
    fn audit(
        &self,
        auditor: Address,
        catalogue: Address,
        theirs: Address,
        program: Address,
    ) -> Instruction {
        let (anything, _) = Address::find_program_address(&[b"anything"], &ANCHOR_ID);
        Instruction {
            program_id: ID,
            accounts: vec![
                AccountMeta::new_readonly(auditor, true),
                AccountMeta::new_readonly(catalogue, false),
                AccountMeta::new_readonly(anything, false),
                AccountMeta::new_readonly(theirs, false),
                AccountMeta::new_readonly(program, false),
            ],
            data: anchor_data("audit", &[]),
        }
    }
}

/// Puts a counter in place: its authority is a derived address, which cannot create it.
fn put_counter(world: &mut World, address: Address, authority: &Address) {
    let data = [&discriminator("account", "Counter")[..], authority.as_ref(), &[0; 8]].concat();
    put(world, address, ANCHOR_ID, data);
}

fn put(world: &mut World, address: Address, owner: Address, data: Vec<u8>) {
    let lamports = world.svm.minimum_balance_for_rent_exemption(data.len());
    let account = Account { lamports, data, owner, ..Account::default() };
    world.svm.set_account(address, account).unwrap();
}

/// The data of a ledger as the official toolchain lays it out, which aligns integers of 128 bits to
/// eight bytes: `moved` is at 8 behind the discriminator, `largest` at 24, `last` at 32 and `lamports` at
/// 40, of 56.
fn ledger(entries: u64, moved: u128, largest: u64, last: i64, lamports: i128) -> Vec<u8> {
    let numbers = [&entries.to_le_bytes()[..], &moved.to_le_bytes(), &largest.to_le_bytes()];
    let balance = [&last.to_le_bytes()[..], &lamports.to_le_bytes()];
    [&discriminator("account", "Ledger")[..], &numbers.concat(), &balance.concat()].concat()
}

#[test]
fn sells_vouchers() {
    let programs = [("anchor-shop", ID), ("anchor-counter", ANCHOR_ID)];
    let mut world = World::new("anchor-shop", &programs);
    let (shop, _) = Address::find_program_address(&[b"shop"], &ID);
    let (voucher, _) = Address::find_program_address(&[b"voucher", shop.as_ref()], &ID);
    let (buyer, till, catalogue, stranger) = (key(3), key(4), key(5), key(6));
    let purse = associated(&buyer.pubkey(), &voucher, &TOKEN_2022);
    let (keeper, counter) = (world.payer.pubkey(), key(7).pubkey());
    world.svm.airdrop(&buyer.pubkey(), 10_000_000_000).unwrap();
    let shop = Shop { keeper, shop, voucher, counter, buyer, purse };
    let buyer = &shop.buyer;

    put_counter(&mut world, counter, &keeper);
    world.fail("another's counter", &[shop.set_up(&till, &[])], &[&till], 6000);
    put_counter(&mut world, counter, &shop.shop);
    world.pass("set up", &[shop.set_up(&till, &[10, 5_000])], &[&till]);
    // A mint with two extensions, and a token account that belongs to the shop.
    assert_eq!(world.data(&voucher)[165], 1);
    assert_eq!(world.data(&voucher).len(), 166 + (4 + 64) + (4 + 32));
    assert_eq!(world.data(&till.pubkey())[32..64], shop.shop.to_bytes());

    world.create(&catalogue, CATALOGUE_BYTES, &ID);
    let catalogue = catalogue.pubkey();
    let names: [&[u8; 16]; 2] = [b"a loaf of bread\0", b"a pint of milk\0\0"];
    let list = shop.list(catalogue, stranger.pubkey(), &names);
    world.fail("another keeper", &[list], &[&stranger], 6001);
    world.pass("list", &[shop.list(catalogue, keeper, &names)], &[]);
    world.fail("list twice", &[shop.list(catalogue, keeper, &names)], &[], 2013);

    world.fail("too few", &[shop.sell(9)], &[buyer], 6003);
    let done = world.pass("sell", &[shop.sell(12)], &[buyer]);
    let log = "Program log: sale 1: 5000 lamports".to_owned();
    assert!(done.logs.contains(&log), "{:#?}", done.logs);
    assert_eq!(world.tokens(&purse), 12);
    assert_eq!(world.data(&counter)[40..], 1_u64.to_le_bytes());
    let other = Instruction { data: anchor_data("sell", &[&[1]]), ..shop.sell(0) };
    world.fail("no number", &[other], &[buyer], 102);

    world.pass("redeem", &[shop.redeem()], &[buyer]);
    assert_eq!((world.tokens(&purse), world.data(&purse)[108]), (11, 2));
    // The token program's error of a frozen account.
    world.fail("frozen", &[shop.redeem()], &[buyer], 17);

    let book = key(9).pubkey();
    put(&mut world, book, ID, ledger(3, u128::from(u64::MAX), 40, -40, -2));
    world.pass("enter", &[shop.enter(book, 30)], &[]);
    assert_eq!(world.data(&book), ledger(4, (1 << 64) + 29, 40, 30, 28));
    world.pass("enter a loss", &[shop.enter(book, -50)], &[]);
    assert_eq!(world.data(&book), ledger(5, (1 << 64) + 79, 50, -50, -22));

    let auditor = key(8);
    let audit = |auditor: &Keypair, theirs: Address| {
        shop.audit(auditor.pubkey(), catalogue, theirs, ANCHOR_ID)
    };
    world.fail("another auditor", &[audit(&stranger, counter)], &[&stranger], 6002);
    world.fail("another owner", &[audit(&auditor, purse)], &[&auditor], 2004);
    let done = world.pass("audit", &[audit(&auditor, counter)], &[&auditor]);
    assert_eq!(done.return_data.data, 2_u64.to_le_bytes());
    let short = Instruction { data: vec![1], ..shop.redeem() };
    world.fail_with("short", &[short], &[buyer], InstructionError::Custom(101));
}
