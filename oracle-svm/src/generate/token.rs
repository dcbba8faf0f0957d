//! Instructions of SPL Token, p-token, Token-2022, Associated Token Account and Memo.

use solana_pubkey::Pubkey;

use super::{
    encode::Bytes,
    ids::*,
    message::{Instruction, Meta, r, rs, w, ws},
    scene::Scene,
    system,
    world::rent,
};
use crate::case::{Account, Key};

const MINT_BYTES: usize = 82;
const ACCOUNT_BYTES: usize = 165;
const MULTISIG_BYTES: usize = 355;
const NATIVE_MINT: Key = decode_native();

const fn decode_native() -> Key {
    // So11111111111111111111111111111111111111112
    let mut key = [0; 32];
    let bytes = [6, 155, 136, 87, 254, 171, 129, 132, 251, 104, 127, 99, 70, 24, 192, 53];
    let rest = [218, 196, 57, 220, 26, 235, 59, 85, 152, 160, 240, 0, 0, 0, 0, 1];
    let mut at = 0;
    while at < 16 {
        key[at] = bytes[at];
        key[at + 16] = rest[at];
        at += 1;
    }
    key
}

/// A token program with its mints, accounts and signers.
pub(crate) struct Tokens {
    program: Key,
    mints: Vec<Key>,
    /// Address, mint, owner.
    accounts: Vec<(Key, Key, Key)>,
    multisig: Key,
    signers: Vec<Key>,
    freezer: Key,
}

/// Random accounts and numbers for an instruction.
struct Draw {
    account: Key,
    mint: Key,
    /// Of `account`.
    owner: Key,
    /// Another account, of the same mint in most cases.
    other: Key,
    amount: u64,
    decimals: u8,
}

impl Tokens {
    pub(crate) fn new(scene: &mut Scene<'_>, program: Key) -> Self {
        if program == TOKEN && scene.rng.chance(30) {
            scene.put(TOKEN, scene.world.spl_token.clone());
        }
        let freezer = scene.wallet();
        let signers: Vec<Key> = (0..3).map(|_| scene.wallet()).collect();
        let multisig = scene.fresh();
        let mut tokens =
            Self { program, mints: Vec::new(), accounts: Vec::new(), multisig, signers, freezer };
        let mut data = Bytes::new().u8(2).u8(3).u8(1);
        for signer in &tokens.signers {
            data = data.key(signer);
        }
        scene.put(
            multisig,
            Account::new(rent(MULTISIG_BYTES), program, data.padded(MULTISIG_BYTES)),
        );
        for _ in 0..2 {
            tokens.add_mint(scene);
        }
        for _ in 0..5 {
            let mint = scene.rng.pick(&tokens.mints);
            tokens.add_account(scene, mint);
        }
        if scene.rng.chance(30) {
            let decimals = mint_data(None, u64::from(scene.rng.chance(5)), 9, None);
            scene.put(NATIVE_MINT, Account::new(rent(MINT_BYTES), program, decimals));
            tokens.add_account(scene, NATIVE_MINT);
            tokens.add_account(scene, NATIVE_MINT);
        }
        for (key, _, _) in &tokens.accounts {
            scene.prop("token", *key);
        }
        tokens
    }

    fn add_mint(&mut self, scene: &mut Scene<'_>) {
        let key = scene.fresh();
        let authority = if scene.rng.chance(20) { self.multisig } else { scene.wallets[0] };
        let authority = (!scene.odd(15)).then_some(authority);
        let freezer = (!scene.odd(40)).then_some(self.freezer);
        let supply =
            if scene.odd(40) { scene.rng.pick(&[0, u64::MAX, u64::MAX - 100]) } else { 1 << 40 };
        let data = mint_data(authority, supply, 6, freezer);
        scene.put(key, Account::new(rent(MINT_BYTES), self.program, data));
        self.mints.push(key);
    }

    fn add_account(&mut self, scene: &mut Scene<'_>, mint: Key) {
        let key = scene.fresh();
        let owner = match scene.rng.below(8) {
            0 => self.multisig,
            1..4 => scene.wallet(),
            _ => scene.wallets[0],
        };
        let amount =
            if scene.odd(50) { scene.rng.pick(&[0, 1, 1000, u64::MAX]) } else { 50_000_000 };
        let delegate = scene.rng.chance(20).then(|| scene.wallet());
        let closer = scene.rng.chance(20).then(|| scene.wallet());
        let state = if scene.odd(25) { scene.rng.pick(&[2, 0]) } else { 1 };
        let native = (mint == NATIVE_MINT).then_some(rent(ACCOUNT_BYTES));
        let mut data = Bytes::new().key(&mint).key(&owner).u64(amount);
        data = option(data, delegate).u8(state);
        data = data.u32(u32::from(native.is_some())).u64(native.unwrap_or(0));
        data = option(data.u64(if delegate.is_some() { 500 } else { 0 }), closer);
        let mut lamports = rent(ACCOUNT_BYTES);
        if native.is_some() {
            lamports = lamports.saturating_add(amount);
        }
        scene.put(key, Account::new(lamports, self.program, data.0));
        self.accounts.push((key, mint, owner));
    }

