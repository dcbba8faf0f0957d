//! Confidential transfers of Token-2022, from configuring an account to emptying it.

#![cfg(feature = "zk")]

use bytemuck::{Pod, bytes_of};
use selkie::{
    AccountMeta, Instruction, Keypair, Pubkey, Signer, Svm, keypair, programs, system, token,
};
use solana_sdk_ids::{sysvar, zk_elgamal_proof_program as zk};
use solana_zk_sdk::{
    encryption::{
        auth_encryption::AeKey,
        elgamal::{ElGamalCiphertext, ElGamalKeypair, ElGamalPubkey},
        grouped_elgamal::GroupedElGamal,
        pedersen::{Pedersen, PedersenOpening},
    },
    zk_elgamal_proof_program as prove,
};

const TOKEN_2022: Pubkey = programs::TOKEN_2022.id;
const DECIMALS: u8 = 2;
/// A mint, padded to the size of a token account, with the extension for confidential transfers.
const MINT_BYTES: usize = token::ACCOUNT_BYTES + 1 + 4 + 65;
/// Offset of an account's extension: after the account, its type, and the extension's type and
/// length.
const EXTENSION: usize = token::ACCOUNT_BYTES + 1 + 4;
const ACCOUNT_BYTES: usize = EXTENSION + 295;
/// Offset of the available balance's ciphertext.
const AVAILABLE: usize = EXTENSION + 1 + 32 + 64 + 64;

/// Tags of Token-2022's instructions for confidential transfers.
mod tag {
    pub(super) const INITIALIZE_MINT: u8 = 0;
    pub(super) const CONFIGURE: u8 = 2;
    pub(super) const EMPTY: u8 = 4;
    pub(super) const DEPOSIT: u8 = 5;
    pub(super) const WITHDRAW: u8 = 6;
    pub(super) const TRANSFER: u8 = 7;
    pub(super) const APPLY_PENDING: u8 = 8;
}

/// Tags of the ZK ElGamal proof program's instructions.
mod proof {
    pub(super) const ZERO_CIPHERTEXT: u8 = 1;
    pub(super) const CIPHERTEXT_COMMITMENT: u8 = 3;
    pub(super) const PUBKEY_VALIDITY: u8 = 4;
    pub(super) const RANGE_U64: u8 = 6;
    pub(super) const RANGE_U128: u8 = 7;
    pub(super) const BATCHED_3_HANDLES: u8 = 12;
}

fn writable(key: Pubkey) -> AccountMeta {
    AccountMeta::new(key, false)
}

fn readonly(key: Pubkey) -> AccountMeta {
    AccountMeta::new_readonly(key, false)
}

fn confidential(tag: u8, accounts: Vec<AccountMeta>, fields: &[&[u8]]) -> Instruction {
    let data = [&[27, tag], fields.concat().as_slice()].concat();
    Instruction { program_id: TOKEN_2022, accounts, data }
}

/// A token account with its owner's keys.
struct Holder {
    owner: Keypair,
    account: Keypair,
    elgamal: ElGamalKeypair,
    aes: AeKey,
}

impl Holder {
    fn new(name: &str) -> Self {
        Self {
            owner: keypair(name),
            account: keypair(&format!("{name}'s account")),
            elgamal: ElGamalKeypair::new_rand(),
            aes: AeKey::new_rand(),
        }
    }

    fn signs(&self) -> AccountMeta {
        AccountMeta::new_readonly(self.owner.pubkey(), true)
    }

    fn encrypted(&self, amount: u64) -> [u8; 36] {
        self.aes.encrypt(amount).to_bytes()
    }

    /// Returns the ciphertext of the available balance, asserting that it is that of `amount`.
    fn available(&self, svm: &Svm, amount: u64) -> ElGamalCiphertext {
        let data = svm.account(&self.account.pubkey()).unwrap().data;
        let ciphertext = ElGamalCiphertext::from_bytes(&data[AVAILABLE..][..64]).unwrap();
        assert_eq!(ciphertext.decrypt_u32(self.elgamal.secret()), Some(amount));
        ciphertext
    }
}

/// A chain with a mint and a fee payer.
struct Setup {
    svm: Svm,
    payer: Keypair,
    mint: Keypair,
    auditor: ElGamalKeypair,
    contexts: Vec<Pubkey>,
}

