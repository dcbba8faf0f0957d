//! The extensions of Token-2022: mints that have them, and the forms of their instructions.

use selkie::Pubkey;
use sha2::{Digest as _, Sha256};

use super::{
    forms::{ACCOUNT, AUTHORITY, Data, FRESH_MINT, MINT, PAYER, SYSTEM, Shape, Use, WALLET},
    keys::Role,
    proofs::{self, Proof},
    random::Random,
};

/// Bytes of an account with room for extensions.
pub(super) const ACCOUNT_LEN: usize = 900;

/// The number of the extension of mints that are members of groups.
pub(super) const GROUP_MEMBER: u8 = 41;

/// An extension of mints.
pub(super) struct Extension {
    /// The number of its instructions.
    pub(super) number: u8,
    /// Bytes of what the mint holds, one for each extension.
    lens: &'static [usize],
    /// The instructions that come before the mint's own initialization.
    initialization: &'static [&'static [Part]],
}

/// A part of the data that initializes an extension.
enum Part {
    Bytes(&'static [u8]),
    Zeros(usize),
    /// The address of the wallet that may do everything.
    Wallet,
    /// The mint's own address.
    Mint,
}

use Part::{Bytes, Mint, Wallet, Zeros};

const TRANSFER_FEE: &[Part] =
    &[Bytes(&[26, 0, 1]), Wallet, Bytes(&[1]), Wallet, Bytes(&[100, 0]), Bytes(&FEE_MAX)];
const FEE_MAX: [u8; 8] = proofs::FEE_MAX.to_le_bytes();
const CONFIDENTIAL_TRANSFER: &[Part] = &[Bytes(&[27, 0]), Wallet, Bytes(&[0]), Zeros(32)];
const ELGAMAL_KEY: Part = Bytes(&proofs::ELGAMAL_KEY);
const CONFIDENTIAL_MINT_BURN: &[Part] = &[Bytes(&[42, 0]), ELGAMAL_KEY, Zeros(36)];
const PERMISSIONED_BURN: &[Part] = &[Bytes(&[46, 0]), Wallet];

const METADATA: Extension =
    Extension { number: 39, lens: &[64], initialization: &[&[Bytes(&[39, 0]), Wallet, Mint]] };
const GROUP: Extension =
    Extension { number: 40, lens: &[64], initialization: &[&[Bytes(&[40, 0]), Wallet, Mint]] };

/// One mint is made of each: of metadata and of groups, one is left without, and permissioned burns are
/// plain or confidential.
pub(super) const EXTENSIONS: &[Extension] = &[
    Extension { number: 25, lens: &[32], initialization: &[&[Bytes(&[25, 1]), Wallet]] },
    Extension { number: 26, lens: &[108], initialization: &[TRANSFER_FEE] },
    Extension { number: 27, lens: &[65], initialization: &[CONFIDENTIAL_TRANSFER] },
    Extension { number: 28, lens: &[1], initialization: &[&[Bytes(&[28, 0, 1])]] },
    Extension { number: 32, lens: &[0], initialization: &[&[Bytes(&[32])]] },
    Extension {
        number: 33,
        lens: &[52],
        initialization: &[&[Bytes(&[33, 0]), Wallet, Bytes(&[244, 1])]],
    },
    Extension { number: 35, lens: &[32], initialization: &[&[Bytes(&[35]), Wallet]] },
    Extension { number: 36, lens: &[64], initialization: &[&[Bytes(&[36, 0]), Wallet, Zeros(32)]] },
    Extension {
        number: 37,
        lens: &[108, 65, 129],
        initialization: &[
            TRANSFER_FEE,
            CONFIDENTIAL_TRANSFER,
            &[Bytes(&[37, 0]), Wallet, ELGAMAL_KEY],
        ],
    },
    METADATA,
    METADATA,
    GROUP,
    GROUP,
    Extension { number: 41, lens: &[64], initialization: &[&[Bytes(&[41, 0]), Wallet, Mint]] },
    Extension {
        number: 42,
        lens: &[65, 196],
        initialization: &[CONFIDENTIAL_TRANSFER, CONFIDENTIAL_MINT_BURN],
    },
    Extension {
        number: 43,
        lens: &[56],
        initialization: &[&[Bytes(&[43, 0]), Wallet, Bytes(&[0, 0, 0, 0, 0, 0, 0xf8, 0x3f])]],
    },
    Extension { number: 44, lens: &[33], initialization: &[&[Bytes(&[44, 0]), Wallet]] },
    Extension { number: 46, lens: &[32], initialization: &[PERMISSIONED_BURN] },
    Extension {
        number: 46,
        lens: &[65, 196, 32],
        initialization: &[CONFIDENTIAL_TRANSFER, CONFIDENTIAL_MINT_BURN, PERMISSIONED_BURN],
    },
];

impl Extension {
    /// Returns the bytes of a mint: as long as an account, its type, and the extensions, each with a
    /// type and a length.
    pub(super) fn mint_len(&self) -> usize {
        166 + self.lens.iter().map(|it| 4 + it).sum::<usize>()
    }

