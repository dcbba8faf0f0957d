//! What the markets of Anchor 0.32 and 1 do.

use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_signer::Signer as _;
use wild_lifecycles::{
    ANCHOR_ID, ASSOCIATED, RENT, SYSTEM, TOKEN, World, anchor_data, associated, borsh,
    discriminator, key,
};

/// What precedes the data of an event that a program sends to itself.
const EVENT_TAG: [u8; 8] = 0x1d9a_cb51_2ea5_45e4_u64.to_le_bytes();

/// The instructions of a market, whose authority is the payer.
struct Market {
    authority: Address,
    program: Address,
    mint: Address,
    market: Address,
    book: Keypair,
    vault: Address,
    seller: Keypair,
    source: Address,
}

impl Market {
    fn open(&self, mint: &Address, fee_bps: u16, name: &str) -> Instruction {
        let (market, _) = Address::find_program_address(&[b"market", mint.as_ref()], &ANCHOR_ID);
        Instruction {
            program_id: ANCHOR_ID,
            accounts: vec![
                AccountMeta::new(market, false),
                AccountMeta::new(self.book.pubkey(), true),
                AccountMeta::new(associated(&market, mint, &self.program), false),
                AccountMeta::new_readonly(*mint, false),
                AccountMeta::new(self.authority, true),
                AccountMeta::new_readonly(self.program, false),
                AccountMeta::new_readonly(ASSOCIATED, false),
                AccountMeta::new_readonly(SYSTEM, false),
                AccountMeta::new_readonly(RENT, false),
            ],
            data: anchor_data("open", &[&fee_bps.to_le_bytes(), &borsh(name)]),
        }
    }

    fn sell(&self, source: &Address, amount: u64, price: u64) -> Instruction {
        let (events, _) = Address::find_program_address(&[b"__event_authority"], &ANCHOR_ID);
        Instruction {
            program_id: ANCHOR_ID,
            accounts: vec![
                AccountMeta::new(self.market, false),
                AccountMeta::new(self.book.pubkey(), false),
                AccountMeta::new(*source, false),
                AccountMeta::new(self.vault, false),
                AccountMeta::new_readonly(self.mint, false),
                AccountMeta::new_readonly(self.seller.pubkey(), true),
                AccountMeta::new_readonly(self.program, false),
                AccountMeta::new_readonly(events, false),
                AccountMeta::new_readonly(ANCHOR_ID, false),
            ],
            data: anchor_data("sell", &[&amount.to_le_bytes(), &price.to_le_bytes()]),
        }
    }

    fn refund(&self, authority: &Address, amount: u64) -> Instruction {
        Instruction {
            program_id: ANCHOR_ID,
            accounts: vec![
                AccountMeta::new_readonly(self.market, false),
                AccountMeta::new(self.vault, false),
                AccountMeta::new(self.source, false),
                AccountMeta::new_readonly(self.mint, false),
                AccountMeta::new_readonly(*authority, true),
                AccountMeta::new_readonly(self.program, false),
            ],
            data: anchor_data("refund", &[&amount.to_le_bytes()]),
        }
    }

    /// Without another account, the program stands in its place, and two more accounts follow.
    fn note(&self, note: &str) -> Instruction {
        Instruction {
            program_id: ANCHOR_ID,
            accounts: vec![
                AccountMeta::new(self.market, false),
                AccountMeta::new(self.authority, true),
                AccountMeta::new_readonly(ANCHOR_ID, false),
                AccountMeta::new_readonly(SYSTEM, false),
                AccountMeta::new_readonly(self.mint, false),
                AccountMeta::new_readonly(self.vault, false),
            ],
            data: anchor_data("note", &[&borsh(note)]),
        }
    }

    fn close(&self, program: Address) -> Instruction {
        Instruction {
            program_id: ANCHOR_ID,
            accounts: vec![
                AccountMeta::new(self.market, false),
                AccountMeta::new(self.authority, true),
                AccountMeta::new_readonly(program, false),
            ],
            data: anchor_data("close", &[]),
        }
    }

    fn average(&self) -> Instruction {
        Instruction {
            program_id: ANCHOR_ID,
            accounts: vec![AccountMeta::new_readonly(self.book.pubkey(), false)],
            data: anchor_data("average", &[]),
        }
    }
}