impl Setup {
    fn new() -> Self {
        let mut svm = Svm::new();
        // Version 11.0.0, since the preloaded version has no confidential transfers.
        svm.add_program(programs::TOKEN_2022.id, selkie_testdata::elf("495e9d7680dd")).unwrap();
        let (payer, mint) = (keypair("payer"), keypair("mint"));
        svm.airdrop(&payer.pubkey(), 10_000_000_000).unwrap();
        let auditor = ElGamalKeypair::new_rand();
        let mut scene = Self { svm, payer, mint, auditor, contexts: Vec::new() };
        scene.create_mint();
        scene
    }

    fn send(&mut self, instructions: &[Instruction], signers: &[&Keypair]) {
        let others = signers.iter().map(|it| *it as &dyn Signer);
        let signers: Vec<&dyn Signer> =
            [&self.payer as &dyn Signer].into_iter().chain(others).collect();
        self.svm.send_instructions(instructions, &signers).unwrap_or_else(|it| panic!("{it}"));
    }

    fn create(&self, key: &Pubkey, space: usize, owner: &Pubkey) -> Instruction {
        let lamports = self.svm.minimum_balance_for_rent_exemption(space);
        system::create_account(&self.payer.pubkey(), key, lamports, space as u64, owner)
    }

    fn create_mint(&mut self) {
        let mint = self.mint.insecure_clone();
        let authority = self.payer.pubkey();
        let auditor = self.auditor.pubkey().to_bytes();
        let fields: [&[u8]; 3] = [authority.as_ref(), &[1], &auditor];
        let instructions = [
            self.create(&mint.pubkey(), MINT_BYTES, &TOKEN_2022),
            confidential(tag::INITIALIZE_MINT, vec![writable(mint.pubkey())], &fields),
            token::initialize_mint(&TOKEN_2022, &mint.pubkey(), &authority, DECIMALS),
        ];
        self.send(&instructions, &[&mint]);
    }

    /// Creates and configures an account, proving knowledge of its secret key.
    fn configure(&mut self, holder: &Holder) {
        let (account, mint) = (holder.account.pubkey(), self.mint.pubkey());
        let key_is_valid = prove::build_pubkey_validity_proof_data(&holder.elgamal).unwrap();
        let accounts = vec![
            writable(account),
            readonly(mint),
            readonly(sysvar::instructions::ID),
            holder.signs(),
        ];
        let fields: [&[u8]; 3] = [&holder.encrypted(0), &10_u64.to_le_bytes(), &[1]];
        let owner = holder.owner.pubkey();
        let instructions = [
            self.create(&account, ACCOUNT_BYTES, &TOKEN_2022),
            token::initialize_account(&TOKEN_2022, &account, &mint, &owner),
            confidential(tag::CONFIGURE, accounts, &fields),
            verify(proof::PUBKEY_VALIDITY, &key_is_valid, None),
        ];
        self.send(&instructions, &[&holder.account, &holder.owner]);
    }

    fn deposit(&mut self, holder: &Holder, amount: u64) {
        let accounts =
            vec![writable(holder.account.pubkey()), readonly(self.mint.pubkey()), holder.signs()];
        let fields: [&[u8]; 2] = [&amount.to_le_bytes(), &[DECIMALS]];
        self.send(&[confidential(tag::DEPOSIT, accounts, &fields)], &[&holder.owner]);
    }

    /// Applies the pending balance; the available balance is `amount` afterwards.
    fn apply_pending(&mut self, holder: &Holder, amount: u64) {
        let accounts = vec![writable(holder.account.pubkey()), holder.signs()];
        let fields: [&[u8]; 2] = [&1_u64.to_le_bytes(), &holder.encrypted(amount)];
        self.send(&[confidential(tag::APPLY_PENDING, accounts, &fields)], &[&holder.owner]);
    }

    /// Verifies a proof and stores its statement in a context account.
    fn keep(&mut self, number: u8, proof: &impl Pod, statement: usize) -> Pubkey {
        let context = keypair(&format!("context {}", self.contexts.len()));
        let create = self.create(&context.pubkey(), 33 + statement, &zk::ID);
        self.send(&[create], &[&context]);
        let to = (context.pubkey(), self.payer.pubkey());
        self.send(&[verify(number, proof, Some(to))], &[]);
        self.contexts.push(context.pubkey());
        context.pubkey()
    }

