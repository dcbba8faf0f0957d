//! Mints and token accounts set without transactions are those that the token programs make.

use selkie::{
    Account, AccountError, AccountMeta, Instruction, Keypair, ProgramError, Pubkey, Signer, Svm,
    address, keypair, programs,
    programs::token::{NATIVE_MINT, TokenEditError},
    system, token,
};

const SOL: u64 = 1_000_000_000;
const TOKEN: Pubkey = programs::TOKEN.id;
const TOKEN_2022: Pubkey = programs::TOKEN_2022.id;
const DECIMALS: u8 = 6;

fn payer() -> Keypair {
    keypair("payer")
}

fn chain() -> Svm {
    let mut svm = Svm::new();
    svm.airdrop(&payer().pubkey(), 1000 * SOL).unwrap();
    svm
}

/// An extension of a mint: the size of its data, and the instruction that initializes it.
type Extension = (&'static str, usize, Vec<u8>);

/// Every extension of mints that needs nothing but the mint.
fn extensions() -> Vec<Extension> {
    let key = payer().pubkey().to_bytes();
    let with = |start: &[u8], rest: &[&[u8]]| [start, &rest.concat()].concat();
    let fee = [100_u16.to_le_bytes().to_vec(), 5000_u64.to_le_bytes().to_vec()].concat();
    let both = [&[1][..], &key, &[1], &key, &fee].concat();
    vec![
        ("transfer fee", 108, with(&[26, 0], &[&both])),
        ("mint close authority", 32, with(&[25, 1], &[&key])),
        ("confidential transfers", 65, with(&[27, 0], &[&key, &[1], &[0; 32]])),
        ("accounts begin frozen", 1, vec![28, 0, 2]),
        ("non-transferable", 0, vec![32]),
        ("interest", 52, with(&[33, 0], &[&key, &500_i16.to_le_bytes()])),
        ("permanent delegate", 32, with(&[35], &[&key])),
        ("transfer hook", 64, with(&[36, 0], &[&key, &[9; 32]])),
        ("metadata pointer", 64, with(&[39, 0], &[&key, &[9; 32]])),
        ("group pointer", 64, with(&[40, 0], &[&key, &[9; 32]])),
        ("group member pointer", 64, with(&[41, 0], &[&key, &[9; 32]])),
        ("scaled amounts", 56, with(&[43, 0], &[&key, &1.5_f64.to_le_bytes()])),
        ("pausable", 33, with(&[44, 0], &[&key])),
    ]
}

/// Creates a mint by a transaction.
fn create_mint(svm: &mut Svm, program: Pubkey, extensions: &[&Extension]) -> Pubkey {
    let (payer, mint) = (payer(), keypair("mint"));
    let key = mint.pubkey();
    let sizes: usize = extensions.iter().map(|(_, bytes, _)| bytes + 4).sum();
    let space = if extensions.is_empty() { token::MINT_BYTES } else { 166 + sizes };
    let lamports = svm.minimum_balance_for_rent_exemption(space);
    let create = system::create_account(&payer.pubkey(), &key, lamports, space as u64, &program);
    let mut instructions = vec![create];
    for (_, _, data) in extensions {
        let accounts = vec![AccountMeta::new(key, false)];
        instructions.push(Instruction { program_id: program, accounts, data: data.clone() });
    }
    let mut initialize = token::initialize_mint(&program, &key, &payer.pubkey(), DECIMALS);
    // Accounts can begin frozen only if someone can thaw them.
    if extensions.iter().any(|it| it.0.contains("frozen")) {
        initialize.data.truncate(34);
        initialize.data.extend([&[1][..], payer.pubkey().as_ref()].concat());
    }
    instructions.push(initialize);
    svm.send_instructions(&instructions, &[&payer, &mint]).unwrap();
    key
}

/// Sets on one chain what transactions make on another, and compares.
fn check(name: &str, mut made: Svm, program: Pubkey, mint: Pubkey, amount: u64) {
    let (payer, owner, account) = (payer(), address("owner"), keypair("account"));
    let mut set = made.clone();
    let associated = token::associated_address(&program, &owner, &mint);
    let mint_to = |to: &Pubkey| token::mint_to(&program, &mint, to, &payer.pubkey(), amount);
    let mut instructions = vec![token::create_associated(&program, &payer.pubkey(), &owner, &mint)];
    instructions.extend((amount > 0).then(|| mint_to(&associated)));
    made.send_instructions(&instructions, &[&payer]).unwrap();
    set.set_token_account(associated, &program, &mint, &owner, amount).unwrap();
    for key in [associated, mint] {
        assert_eq!(set.account(&key), made.account(&key), "{name}");
    }
    // At another address: as long as the extensions that the mint prescribes demand.
    let key = account.pubkey();
    set.set_token_account(key, &program, &mint, &owner, amount).unwrap();
    let space = set.account(&key).unwrap().data.len();
    let lamports = made.minimum_balance_for_rent_exemption(space);
    let mut instructions = vec![
        system::create_account(&payer.pubkey(), &key, lamports, space as u64, &program),
        token::initialize_account(&program, &key, &mint, &owner),
    ];
    instructions.extend((amount > 0).then(|| mint_to(&key)));
    made.send_instructions(&instructions, &[&payer, &account]).unwrap();
    for key in [key, mint] {
        assert_eq!(set.account(&key), made.account(&key), "{name}");
    }
}

#[test]
fn accounts_have_the_extensions_that_their_mint_prescribes() {
    for extension in &extensions() {
        let mut svm = chain();
        let mint = create_mint(&mut svm, TOKEN_2022, &[extension]);
        // Nothing can be minted to a frozen account.
        let amount = if extension.0.contains("frozen") { 0 } else { 1234 };
        check(extension.0, svm, TOKEN_2022, mint, amount);
    }
}

#[test]
fn accounts_have_the_extensions_of_mints_with_several() {
    let all = extensions();
    let named = |names: &[&str]| -> Vec<&Extension> {
        names.iter().map(|name| all.iter().find(|it| it.0 == *name).unwrap()).collect()
    };
    for names in [
        &["transfer fee", "transfer hook", "pausable", "interest"][..],
        &["pausable", "non-transferable", "permanent delegate"],
        &["transfer hook", "accounts begin frozen", "transfer fee"],
    ] {
        let mut svm = chain();
        let mint = create_mint(&mut svm, TOKEN_2022, &named(names));
        let amount = if names.contains(&"accounts begin frozen") { 0 } else { 99 };
        check(&names.join(", "), svm, TOKEN_2022, mint, amount);
    }
}

#[test]
fn accounts_of_plain_mints_are_those_of_both_programs() {
    for program in [TOKEN, TOKEN_2022] {
        let mut svm = chain();
        let mint = create_mint(&mut svm, program, &[]);
        check("plain", svm.clone(), program, mint, 0);
        check("plain", svm, program, mint, u64::MAX / 2);
    }
}

#[test]
fn mints_are_those_of_the_programs() {
    for program in [TOKEN, TOKEN_2022] {
        let (mut made, mut set) = (chain(), chain());
        let mint = create_mint(&mut made, program, &[]);
        set.set_mint(mint, &program, &payer().pubkey(), DECIMALS).unwrap();
        assert_eq!(set.account(&mint), made.account(&mint));
    }
}

/// Wraps lamports by transactions.
#[test]
fn native_accounts_wrap_lamports() {
    let (mut made, payer, owner) = (chain(), payer(), address("owner"));
    let mut set = made.clone();
    let account = token::associated_address(&TOKEN, &owner, &NATIVE_MINT);
    let sync = Instruction {
        program_id: TOKEN,
        accounts: vec![AccountMeta::new(account, false)],
        data: vec![17],
    };
    let instructions = [
        token::create_associated(&TOKEN, &payer.pubkey(), &owner, &NATIVE_MINT),
        system::transfer(&payer.pubkey(), &account, 7 * SOL),
        sync,
    ];
    made.send_instructions(&instructions, &[&payer]).unwrap();
    set.set_token_account(account, &TOKEN, &NATIVE_MINT, &owner, 7 * SOL).unwrap();
    for key in [account, NATIVE_MINT] {
        assert_eq!(set.account(&key), made.account(&key));
    }
}

#[test]
fn tokens_that_were_set_can_be_burned() {
    for program in [TOKEN, TOKEN_2022] {
        let (mut svm, payer, mint) = (chain(), payer(), address("mint"));
        let [one, other] = ["one", "other"].map(address);
        svm.set_mint(mint, &program, &payer.pubkey(), DECIMALS).unwrap();
        svm.set_token_account(one, &program, &mint, &payer.pubkey(), 5000).unwrap();
        svm.set_token_account(other, &program, &mint, &payer.pubkey(), 300).unwrap();
        svm.set_token_account(one, &program, &mint, &payer.pubkey(), 1000).unwrap();
        let supply = |svm: &Svm| {
            let data = svm.account(&mint).unwrap().data;
            u64::from_le_bytes(*data[36..].first_chunk().unwrap())
        };
        assert_eq!(supply(&svm), 1300);
        let burn = |account, amount: u64| {
            let accounts = vec![
                AccountMeta::new(account, false),
                AccountMeta::new(mint, false),
                AccountMeta::new_readonly(payer.pubkey(), true),
            ];
            let data = [&[8][..], &amount.to_le_bytes()].concat();
            Instruction { program_id: program, accounts, data }
        };
        svm.send_instructions(&[burn(one, 1000)], &[&payer]).unwrap();
        assert_eq!(supply(&svm), 300);
        // A mint that is set again counts the tokens that exist.
        svm.set_mint(mint, &program, &payer.pubkey(), DECIMALS).unwrap();
        assert_eq!(supply(&svm), 300);
        // An account of another mint takes the place of one of this.
        let another = address("another mint");
        svm.set_mint(another, &program, &payer.pubkey(), DECIMALS).unwrap();
        svm.set_token_account(other, &program, &another, &payer.pubkey(), 1).unwrap();
        assert_eq!(supply(&svm), 0);
    }
}

#[test]
fn accounts_that_cannot_exist_are_refused() {
    let (mut svm, owner, mint) = (chain(), address("owner"), address("mint"));
    let account = address("account");
    let none = svm.set_token_account(account, &TOKEN, &mint, &owner, 1);
    assert_eq!(none, Err(TokenEditError::NotAMint(mint).into()));
    svm.set_mint(mint, &TOKEN, &owner, DECIMALS).unwrap();
    let other = svm.set_token_account(account, &TOKEN_2022, &mint, &owner, 1);
    let wrong = TokenEditError::WrongProgram { program: TOKEN_2022, mint };
    assert_eq!(other, Err(wrong.into()));
    svm.set_token_account(account, &TOKEN, &mint, &owner, u64::MAX).unwrap();
    let more = svm.set_token_account(address("another"), &TOKEN, &mint, &owner, 1);
    assert_eq!(more, Err(TokenEditError::Supply(mint).into()));
    assert_eq!(svm.account(&address("another")), None);
    let native = svm.set_mint(NATIVE_MINT, &TOKEN, &owner, 9);
    assert_eq!(native, Err(AccountError::NativeMint));
}

#[test]
fn the_native_mint_is_part_of_the_genesis() {
    let svm = Svm::new();
    let mint = svm.account(&NATIVE_MINT).unwrap();
    assert_eq!((mint.owner, mint.data[44], mint.data[45]), (TOKEN, 9, 1));
    assert_eq!(mint, programs::token::native_mint().into());
    let saved = Svm::from_bytes(&svm.to_bytes()).unwrap();
    assert_eq!(saved.account(&NATIVE_MINT), Some(mint));
    // It belongs to the token program.
    let without = Svm::new().with_well_known_programs(false);
    assert_eq!(without.account(&NATIVE_MINT), None);
}

#[test]
fn data_that_are_longer_than_those_of_any_account_are_refused() {
    let (mut svm, key) = (Svm::new(), address("long"));
    let account = |bytes| Account { lamports: SOL, data: vec![0; bytes], ..Account::default() };
    svm.set_account(key, account(10 << 20)).unwrap();
    let bytes = (10 << 20) + 1;
    let refused = svm.set_account(key, account(bytes));
    assert_eq!(refused, Err(AccountError::TooLong { key, bytes }));
    assert_eq!(svm.account(&key).unwrap().data.len(), 10 << 20);
    let mut elf = programs::MEMO.elf().to_vec();
    elf.resize(bytes, 0);
    let refused = svm.add_program(key, elf);
    assert!(matches!(refused, Err(ProgramError::TooLong(it)) if it == bytes));
}