    fn account(&self, scene: &mut Scene<'_>) -> (Key, Key, Key) {
        self.accounts[scene.rng.below(self.accounts.len())]
    }

    /// Another account, of the same mint if there is one.
    fn sibling(&self, scene: &mut Scene<'_>, mint: &Key) -> Key {
        let same: Vec<_> = self.accounts.iter().filter(|it| it.1 == *mint).map(|it| it.0).collect();
        if same.is_empty() || scene.odd(12) { self.account(scene).0 } else { scene.rng.pick(&same) }
    }

    /// The accounts that sign for `owner`: itself, or a multisig account with signers.
    fn signing(&self, scene: &mut Scene<'_>, owner: Key) -> Vec<Meta> {
        if owner == self.multisig {
            let count = if scene.odd(30) { scene.rng.below(4) } else { 2 };
            let signers = self.signers.iter().take(count).map(|it| rs(*it));
            [r(owner)].into_iter().chain(signers).collect()
        } else if scene.odd(12) {
            vec![rs(scene.wallet())]
        } else {
            vec![rs(owner)]
        }
    }

    /// One or more instructions that belong together.
    pub(crate) fn instructions(&self, scene: &mut Scene<'_>) -> Vec<Instruction> {
        let draw = self.draw(scene);
        let Draw { account, mint, amount, decimals, .. } = draw;
        match scene.rng.below(34) {
            12..14 => vec![self.mint_to(scene, mint, account, amount, decimals)],
            18 | 19 => vec![self.freeze_or_thaw(scene, account, mint)],
            20 => vec![self.plain(vec![w(account)], Bytes::new().u8(17))],
            21 => vec![self.plain(vec![r(mint)], Bytes::new().u8(23).u64(amount))],
            22 => {
                let texts = ["1.5", "0.0000001", "18446744073709551615", "", "1.2.3"];
                let text = scene.rng.pick(&texts);
                vec![self.plain(vec![r(mint)], Bytes::new().u8(24).bytes(text.as_bytes()))]
            }
            23 => vec![self.plain(vec![r(mint)], Bytes::new().u8(21))],
            24..28 => self.open(scene, mint),
            28..30 => self.make_mint(scene),
            32 => vec![self.batch(scene, &draw)],
            33 => vec![self.make_multisig(scene)],
            row => vec![self.signed_by_owner(scene, row, &draw)],
        }
    }

    fn draw(&self, scene: &mut Scene<'_>) -> Draw {
        let (account, mint, owner) = self.account(scene);
        let amount = if scene.odd(30) {
            scene.rng.pick(&[0, 1_000_000_000, u64::MAX, 50_000_000])
        } else {
            scene.rng.below(2000) as u64
        };
        let other = self.sibling(scene, &mint);
        let decimals = if scene.odd(20) { 9 } else { 6 };
        Draw { account, mint, owner, other, amount, decimals }
    }