    fn transfer(&mut self, from: &Holder, to: &Holder, balance: u64, amount: u64) {
        let transfer = Transfer::new(
            from,
            &from.available(&self.svm, balance),
            [to.elgamal.pubkey(), self.auditor.pubkey()],
            [balance, amount],
        );
        let equality = self.keep(proof::CIPHERTEXT_COMMITMENT, &transfer.equality, 128);
        let validity = self.keep(proof::BATCHED_3_HANDLES, &transfer.validity, 352);
        let range = self.keep(proof::RANGE_U128, &transfer.range, 264);
        let accounts = vec![
            writable(from.account.pubkey()),
            readonly(self.mint.pubkey()),
            writable(to.account.pubkey()),
            readonly(equality),
            readonly(validity),
            readonly(range),
            from.signs(),
        ];
        let [low, high] = transfer.for_auditor.map(|it| it.to_bytes());
        let fields: [&[u8]; 4] = [&from.encrypted(balance - amount), &low, &high, &[0; 3]];
        self.send(&[confidential(tag::TRANSFER, accounts, &fields)], &[&from.owner]);
    }

    fn withdraw(&mut self, holder: &Holder, balance: u64, amount: u64) {
        let rest = balance - amount;
        let ciphertext = holder.available(&self.svm, balance).subtract_amount(amount);
        let (commitment, opening) = Pedersen::new(rest);
        let equality = prove::build_ciphertext_commitment_equality_proof_data(
            &holder.elgamal,
            &ciphertext,
            &commitment,
            &opening,
            rest,
        );
        let range = prove::build_batched_range_proof_u64_data(
            vec![&commitment],
            vec![rest],
            vec![64],
            vec![&opening],
        );
        let equality = self.keep(proof::CIPHERTEXT_COMMITMENT, &equality.unwrap(), 128);
        let range = self.keep(proof::RANGE_U64, &range.unwrap(), 264);
        let accounts = vec![
            writable(holder.account.pubkey()),
            readonly(self.mint.pubkey()),
            readonly(equality),
            readonly(range),
            holder.signs(),
        ];
        let fields: [&[u8]; 4] =
            [&amount.to_le_bytes(), &[DECIMALS], &holder.encrypted(rest), &[0; 2]];
        self.send(&[confidential(tag::WITHDRAW, accounts, &fields)], &[&holder.owner]);
    }

    /// Proves that the account is empty, so that it may be closed.
    fn empty(&mut self, holder: &Holder) {
        let ciphertext = holder.available(&self.svm, 0);
        let nothing = prove::build_zero_ciphertext_proof_data(&holder.elgamal, &ciphertext);
        let accounts = vec![
            writable(holder.account.pubkey()),
            readonly(sysvar::instructions::ID),
            holder.signs(),
        ];
        let instructions = [
            confidential(tag::EMPTY, accounts, &[&[1]]),
            verify(proof::ZERO_CIPHERTEXT, &nothing.unwrap(), None),
        ];
        self.send(&instructions, &[&holder.owner]);
    }

    /// Closes an account without tokens. Token-2022 refuses this before the account is emptied.
    fn close(&mut self, holder: &Holder) {
        let accounts =
            vec![writable(holder.account.pubkey()), writable(self.payer.pubkey()), holder.signs()];
        let close = Instruction { program_id: TOKEN_2022, accounts, data: vec![9] };
        self.send(&[close], &[&holder.owner]);
        assert_eq!(self.svm.account(&holder.account.pubkey()), None);
    }

    fn close_contexts(&mut self) {
        let payer = self.payer.pubkey();
        for context in core::mem::take(&mut self.contexts) {
            let accounts =
                vec![writable(context), writable(payer), AccountMeta::new_readonly(payer, true)];
            self.send(&[Instruction { program_id: zk::ID, accounts, data: vec![0] }], &[]);
            assert_eq!(self.svm.account(&context), None);
        }
    }

    fn tokens(&self, holder: &Holder) -> u64 {
        token::amount(&self.svm.account(&holder.account.pubkey()).unwrap().data).unwrap()
    }
}

