//! The forms of instructions: their data and accounts, from which random ones are made.

use selkie::{AccountMeta, Instruction, Pubkey};

use super::{
    extensions,
    forms::{
        ACCOUNT, ASSOCIATED, AUTHORITY, Data, FRESH, FRESH_MINT, MINT, MULTISIG, PAYER, RENT,
        SYSTEM, Shape, TOKEN, WALLET,
    },
    keys::{Family, Keys, Role},
    proofs,
    random::Random,
};

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
        Family::Token2022 => [TOKENS, &extensions::shapes()].concat(),
        Family::Ata => ASSOCIATED_TOKENS.to_vec(),
        Family::Memo => MEMOS.to_vec(),
    }
}

/// Returns a random instruction: most have the right form, some are wrong in one way or another.
pub(super) fn instruction(family: Family, keys: &Keys, random: &mut Random) -> Instruction {
    let (number, parts, uses) = random.choose(&shapes(family));
    let mut data = vec![if random.happens(1) { random.number().to_le_bytes()[0] } else { number }];
    let extension = match family {
        Family::Token2022 => extensions::of(number, parts, random),
        Family::Token | Family::Ata | Family::Memo => None,
    };
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
        let of_role = keys.of(role, extension);
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
    const TEXTS: [&str; 6] = ["1.5", "gm", "0", "é1.", ".", "12345.6"];
    const MULTIPLIERS: [f64; 6] = [1.0, 1.5, 1e-9, 0.0, -2.0, f64::NAN];
    match part {
        Data::Number(number) => data.push(number),
        Data::Name(name) => data.extend(&extensions::discriminator(name)[1..]),
        Data::Decimals => data.push(if random.happens(80) { 6 } else { 9 }),
        Data::Key => data.extend(random.choose(&keys.of(Role::Wallet, None)).to_bytes()),
        Data::OptionalKey if random.happens(30) => data.push(0),
        Data::OptionalKey => {
            data.push(1);
            data.extend(random.choose(&keys.of(Role::Wallet, None)).to_bytes());
        }
        Data::Amount if random.happens(60) => {
            data.extend((random.below(50) as u64).to_le_bytes());
        }
        Data::Amount => data.extend(random.choose(&AMOUNTS).to_le_bytes()),
        Data::Below(end) => data.push(random.number().to_le_bytes()[1] % end),
        Data::Text => data.extend(random.choose(&TEXTS).bytes()),
        Data::String => {
            let text = random.choose(&TEXTS);
            data.extend(u32::try_from(text.len()).unwrap_or_default().to_le_bytes());
            data.extend(text.bytes());
        }
        Data::Exactly(length) => data.extend(vec![random.number().to_le_bytes()[2]; length]),
        Data::Offsets(length) => {
            let other = random.happens(5);
            data.extend(
                (0..length).map(|_| if other { random.number().to_le_bytes()[2] } else { 0 }),
            );
        }
        Data::ProvedAmount if random.happens(90) => data.extend(proofs::AMOUNT.to_le_bytes()),
        Data::ProvedAmount => data.extend(random.choose(&AMOUNTS).to_le_bytes()),
        Data::AuditorCiphertexts if random.happens(90) => {
            data.extend(proofs::auditor_ciphertexts());
        }
        Data::AuditorCiphertexts => data.extend([random.number().to_le_bytes()[2]; 128]),
        Data::BasisPoints => {
            let most = if random.happens(90) { 10_001 } else { 0x1_0000 };
            data.extend(u16::try_from(random.below(most)).unwrap_or_default().to_le_bytes());
        }
        Data::Multiplier => data.extend(random.choose(&MULTIPLIERS).to_le_bytes()),
        Data::Bytes(most) => {
            let length = random.below(most + 1);
            let plain = random.happens(50);
            let byte = |byte: u8| if plain { byte % 96 + 32 } else { byte };
            data.extend((0..length).map(|_| byte(random.number().to_le_bytes()[2])));
        }
    }
}