    /// An instruction that the owner of the account signs.
    fn signed_by_owner(&self, scene: &mut Scene<'_>, row: usize, draw: &Draw) -> Instruction {
        let &Draw { account, mint, owner, other, amount, decimals } = draw;
        let (mut metas, data) = match row {
            0..5 => (vec![w(account), w(other)], Bytes::new().u8(3).u64(amount)),
            5 | 6 => {
                (vec![w(account), r(mint), w(other)], Bytes::new().u8(12).u64(amount).u8(decimals))
            }
            7 => (vec![w(account), r(scene.wallet())], Bytes::new().u8(4).u64(amount)),
            8 => {
                let metas = vec![w(account), r(mint), r(scene.wallet())];
                (metas, Bytes::new().u8(13).u64(amount).u8(decimals))
            }
            9 => (vec![w(account)], Bytes::new().u8(5)),
            10 | 11 => {
                let of_mint = scene.rng.chance(40);
                let kind = scene.rng.below(5) as u8;
                let new = scene.rng.chance(60).then(|| scene.wallet());
                let data = Bytes::new().u8(6).u8(kind).u8(u8::from(new.is_some()));
                let data = new.map_or(data.clone(), |key| data.key(&key));
                (vec![w(if of_mint { mint } else { account })], data)
            }
            14 => (vec![w(account), w(mint)], Bytes::new().u8(8).u64(amount)),
            15 => (vec![w(account), w(mint)], Bytes::new().u8(15).u64(amount).u8(decimals)),
            16 | 17 => (vec![w(account), w(scene.wallet())], Bytes::new().u8(9)),
            30 => {
                let data = Bytes::new().u8(scene.rng.pick(&[38, 45, 255, 25, 29, 31, 32, 39]));
                let data = data.bytes(&scene.noise()[..scene.rng.below(12)]);
                (vec![w(account), w(other)], data)
            }
            _ => {
                let data = Bytes::new().bytes(&scene.noise()[..scene.rng.below(20)]);
                (vec![w(account), w(mint), w(other)], data)
            }
        };
        metas.extend(self.signing(scene, owner));
        self.plain(metas, data)
    }

    fn freeze_or_thaw(&self, scene: &mut Scene<'_>, account: Key, mint: Key) -> Instruction {
        let tag = scene.rng.pick(&[10, 11]);
        let mut metas = vec![w(account), r(mint)];
        metas.extend(self.signing(scene, self.freezer));
        self.plain(metas, Bytes::new().u8(tag))
    }

    /// A batch of two transfers, an instruction of p-token.
    fn batch(&self, scene: &Scene<'_>, draw: &Draw) -> Instruction {
        let Draw { account, other, owner, .. } = *draw;
        let one = Bytes::new().u8(3).u64(draw.amount);
        let data = Bytes::new().u8(255).u8(3).u8(9).bytes(&one.0).u8(3).u8(9).bytes(&one.0);
        let first = [w(account), w(other), rs(owner)];
        let second = [w(other), w(account), rs(scene.wallets[0])];
        self.plain([first, second].concat(), data)
    }

    fn make_multisig(&self, scene: &mut Scene<'_>) -> Instruction {
        let multisig = scene.fresh();
        let lamports = rent(MULTISIG_BYTES);
        let account = Account::new(lamports, self.program, vec![0; MULTISIG_BYTES]);
        scene.put(multisig, account);
        let count = 1 + scene.rng.below(4) as u8;
        let mut metas = vec![w(multisig), r(RENT)];
        (0..3).for_each(|_| metas.push(r(scene.wallet())));
        self.plain(metas, Bytes::new().u8(2).u8(count))
    }

    fn plain(&self, metas: Vec<Meta>, data: Bytes) -> Instruction {
        Instruction::new(self.program, metas, data)
    }

    fn mint_to(
        &self,
        scene: &mut Scene<'_>,
        mint: Key,
        account: Key,
        amount: u64,
        decimals: u8,
    ) -> Instruction {
        let authority =
            scene.accounts.get(&mint).and_then(|it| it.data.get(4..36)?.try_into().ok());
        let authority = authority.unwrap_or(scene.wallets[0]);
        let mut metas = vec![w(mint), w(account)];
        metas.extend(self.signing(scene, authority));
        let data = if scene.rng.chance(50) {
            Bytes::new().u8(7).u64(amount)
        } else {
            Bytes::new().u8(14).u64(amount).u8(decimals)
        };
        self.plain(metas, data)
    }

    /// Creates an account with the system program and initializes it.
    fn open(&self, scene: &mut Scene<'_>, mint: Key) -> Vec<Instruction> {
        let (key, payer, owner) = (scene.fresh(), scene.wallets[0], scene.wallet());
        let mut list = vec![made(scene, payer, key, ACCOUNT_BYTES, self.program)];
        if scene.rng.chance(20) {
            list.push(self.plain(vec![w(key)], Bytes::new().u8(22)));
        }
        let last = match scene.rng.below(3) {
            0 => self.plain(vec![w(key), r(mint), r(owner), r(RENT)], Bytes::new().u8(1)),
            1 => self.plain(vec![w(key), r(mint), r(RENT)], Bytes::new().u8(16).key(&owner)),
            _ => self.plain(vec![w(key), r(mint)], Bytes::new().u8(18).key(&owner)),
        };
        list.push(last);
        if scene.rng.chance(40) {
            list.push(self.plain(vec![w(key), w(payer), rs(owner)], Bytes::new().u8(9)));
        }
        list
    }