/// Returns the instruction that verifies a proof, optionally storing the statement in an account
/// with an authority.
fn verify(number: u8, proof: &impl Pod, to: Option<(Pubkey, Pubkey)>) -> Instruction {
    let accounts = to.map(|(context, authority)| vec![writable(context), readonly(authority)]);
    let data = [&[number], bytes_of(proof)].concat();
    Instruction { program_id: zk::ID, accounts: accounts.unwrap_or_default(), data }
}

/// The proofs of a transfer: the new balance is the old one minus the amount, all recipients can
/// decrypt the amount, and no number is negative.
struct Transfer<E, V, R> {
    equality: E,
    validity: V,
    range: R,
    /// The low 16 bits and the high 32 bits of the amount.
    for_auditor: [ElGamalCiphertext; 2],
}

impl Transfer<(), (), ()> {
    fn new(
        from: &Holder,
        available: &ElGamalCiphertext,
        [to, auditor]: [&ElGamalPubkey; 2],
        [balance, amount]: [u64; 2],
    ) -> Transfer<impl Pod, impl Pod, impl Pod> {
        let (low, high, rest) = (amount & 0xffff, amount >> 16, balance - amount);
        let keys = [from.elgamal.pubkey(), to, auditor];
        let (low_opening, high_opening) =
            (PedersenOpening::new_rand(), PedersenOpening::new_rand());
        let encrypted_low = GroupedElGamal::encrypt_with(keys, low, &low_opening);
        let encrypted_high = GroupedElGamal::encrypt_with(keys, high, &high_opening);
        let part = |of: usize| {
            [&encrypted_low, &encrypted_high].map(|it| it.to_elgamal_ciphertext(of).unwrap())
        };
        let [own_low, own_high] = part(0);
        let left = available - (own_low + own_high * (1_u64 << 16));
        let (commitment, opening) = Pedersen::new(rest);
        let (padding, padding_opening) = Pedersen::new(0_u64);
        let equality = prove::build_ciphertext_commitment_equality_proof_data(
            &from.elgamal,
            &left,
            &commitment,
            &opening,
            rest,
        );
        let validity = prove::build_batched_grouped_ciphertext_3_handles_validity_proof_data(
            keys[0],
            to,
            auditor,
            &encrypted_low,
            &encrypted_high,
            low,
            high,
            &low_opening,
            &high_opening,
        );
        let commitments =
            vec![&commitment, &encrypted_low.commitment, &encrypted_high.commitment, &padding];
        let range = prove::build_batched_range_proof_u128_data(
            commitments,
            vec![rest, low, high, 0],
            vec![64, 16, 32, 16],
            vec![&opening, &low_opening, &high_opening, &padding_opening],
        );
        Transfer {
            equality: equality.unwrap(),
            validity: validity.unwrap(),
            range: range.unwrap(),
            for_auditor: part(2),
        }
    }
}

#[test]
fn confidential_transfers_go_from_deposit_to_an_empty_account() {
    let mut scene = Setup::new();
    let (from, to) = (Holder::new("from"), Holder::new("to"));
    scene.configure(&from);
    scene.configure(&to);
    let (mint, authority) = (scene.mint.pubkey(), scene.payer.pubkey());
    let account = from.account.pubkey();
    let mint_to = token::mint_to(&TOKEN_2022, &mint, &account, &authority, 200_000);
    scene.send(&[mint_to], &[]);

    scene.deposit(&from, 150_000);
    assert_eq!(scene.tokens(&from), 50_000);
    from.available(&scene.svm, 0);
    scene.apply_pending(&from, 150_000);

    // More than 16 bits.
    scene.transfer(&from, &to, 150_000, 70_000);
    from.available(&scene.svm, 80_000);
    to.available(&scene.svm, 0);
    scene.apply_pending(&to, 70_000);

    scene.withdraw(&to, 70_000, 70_000);
    scene.withdraw(&from, 80_000, 1);
    assert_eq!((scene.tokens(&from), scene.tokens(&to)), (50_001, 70_000));
    from.available(&scene.svm, 79_999);
    scene.empty(&to);
    scene.close_contexts();

    let burn = Instruction {
        program_id: TOKEN_2022,
        accounts: vec![writable(to.account.pubkey()), writable(mint), to.signs()],
        data: [&[8], &70_000_u64.to_le_bytes()[..]].concat(),
    };
    scene.send(&[burn], &[&to.owner]);
    scene.close(&to);
}
