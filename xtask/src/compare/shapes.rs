//! The forms of instructions: their data and accounts, from which random ones are made.

use selkie::{AccountMeta, Instruction, Pubkey};

use super::{
    keys::{Family, Keys, Role},
    random::Random,
};

/// A part of an instruction's data.
#[derive(Clone, Copy)]
enum Data {
    Decimals,
    Key,
    OptionalKey,
    Amount,
    /// A byte below this.
    Below(u8),
    Text,
    /// Up to this many bytes.
    Bytes(usize),
}

/// An account of an instruction: its role, and whether it is writable or a signer.
type Use = (Role, bool, bool);

const MINT: Use = (Role::Mint, true, false);
const ACCOUNT: Use = (Role::Account, true, false);
const FRESH_MINT: Use = (Role::FreshMint, true, false);
const FRESH: Use = (Role::FreshAccount, true, false);
const MULTISIG: Use = (Role::Multisig, true, false);
const WALLET: Use = (Role::Wallet, true, false);
const AUTHORITY: Use = (Role::Wallet, false, true);
const PAYER: Use = (Role::Wallet, true, true);
const RENT: Use = (Role::Rent, false, false);
const SYSTEM: Use = (Role::System, false, false);
const TOKEN: Use = (Role::Token, false, false);
const ASSOCIATED: Use = (Role::Associated, true, false);

/// The form of an instruction: its number, data and accounts.
type Shape = (u8, &'static [Data], &'static [Use]);

/// The instructions of the token program.
const TOKENS: &[Shape] = &[
    (0, &[Data::Decimals, Data::Key, Data::OptionalKey], &[FRESH_MINT, RENT]),
    (1, &[], &[FRESH, MINT, WALLET, RENT]),
    (2, &[Data::Below(12)], &[MULTISIG, RENT, WALLET, WALLET, WALLET]),
    (3, &[Data::Amount], &[ACCOUNT, ACCOUNT, AUTHORITY]),
    (4, &[Data::Amount], &[ACCOUNT, WALLET, AUTHORITY]),
    (5, &[], &[ACCOUNT, AUTHORITY]),
    (6, &[Data::Below(5), Data::OptionalKey], &[ACCOUNT, AUTHORITY]),
    (6, &[Data::Below(5), Data::OptionalKey], &[MINT, AUTHORITY]),
    (7, &[Data::Amount], &[MINT, ACCOUNT, AUTHORITY]),
    (8, &[Data::Amount], &[ACCOUNT, MINT, AUTHORITY]),
    (9, &[], &[ACCOUNT, WALLET, AUTHORITY]),
    (10, &[], &[ACCOUNT, MINT, AUTHORITY]),
    (11, &[], &[ACCOUNT, MINT, AUTHORITY]),
    (12, &[Data::Amount, Data::Decimals], &[ACCOUNT, MINT, ACCOUNT, AUTHORITY]),
    (13, &[Data::Amount, Data::Decimals], &[ACCOUNT, MINT, WALLET, AUTHORITY]),
    (14, &[Data::Amount, Data::Decimals], &[MINT, ACCOUNT, AUTHORITY]),
    (15, &[Data::Amount, Data::Decimals], &[ACCOUNT, MINT, AUTHORITY]),
    (16, &[Data::Key], &[FRESH, MINT, RENT]),
    (17, &[], &[ACCOUNT]),
    (18, &[Data::Key], &[FRESH, MINT]),
    (19, &[Data::Below(12)], &[MULTISIG, WALLET, WALLET, WALLET]),
    (20, &[Data::Decimals, Data::Key, Data::OptionalKey], &[FRESH_MINT]),
    (21, &[], &[MINT]),
    (22, &[], &[FRESH]),
    (23, &[Data::Amount], &[MINT]),
    (24, &[Data::Text], &[MINT]),
];

/// Instructions that only Token-2022 has. Most have a second number.
const EXTENSIONS: &[Shape] = &[
    (25, &[Data::OptionalKey], &[FRESH_MINT]),
    (26, &[Data::Below(7), Data::OptionalKey, Data::OptionalKey, Data::Bytes(12)], &[FRESH_MINT]),
    (
        26,
        &[Data::Below(7), Data::Amount, Data::Decimals, Data::Amount],
        &[ACCOUNT, MINT, ACCOUNT, AUTHORITY],
    ),
    (27, &[Data::Below(15), Data::Bytes(80)], &[FRESH_MINT, AUTHORITY]),
    (28, &[Data::Below(3), Data::Below(3)], &[FRESH, AUTHORITY]),
    (29, &[Data::Below(20), Data::Below(2)], &[ACCOUNT, PAYER, SYSTEM, AUTHORITY]),
    (30, &[Data::Below(3)], &[ACCOUNT, AUTHORITY]),
    (31, &[], &[PAYER, FRESH_MINT, SYSTEM]),
    (32, &[], &[FRESH_MINT]),
    (33, &[Data::Below(3), Data::Key, Data::Bytes(2)], &[FRESH_MINT, AUTHORITY]),
    (34, &[Data::Below(3)], &[ACCOUNT, AUTHORITY]),
    (35, &[Data::Key], &[FRESH_MINT]),
    (36, &[Data::Below(3), Data::Key, Data::Key], &[FRESH_MINT, AUTHORITY]),
    (38, &[], &[ACCOUNT, WALLET, AUTHORITY]),
    (39, &[Data::Below(3), Data::Key, Data::Key], &[FRESH_MINT, AUTHORITY]),
    (40, &[Data::Below(3), Data::Key, Data::Key], &[FRESH_MINT, AUTHORITY]),
    (41, &[Data::Below(3), Data::Key, Data::Key], &[FRESH_MINT, AUTHORITY]),
    (43, &[Data::Below(3), Data::Key, Data::Bytes(10)], &[FRESH_MINT, AUTHORITY]),
    (44, &[Data::Below(4), Data::Key], &[FRESH_MINT, AUTHORITY]),
    (45, &[Data::Bytes(12)], &[ACCOUNT, AUTHORITY]),
    (255, &[Data::Bytes(60)], &[MINT, AUTHORITY, ACCOUNT]),
];