    fn make_mint(&self, scene: &mut Scene<'_>) -> Vec<Instruction> {
        let (key, payer, authority) = (scene.fresh(), scene.wallets[0], scene.wallet());
        let extra = if self.program == TOKEN_2022 && scene.rng.chance(50) { 170 } else { 0 };
        let mut list = vec![made(scene, payer, key, MINT_BYTES + extra, self.program)];
        if extra > 0 {
            // The extension's own initialization comes first; most sizes do not fit.
            let tag = scene.rng.pick(&[25, 32, 35, 33]);
            let data = Bytes::new().u8(tag).u8(1).key(&authority);
            list.push(self.plain(vec![w(key)], data));
        }
        let freezer = scene.rng.chance(50);
        let tag = scene.rng.pick(&[0, 20]);
        let mut data = Bytes::new().u8(tag).u8(6).key(&authority).u8(u8::from(freezer));
        if freezer {
            data = data.key(&authority);
        }
        let metas = if tag == 0 { vec![w(key), r(RENT)] } else { vec![w(key)] };
        list.push(self.plain(metas, data));
        list
    }

    /// An instruction of the program for associated accounts.
    pub(crate) fn associated(&self, scene: &mut Scene<'_>) -> Instruction {
        let (wallet, payer) = (scene.wallet(), scene.wallets[0]);
        let mint = scene.rng.pick(&self.mints);
        let right = associated_address(&wallet, &mint, &self.program);
        if scene.rng.chance(25) {
            let data = Bytes::new().key(&mint).key(&wallet).u64(5);
            let mut data = data.padded(ACCOUNT_BYTES);
            data[108] = 1;
            let owner = if scene.rng.chance(70) { self.program } else { SYSTEM };
            let data = if owner == SYSTEM { Vec::new() } else { data };
            let lamports = scene.rng.pick(&[rent(ACCOUNT_BYTES), 1, rent(0)]);
            scene.put(right, Account::new(lamports, owner, data));
        }
        let key = if scene.odd(8) { scene.fresh() } else { right };
        let metas = vec![ws(payer), w(key), r(wallet), r(mint), r(SYSTEM), r(self.program)];
        let data = match scene.rng.below(8) {
            0 => Bytes::new(),
            1 => Bytes::new().u8(2),
            2 => Bytes::new().u8(3),
            3 | 4 => Bytes::new().u8(0),
            _ => Bytes::new().u8(1),
        };
        Instruction::new(ASSOCIATED, metas, data)
    }
}

fn associated_address(wallet: &Key, mint: &Key, program: &Key) -> Key {
    let seeds: [&[u8]; 3] = [wallet, program, mint];
    Pubkey::find_program_address(&seeds, &Pubkey::from(ASSOCIATED)).0.to_bytes()
}

/// Creates an account by the system program, in most cases with enough lamports.
pub(crate) fn made(
    scene: &mut Scene<'_>,
    payer: Key,
    key: Key,
    len: usize,
    owner: Key,
) -> Instruction {
    if scene.odd(8) {
        return system::instruction(scene);
    }
    let lamports = rent(len) - u64::from(scene.odd(8));
    let data = Bytes::new().u32(0).u64(lamports).u64(len as u64).key(&owner);
    Instruction::new(SYSTEM, vec![ws(payer), ws(key)], data)
}

fn option(data: Bytes, key: Option<Key>) -> Bytes {
    data.u32(u32::from(key.is_some())).key(&key.unwrap_or_default())
}

fn mint_data(authority: Option<Key>, supply: u64, decimals: u8, freezer: Option<Key>) -> Vec<u8> {
    option(option(Bytes::new(), authority).u64(supply).u8(decimals).u8(1), freezer).0
}

pub(crate) fn memo(scene: &mut Scene<'_>) -> Instruction {
    let program = scene.rng.pick(&[MEMO_V1, MEMO_V4, MEMO_V4]);
    let edge = if scene.odd(30) { 900 } else { 0 };
    let len = scene.rng.pick(&[5, 32, 200, edge]);
    let text: Vec<u8> = match scene.roll(20, 1, 40) {
        0 => scene.noise().repeat(len / 32 + 1)[..len].to_vec(),
        1 => "grüße ".repeat(len / 6 + 1).into_bytes()[..len].to_vec(),
        _ => vec![b'a'; len],
    };
    let metas = (0..scene.rng.below(4)).map(|_| {
        let key = scene.wallet();
        if scene.odd(20) { r(key) } else { rs(key) }
    });
    let metas = metas.collect();
    Instruction::new(program, metas, Bytes::new().bytes(&text))
}