/// Opens a market of a program, sells and is refunded there, and closes it.
pub(crate) fn trade(name: &str, program: &Address) {
    let tokens = if *program == TOKEN { "token" } else { "token-2022" };
    let mut world = World::new(&format!("{name}-{tokens}"), &[(name, ANCHOR_ID)]);
    let mint = world.mint(10, 6, program);
    let other = world.mint(11, 9, program);
    let seller = key(3);
    let source = world.fund(&seller.pubkey(), &mint, 5_000_000, program);
    let wrong = world.fund(&seller.pubkey(), &other, 5_000_000, program);
    let (address, bump) = Address::find_program_address(&[b"market", mint.as_ref()], &ANCHOR_ID);
    let market = Market {
        authority: world.payer.pubkey(),
        program: *program,
        mint,
        market: address,
        book: key(4),
        vault: associated(&address, &mint, program),
        seller,
        source,
    };
    let (book, seller) = (&market.book, &market.seller);

    world.fail("a fee above 100 %", &[market.open(&mint, 10_001, "m")], &[book], 6000);
    world.fail("a long name", &[market.open(&mint, 0, &"m".repeat(33))], &[book], 6001);
    world.fail("other decimals", &[market.open(&other, 0, "m")], &[book], 2018);
    world.pass("open", &[market.open(&mint, 250, "apples")], &[book]);
    let data = world.data(&market.market);
    assert_eq!(data[..8], discriminator("account", "Market"));
    assert_eq!(data[8..72], [market.authority.to_bytes(), mint.to_bytes()].concat());
    assert_eq!(data[72..75], [250, 0, bump]);
    world.fail("open twice", &[market.open(&mint, 250, "apples")], &[book], 0);
    world.fail("no orders", &[market.average()], &[], 6004);

    world.fail("another mint", &[market.sell(&wrong, 1, 1)], &[seller], 2014);
    let done = world.pass("sell", &[market.sell(&source, 1_000_000, 7)], &[seller]);
    let event = done.inner_instructions[0].iter().map(|it| &it.instruction.data);
    let event = event.filter_map(|it| it.strip_prefix(&EVENT_TAG)).next().expect("an event");
    let fields = [975_000_u64.to_le_bytes(), 7_u64.to_le_bytes()].concat();
    assert_eq!(event[..8], discriminator("event", "Sold"));
    assert_eq!(event[8..], [&seller.pubkey().to_bytes()[..], &fields].concat());
    world.pass("sell more", &[market.sell(&source, 10, 8)], &[seller]);
    assert_eq!(world.tokens(&market.vault), 1_000_010);
    // The fee of ten is nothing, since fees are rounded down.
    assert_eq!(world.data(&market.market)[75..83], 975_010_u64.to_le_bytes());
    // The token program's error of too few tokens.
    world.fail("sell too much", &[market.sell(&source, 5_000_000, 1)], &[seller], 1);

    let done = world.pass("average", &[market.average()], &[]);
    assert_eq!(done.return_data.data, 7.5_f64.to_le_bytes());

    let stranger = key(5);
    let refund = market.refund(&stranger.pubkey(), 1);
    world.fail("another authority", &[refund], &[&stranger], 2001);
    let done = world.pass("refund", &[market.refund(&market.authority, 400_000)], &[]);
    assert!(done.logs.iter().any(|it| it.starts_with("Program data: ")), "{:#?}", done.logs);
    assert_eq!((world.tokens(&market.vault), world.tokens(&source)), (600_010, 4_399_990));

    let bytes = data.len();
    let done = world.pass("note", &[market.note("ripe")], &[]);
    let log = "Program log: 1 notes, 2 more accounts".to_owned();
    assert!(done.logs.contains(&log), "{:#?}", done.logs);
    assert_eq!(world.data(&market.market).len(), bytes + 8);

    world.fail("not executable", &[market.close(mint)], &[], 2007);
    world.pass("close", &[market.close(SYSTEM)], &[]);
    assert_eq!(world.svm.get_balance(&market.market).unwrap_or_default(), 0);
    world.fail("closed", &[market.note("late")], &[], 3012);
}