const ASSOCIATED_TOKENS: &[Shape] = &[
    (0, &[], &[PAYER, ASSOCIATED, WALLET, MINT, SYSTEM, TOKEN]),
    (1, &[], &[PAYER, ASSOCIATED, WALLET, MINT, SYSTEM, TOKEN]),
    (0, &[], &[PAYER, ASSOCIATED, WALLET, MINT, SYSTEM, TOKEN, RENT]),
    (1, &[], &[PAYER, ASSOCIATED, ASSOCIATED, MINT, SYSTEM, TOKEN]),
    (2, &[], &[ASSOCIATED, MINT, ASSOCIATED, ASSOCIATED, MINT, PAYER, TOKEN]),
];

const MEMOS: &[Shape] = &[
    (b'a', &[Data::Text], &[]),
    (b'b', &[Data::Bytes(600)], &[AUTHORITY]),
    (b'c', &[Data::Text, Data::Text], &[AUTHORITY, AUTHORITY, WALLET]),
];

/// Returns the forms of a family's instructions.
fn shapes(family: Family) -> Vec<Shape> {
    match family {
        Family::Token => TOKENS.to_vec(),
        Family::Token2022 => [TOKENS, EXTENSIONS].concat(),
        Family::Ata => ASSOCIATED_TOKENS.to_vec(),
        Family::Memo => MEMOS.to_vec(),
    }
}

/// Returns a random instruction: most have the right form, some are wrong in one way or another.
pub(super) fn instruction(family: Family, keys: &Keys, random: &mut Random) -> Instruction {
    let (number, parts, uses) = random.choose(&shapes(family));
    let mut data = vec![if random.happens(1) { random.number().to_le_bytes()[0] } else { number }];
    parts.iter().for_each(|part| add_data(*part, keys, random, &mut data));
    if random.happens(3) {
        data.truncate(random.below(data.len() + 1));
    }
    let mut accounts: Vec<AccountMeta> = Vec::new();
    let mut uses = uses.to_vec();
    if random.happens(4) {
        uses.pop();
    }
    if random.happens(10) {
        uses.push(AUTHORITY);
    }
    for (role, is_writable, is_signer) in uses {
        let of_role = keys.of(role);
        let any = of_role.is_empty() || random.happens(6);
        let key = if any { random.choose(&keys.all()) } else { random.choose(&of_role) };
        let differs = random.happens(3);
        accounts.push(AccountMeta {
            pubkey: key,
            is_signer: is_signer != differs,
            is_writable: is_writable != (differs && random.happens(30)),
        });
    }
    if family == Family::Ata && random.happens(80) {
        derive_addresses(number, &mut accounts);
    }
    Instruction { program_id: family.program(), accounts, data }
}

/// Makes the associated addresses those of the wallets and mints that are given with them.
fn derive_addresses(number: u8, accounts: &mut [AccountMeta]) {
    // The positions of address, wallet, mint and token program.
    let derived: &[[usize; 4]] =
        if number == 2 { &[[3, 5, 4, 6], [2, 5, 1, 6], [0, 3, 1, 6]] } else { &[[1, 2, 3, 5]] };
    for positions in derived {
        if positions.iter().any(|it| *it >= accounts.len()) {
            return;
        }
        let [at, wallet, mint, token] = *positions;
        let seeds = [wallet, token, mint].map(|it| accounts[it].pubkey.to_bytes());
        let seeds = seeds.each_ref().map(<[u8; 32]>::as_slice);
        accounts[at].pubkey = Pubkey::find_program_address(&seeds, &Family::Ata.program()).0;
    }
}

/// Appends a part of an instruction's data.
fn add_data(part: Data, keys: &Keys, random: &mut Random, data: &mut Vec<u8>) {
    const AMOUNTS: [u64; 6] = [0, 1, 10, 999, 1001, u64::MAX];
    match part {
        Data::Decimals => data.push(if random.happens(80) { 6 } else { 9 }),
        Data::Key => data.extend(random.choose(&keys.of(Role::Wallet)).to_bytes()),
        Data::OptionalKey if random.happens(30) => data.push(0),
        Data::OptionalKey => {
            data.push(1);
            data.extend(random.choose(&keys.of(Role::Wallet)).to_bytes());
        }
        Data::Amount if random.happens(60) => {
            data.extend((random.below(50) as u64).to_le_bytes());
        }
        Data::Amount => data.extend(random.choose(&AMOUNTS).to_le_bytes()),
        Data::Below(end) => data.push(random.number().to_le_bytes()[1] % end),
        Data::Text => {
            data.extend(random.choose(&["1.5", "gm", "0", "é1.", ".", "12345.6"]).bytes())
        }
        Data::Bytes(most) => {
            let length = random.below(most + 1);
            let plain = random.happens(50);
            let byte = |byte: u8| if plain { byte % 96 + 32 } else { byte };
            data.extend((0..length).map(|_| byte(random.number().to_le_bytes()[2])));
        }
    }
}