    /// Returns the data of the instructions that make a mint.
    pub(super) fn initialization(&self, wallet: &Pubkey, mint: &Pubkey) -> Vec<Vec<u8>> {
        let bytes = |part: &Part| match part {
            Bytes(bytes) => bytes.to_vec(),
            Zeros(len) => vec![0; *len],
            Wallet => wallet.to_bytes().to_vec(),
            Mint => mint.to_bytes().to_vec(),
        };
        let data = |parts: &&[Part]| parts.iter().flat_map(bytes).collect();
        let mut all: Vec<Vec<u8>> = self.initialization.iter().map(data).collect();
        all.push([&[20, 6][..], &wallet.to_bytes(), &[1], &wallet.to_bytes()].concat());
        all
    }

    /// Returns whether tokens are minted in the open.
    pub(super) fn has_plain_amounts(&self) -> bool {
        !self.is_initialized_by(42)
    }

    /// Returns whether accounts can have encrypted balances.
    pub(super) fn is_confidential(&self) -> bool {
        self.is_initialized_by(27)
    }

    fn is_initialized_by(&self, number: u8) -> bool {
        let starts =
            |it: &&[Part]| matches!(it.first(), Some(Bytes([first, ..])) if *first == number);
        self.initialization.iter().any(starts)
    }
}

/// Returns the extension that an instruction is about: that of its number or name, for transfers and
/// the like any or none.
pub(super) fn of(number: u8, parts: &[Data], random: &mut Random) -> Option<u8> {
    match parts.first() {
        Some(Data::Name(name)) if name.contains("metadata") => Some(39),
        Some(Data::Name(_)) => Some(40),
        // Transfers with fees.
        Some(Data::Number(13)) if number == 27 => Some(37),
        // An account of this mint is frozen.
        _ if number == 11 && random.happens(90) => Some(28),
        _ if has_mint(number) && random.happens(90) => Some(number),
        _ if random.happens(50) => Some(EXTENSIONS[random.below(EXTENSIONS.len())].number),
        _ => None,
    }
}

fn has_mint(number: u8) -> bool {
    EXTENSIONS.iter().any(|it| it.number == number)
}

/// An account by its role, and the extension that it has if it is a mint or a token account.
pub(super) type Chosen = (Role, u8);

/// Returns the instructions after which accounts hold what others change: their data and accounts.
pub(super) fn preparation(wallet: &Pubkey) -> Vec<(Vec<u8>, &'static [Chosen])> {
    let named = |name, rest: &[&[u8]]| [&discriminator(name)[..], &rest.concat()].concat();
    let text: &[u8] = &[1, 0, 0, 0, b'x'];
    let most = 10_u64.to_le_bytes();
    vec![
        (
            named("spl_token_metadata_interface:initialize_account", &[text, text, text]),
            &[(Role::Mint, 39), (Role::Wallet, 0), (Role::Mint, 39), (Role::Wallet, 0)],
        ),
        (
            named("spl_token_group_interface:initialize_token_group", &[wallet.as_ref(), &most]),
            &[(Role::Mint, 40), (Role::Mint, 40), (Role::Wallet, 0)],
        ),
        (vec![10], &[(Role::Account, 28), (Role::Mint, 28), (Role::Wallet, 0)]),
        (vec![30, 0], &[(Role::Account, 46), (Role::Wallet, 0)]),
        (vec![34, 0], &[(Role::Account, 35), (Role::Wallet, 0)]),
    ]
}

/// Returns the data of the instruction that configures an account for encrypted balances.
pub(super) fn configuration() -> Vec<u8> {
    [&[27, 2][..], &[0; 36], &10_u64.to_le_bytes(), &[0]].concat()
}

/// Returns the first eight bytes of an instruction of the interfaces for metadata and groups.
pub(super) fn discriminator(name: &str) -> [u8; 8] {
    let hash: [u8; 32] = Sha256::digest(name).into();
    std::array::from_fn(|it| hash[it])
}

/// Returns what an instruction is called in the summary: its number, with that of an extension's
/// instruction after it, or its name.
pub(super) fn kind(data: &[u8]) -> String {
    let names = NAMED.iter().filter_map(|(parts, _)| match parts.first() {
        Some(Data::Name(name)) => Some(*name),
        _ => None,
    });
    if let Some(name) = names.into_iter().find(|it| data.starts_with(&discriminator(it))) {
        return name.to_owned();
    }
    match data {
        [number @ (26 | 27 | 28 | 30 | 33 | 34 | 36 | 37 | 39..=44 | 46), second, ..] => {
            format!("{number:03} {second:02}")
        }
        [number, ..] => format!("{number:03}"),
        [] => "none".to_owned(),
    }
}

/// Instructions that only Token-2022 has, by their numbers.
pub(super) fn shapes() -> Vec<Shape> {
    let named = NAMED.iter().map(|(parts, uses)| {
        let Some(Data::Name(name)) = parts.first() else { unreachable!("all have names") };
        (discriminator(name)[0], *parts, *uses)
    });
    NUMBERED.iter().copied().chain(named).collect()
}

const fn proof(of: Proof) -> Use {
    (Role::Proof(of), false, false)
}

const KEY_IS_VALID: Use = proof(Proof::KeyIsValid);
const BALANCE_IS_ZERO: Use = proof(Proof::BalanceIsZero);
const SAME_AMOUNT: Use = proof(Proof::SameAmount);
const BALANCE_AFTER: Use = proof(Proof::BalanceAfter);
const SUPPLY_AFTER: Use = proof(Proof::SupplyAfter);
const FEE: Use = proof(Proof::Fee);
const BALANCE_IN_RANGE: Use = proof(Proof::BalanceInRange);
const AMOUNT_IN_RANGE: Use = proof(Proof::AmountInRange);
const FEE_IN_RANGE: Use = proof(Proof::FeeInRange);
const AMOUNT_IS_ENCRYPTED: Use = proof(Proof::AmountIsEncrypted);
const FEE_IS_ENCRYPTED: Use = proof(Proof::FeeIsEncrypted);
/// An account with an owner's ElGamal key.
const REGISTRY: Use = (Role::Registry, false, false);
/// A mint that may become a member of a group.
const MEMBER: Use = (Role::Member, true, false);

const NUMBERED: &[Shape] = &[
    (25, &[Data::OptionalKey], &[FRESH_MINT]),
    (
        26,
        &[Data::Number(0), Data::OptionalKey, Data::OptionalKey, Data::BasisPoints, Data::Amount],
        &[FRESH_MINT],
    ),
    (
        26,
        &[Data::Number(1), Data::Amount, Data::Decimals, Data::Amount],
        &[ACCOUNT, MINT, ACCOUNT, AUTHORITY],
    ),
    (26, &[Data::Number(2)], &[MINT, ACCOUNT, AUTHORITY]),
    (26, &[Data::Number(3), Data::Below(3)], &[MINT, ACCOUNT, AUTHORITY, ACCOUNT, ACCOUNT]),
    (26, &[Data::Number(4)], &[MINT, ACCOUNT, ACCOUNT]),
    (26, &[Data::Number(5), Data::BasisPoints, Data::Amount], &[MINT, AUTHORITY]),
    (27, &[Data::Number(0), Data::Key, Data::Below(2), Data::Exactly(32)], &[FRESH_MINT]),
    (27, &[Data::Number(1), Data::Below(2), Data::Exactly(32)], &[MINT, AUTHORITY]),
    (
        27,
        &[Data::Number(2), Data::Exactly(36), Data::Amount, Data::Offsets(1)],
        &[ACCOUNT, MINT, KEY_IS_VALID, AUTHORITY],
    ),
    (27, &[Data::Number(3)], &[ACCOUNT, MINT, AUTHORITY]),
    (27, &[Data::Number(4), Data::Offsets(1)], &[ACCOUNT, BALANCE_IS_ZERO, AUTHORITY]),
    (27, &[Data::Number(5), Data::Amount, Data::Decimals], &[ACCOUNT, MINT, AUTHORITY]),
    (
        27,
        &[Data::Number(6), Data::ProvedAmount, Data::Decimals, Data::Exactly(36), Data::Offsets(2)],
        &[ACCOUNT, MINT, BALANCE_AFTER, BALANCE_IN_RANGE, AUTHORITY],
    ),
    (
        27,
        &[Data::Number(7), Data::Exactly(36), Data::AuditorCiphertexts, Data::Offsets(3)],
        &[ACCOUNT, MINT, ACCOUNT, BALANCE_AFTER, AMOUNT_IS_ENCRYPTED, AMOUNT_IN_RANGE, AUTHORITY],
    ),
    (
        27,
        &[Data::Number(13), Data::Exactly(36), Data::AuditorCiphertexts, Data::Offsets(5)],
        &[
            ACCOUNT,
            MINT,
            ACCOUNT,
            BALANCE_AFTER,
            AMOUNT_IS_ENCRYPTED,
            FEE,
            FEE_IS_ENCRYPTED,
            FEE_IN_RANGE,
            AUTHORITY,
        ],
    ),
    (27, &[Data::Number(14)], &[ACCOUNT, MINT, REGISTRY]),
    (27, &[Data::Number(14)], &[ACCOUNT, MINT, REGISTRY, PAYER, SYSTEM]),
    (27, &[Data::Number(8), Data::Amount, Data::Exactly(36)], &[ACCOUNT, AUTHORITY]),
    (27, &[Data::Below(13)], &[ACCOUNT, AUTHORITY]),
    (27, &[Data::Below(15), Data::Bytes(80)], &[ACCOUNT, MINT, KEY_IS_VALID, AUTHORITY]),
    (28, &[Data::Number(0), Data::Below(4)], &[FRESH_MINT]),
    (28, &[Data::Number(1), Data::Below(4)], &[MINT, AUTHORITY]),
    (29, &[Data::Below(20), Data::Below(2)], &[ACCOUNT, PAYER, SYSTEM, AUTHORITY]),
    (29, &[Data::Number(7), Data::Number(0)], &[ACCOUNT, PAYER, SYSTEM, AUTHORITY]),
    (30, &[Data::Below(3)], &[ACCOUNT, AUTHORITY]),
    (31, &[], &[PAYER, FRESH_MINT, SYSTEM]),
    (32, &[], &[FRESH_MINT]),
    (33, &[Data::Number(0), Data::Key, Data::BasisPoints], &[FRESH_MINT]),
    (33, &[Data::Number(1), Data::BasisPoints], &[MINT, AUTHORITY]),
    (34, &[Data::Below(3)], &[ACCOUNT, AUTHORITY]),
    (35, &[Data::Key], &[FRESH_MINT]),
    (36, &[Data::Number(0), Data::Key, Data::Key], &[FRESH_MINT]),
    (36, &[Data::Number(1), Data::Key], &[MINT, AUTHORITY]),
    (37, &[Data::Number(0), Data::Key, Data::Exactly(32)], &[FRESH_MINT]),
    (
        37,
        &[Data::Number(1), Data::Offsets(1), Data::Exactly(36)],
        &[MINT, ACCOUNT, SAME_AMOUNT, AUTHORITY],
    ),
    (
        37,
        &[Data::Number(2), Data::Below(3), Data::Offsets(1), Data::Exactly(36)],
        &[MINT, ACCOUNT, SAME_AMOUNT, AUTHORITY, ACCOUNT, ACCOUNT],
    ),
    (37, &[Data::Number(3)], &[MINT, ACCOUNT, ACCOUNT]),
    (37, &[Data::Number(4)], &[MINT, AUTHORITY]),
    (37, &[Data::Number(5)], &[MINT, AUTHORITY]),
    (38, &[], &[MINT, WALLET, AUTHORITY]),
    (38, &[], &[ACCOUNT, WALLET, AUTHORITY]),
    (39, &[Data::Number(0), Data::Key, Data::Key], &[FRESH_MINT]),
    (39, &[Data::Number(1), Data::Key], &[MINT, AUTHORITY]),
    (40, &[Data::Number(0), Data::Key, Data::Key], &[FRESH_MINT]),
    (40, &[Data::Number(1), Data::Key], &[MINT, AUTHORITY]),
    (41, &[Data::Number(0), Data::Key, Data::Key], &[FRESH_MINT]),
    (41, &[Data::Number(1), Data::Key], &[MINT, AUTHORITY]),
    (42, &[Data::Number(0), Data::Exactly(32), Data::Exactly(36)], &[FRESH_MINT]),
    (42, &[Data::Number(1), Data::Exactly(32), Data::Offsets(1)], &[MINT, SAME_AMOUNT, AUTHORITY]),
    (42, &[Data::Number(2), Data::Exactly(36)], &[MINT, AUTHORITY]),
    (42, &[Data::Number(5)], &[MINT, AUTHORITY]),
    (
        42,
        &[Data::Number(3), Data::Exactly(36), Data::AuditorCiphertexts, Data::Offsets(3)],
        &[ACCOUNT, MINT, SUPPLY_AFTER, AMOUNT_IS_ENCRYPTED, AMOUNT_IN_RANGE, AUTHORITY],
    ),
    (
        42,
        &[Data::Number(4), Data::Exactly(36), Data::AuditorCiphertexts, Data::Offsets(3)],
        &[ACCOUNT, MINT, BALANCE_AFTER, AMOUNT_IS_ENCRYPTED, AMOUNT_IN_RANGE, AUTHORITY],
    ),
    (
        42,
        &[Data::Below(7), Data::Bytes(200)],
        &[ACCOUNT, MINT, SAME_AMOUNT, SAME_AMOUNT, AUTHORITY],
    ),
    (43, &[Data::Number(0), Data::Key, Data::Multiplier], &[FRESH_MINT]),
    (43, &[Data::Number(1), Data::Multiplier, Data::Amount], &[MINT, AUTHORITY]),
    (44, &[Data::Number(0), Data::Key], &[FRESH_MINT]),
    (44, &[Data::Number(1)], &[MINT, AUTHORITY]),
    (44, &[Data::Number(2)], &[MINT, AUTHORITY]),
    (45, &[Data::Number(0)], &[ACCOUNT, WALLET, AUTHORITY]),
    (45, &[Data::Below(2), Data::Amount], &[ACCOUNT, WALLET, AUTHORITY]),
    (46, &[Data::Number(0), Data::Key], &[FRESH_MINT]),
    (46, &[Data::Number(1), Data::Amount], &[ACCOUNT, MINT, AUTHORITY, AUTHORITY]),
    (46, &[Data::Number(2), Data::Amount, Data::Decimals], &[ACCOUNT, MINT, AUTHORITY, AUTHORITY]),
    (
        46,
        &[Data::Number(3), Data::Exactly(36), Data::AuditorCiphertexts, Data::Offsets(3)],
        &[ACCOUNT, MINT, BALANCE_AFTER, AMOUNT_IS_ENCRYPTED, AMOUNT_IN_RANGE, AUTHORITY, AUTHORITY],
    ),
    // A transfer and a mint: how many accounts, how many bytes, the bytes.
    (
        255,
        &[
            Data::Number(3),
            Data::Number(9),
            Data::Number(3),
            Data::Amount,
            Data::Number(3),
            Data::Number(9),
            Data::Number(7),
            Data::Amount,
        ],
        &[ACCOUNT, ACCOUNT, AUTHORITY, MINT, ACCOUNT, AUTHORITY],
    ),
    (255, &[Data::Bytes(60)], &[MINT, AUTHORITY, ACCOUNT]),
];

/// Instructions that have names: of the interfaces for metadata and for groups.
const NAMED: &[(&[Data], &[Use])] = &[
    (
        &[
            Data::Name("spl_token_metadata_interface:initialize_account"),
            Data::String,
            Data::String,
            Data::String,
        ],
        &[MINT, WALLET, MINT, AUTHORITY],
    ),
    (
        &[Data::Name("spl_token_metadata_interface:updating_field"), Data::Below(3), Data::String],
        &[MINT, AUTHORITY],
    ),
    (
        &[
            Data::Name("spl_token_metadata_interface:updating_field"),
            Data::Number(3),
            Data::String,
            Data::String,
        ],
        &[MINT, AUTHORITY],
    ),
    (
        &[Data::Name("spl_token_metadata_interface:remove_key_ix"), Data::Below(2), Data::String],
        &[MINT, AUTHORITY],
    ),
    (
        &[Data::Name("spl_token_metadata_interface:update_the_authority"), Data::Key],
        &[MINT, AUTHORITY],
    ),
    (
        &[Data::Name("spl_token_metadata_interface:emitter"), Data::Number(0), Data::Number(0)],
        &[MINT],
    ),
    (
        &[
            Data::Name("spl_token_metadata_interface:emitter"),
            Data::Number(1),
            Data::Amount,
            Data::Number(1),
            Data::Amount,
        ],
        &[MINT],
    ),
    (
        &[Data::Name("spl_token_group_interface:initialize_token_group"), Data::Key, Data::Amount],
        &[MINT, MINT, AUTHORITY],
    ),
    (
        &[Data::Name("spl_token_group_interface:update_group_max_size"), Data::Amount],
        &[MINT, AUTHORITY],
    ),
    (&[Data::Name("spl_token_group_interface:update_authority"), Data::Key], &[MINT, AUTHORITY]),
    (
        &[Data::Name("spl_token_group_interface:initialize_member")],
        &[MEMBER, MEMBER, AUTHORITY, MINT, AUTHORITY],
    ),
];
