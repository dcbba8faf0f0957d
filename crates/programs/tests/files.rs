//! The ELF files are those that mainnet has.

use selkie_programs::{
    ALL, MAINNET, TOKEN,
    accounts::{WellKnownAccount, WellKnownAccountSet},
    by_id, program_data_key, token,
};
use selkie_svm::{Environment, Loader, program_cache::ProgramCache};
use sha2::{Digest, Sha256};
use solana_account::ReadableAccount;

/// Each program's name and the first 8 bytes of its file's SHA-256, to notice a changed one.
const FILES: &[(&str, u64)] = &[
    ("token", 0x8190_d3f7_ceb6_cb7a),
    ("spl-token", 0x1826_4f49_1c7e_0ad0),
    ("token-2022", 0xa794_1614_0808_0f69),
    ("associated-token", 0xe5e7_aed1_1ad3_969e),
    ("memo", 0xf520_eaf0_9636_1abb),
    ("memo-v1", 0x9b09_7bd5_9cc2_b02b),
    ("memo-v4", 0x0c92_063c_6838_d9ad),
    ("address-lookup-table", 0xe264_e153_7c5e_e125),
    ("stake", 0x3d2d_39c5_96ce_8be2),
    ("config", 0x06dd_0ed3_3dda_54b3),
    ("feature-gate", 0x4889_6550_84aa_7b8a),
];

#[test]
fn elf_files_have_the_expected_hashes() {
    let hash = |elf: &[u8]| {
        let hash: [u8; 32] = Sha256::digest(elf).into();
        u64::from_be_bytes(*hash.first_chunk().unwrap())
    };
    let found: Vec<_> = ALL.iter().map(|program| (program.name, hash(program.elf()))).collect();
    assert_eq!(found, FILES, "{found:#x?}");
}

#[test]
fn every_program_loads() {
    let (programs, environment) = (ProgramCache::new(), Environment::default());
    for program in ALL {
        let loaded = programs.try_load(program.elf(), program.loader, environment.features);
        assert!(loaded.is_ok(), "{}: {loaded:?}", program.name);
    }
}

#[test]
fn well_known_accounts_hold_their_programs() {
    // The native mint.
    let mut count = 1;
    for program in MAINNET {
        let well_known = WellKnownAccount::of(&program.id).unwrap();
        let account = well_known.account();
        assert_eq!((well_known.key(), well_known.owner()), (program.id, *account.owner()));
        assert_eq!((*account.owner(), account.executable()), (program.loader.address(), true));
        count += 1;
        let data_key = program_data_key(&program.id);
        if program.loader == Loader::V3 {
            let well_known = WellKnownAccount::of(&data_key).unwrap();
            let data = well_known.account();
            assert_eq!((well_known.key(), well_known.owner()), (data_key, *data.owner()));
            assert_eq!(account.data()[4..], data_key.to_bytes());
            assert_eq!(data.data()[45..], *program.elf());
            count += 1;
        } else {
            assert_eq!(WellKnownAccount::of(&data_key), None);
            assert_eq!(account.data(), program.elf());
        }
    }
    assert_eq!(
        (WellKnownAccountSet::all().len(), WellKnownAccountSet::all().iter().count()),
        (count, count)
    );
    assert_eq!(WellKnownAccount::of(&solana_pubkey::Pubkey::default()), None);
    let mint = WellKnownAccount::of(&token::NATIVE_MINT).unwrap();
    assert_eq!((mint.key(), mint.owner()), (token::NATIVE_MINT, TOKEN.id));
    assert_eq!(token::decimals(&mint.key(), Some(mint.account())), Some(9));
    assert!(token::is_mint(mint.account()));
}

#[test]
fn names_and_mainnets_addresses_are_unique() {
    for program in ALL {
        assert_eq!(ALL.iter().filter(|other| other.name == program.name).count(), 1);
    }
    for program in MAINNET {
        assert_eq!(MAINNET.iter().filter(|other| other.id == program.id).count(), 1);
        assert_eq!(by_id(&program.id), Some(program));
    }
}
