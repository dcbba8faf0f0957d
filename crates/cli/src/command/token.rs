//! `selkie token`.

use selkie_client::amount;
use std::io::Write as _;

use anyhow::{Context as _, Result, anyhow};
use selkie::{AccountFilter, Instruction, Keypair, Pubkey, Signer as _, programs, system, token};
use selkie_layout::token::{ACCOUNT, AccountType, MINT};
use serde_json::json;

use crate::{
    args::{
        send::SessionArgs,
        token::{
            BalanceArgs, CreateAccountArgs, CreateMintArgs, MintArgs, TokenArgs, TokenCommand,
            TransferArgs,
        },
    },
    sent::Done,
    session::Session,
    ui::{Advise as _, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &TokenArgs) -> Result<Status> {
    match &args.command {
        TokenCommand::CreateMint(args) => create_mint(ui, args),
        TokenCommand::CreateAccount(args) => create_account(ui, args),
        TokenCommand::Mint(args) => mint(ui, args),
        TokenCommand::Transfer(args) => transfer(ui, args),
        TokenCommand::Balance(args) => balance(ui, args),
    }
}

/// An existing mint.
struct Mint {
    address: Pubkey,
    /// The token program that owns it.
    program: Pubkey,
    decimals: u8,
}

impl Mint {
    fn find(session: &mut Session, text: &str) -> Result<Self> {
        let address = session.names.address(text)?;
        let shown = session.names.show(&address);
        let account = session.account(&address)?.filter(|it| programs::is_token_program(&it.owner));
        let data = account.as_ref().map(|it| &it.data[..]).unwrap_or_default();
        let is_mint = AccountType::of(data) == Some(AccountType::Mint);
        match (account.as_ref(), MINT.decimals.get(data)) {
            (Some(account), Some(decimals)) if is_mint => {
                Ok(Self { address, program: account.owner, decimals })
            }
            _ => Err(anyhow!("no mint at {shown}"))
                .advise("`selkie token create-mint NAME` creates one"),
        }
    }

    fn amount(&self, text: &str) -> Result<u64> {
        let amount = amount::parse(text, self.decimals);
        amount.advise(format!("amounts are in tokens of {} decimals: 2 or 1.5", self.decimals))
    }

    /// Returns the token account for a recipient: itself, or the associated one of an owner, with the
    /// instruction that creates it if it is missing.
    fn account_of(
        &self,
        session: &mut Session,
        payer: &Pubkey,
        owner: &Pubkey,
    ) -> Result<(Pubkey, Option<Instruction>)> {
        if self.is_account(session, owner)? {
            return Ok((*owner, None));
        }
        let account = token::associated_address(&self.program, owner, &self.address);
        let is_missing = !self.is_account(session, &account)?;
        let create = || token::create_associated(&self.program, payer, owner, &self.address);
        Ok((account, is_missing.then(create)))
    }

    /// Whether there is a token account at an address.
    fn is_account(&self, session: &mut Session, address: &Pubkey) -> Result<bool> {
        let account = session.account(address)?;
        Ok(account
            .is_some_and(|it| it.owner == self.program && it.data.len() >= token::ACCOUNT_BYTES))
    }
}

/// Opens the session and returns the payer's key.
fn open(args: &SessionArgs) -> Result<(Session, Keypair)> {
    let mut session = Session::open_or_new(args)?;
    let payer = session.payer()?;
    let key = payer.key.ok_or_else(|| anyhow!("the key of the payer {} is unknown", payer.address));
    Ok((session, key.advise("name its key file: --payer FILE")?))
}

/// Returns the key of a named signer, or the payer's.
fn signer(session: &Session, named: Option<&str>, payer: &Keypair) -> Result<Keypair> {
    match named {
        Some(text) => Ok(session.names.signer(text)?),
        None => Ok(payer.insecure_clone()),
    }
}

fn create_mint(ui: &mut Ui, args: &CreateMintArgs) -> Result<Status> {
    let (mut session, payer) = open(&args.session)?;
    let name = args.mint.as_deref().filter(|text| session.names.is_new(text));
    let key = match &args.mint {
        Some(text) if name.is_none() => session.names.signer(text)?,
        _ => Keypair::new(),
    };
    let program = session.names.address(&args.program)?;
    let authority = match &args.authority {
        Some(text) => session.names.address(text)?,
        None => payer.pubkey(),
    };
    let (mint, space) = (key.pubkey(), token::MINT_BYTES);
    let rent = session.svm().minimum_balance_for_rent_exemption(space);
    let instructions = [
        system::create_account(&payer.pubkey(), &mint, rent, space as u64, &program),
        token::initialize_mint(&program, &mint, &authority, args.decimals),
    ];
    let text = match name {
        Some(name) => format!("{name} ({mint}) is a mint of {} decimals", args.decimals),
        None => format!("{mint} is a mint of {} decimals", args.decimals),
    };
    let done = Done { text, json: json!({ "mint": mint.to_string(), "decimals": args.decimals }) };
    let status = session.send(ui, &instructions, &[&payer, &key], done)?;
    if let (Some(name), Status::Success) = (name, status) {
        session.names.remember(name, &mint)?;
    }
    Ok(status)
}

fn create_account(ui: &mut Ui, args: &CreateAccountArgs) -> Result<Status> {
    let (mut session, payer) = open(&args.session)?;
    let mint = Mint::find(&mut session, &args.mint)?;
    let owner = session.names.address(args.owner.as_deref().unwrap_or("payer"))?;
    let account = token::associated_address(&mint.program, &owner, &mint.address);
    let create = token::create_associated(&mint.program, &payer.pubkey(), &owner, &mint.address);
    let done = Done {
        text: format!("{account} is a token account of {}", session.names.show(&owner)),
        json: json!({ "account": account.to_string() }),
    };
    session.send(ui, &[create], &[&payer], done)
}

fn mint(ui: &mut Ui, args: &MintArgs) -> Result<Status> {
    let (mut session, payer) = open(&args.session)?;
    let mint = Mint::find(&mut session, &args.mint)?;
    let amount = mint.amount(&args.amount)?;
    let authority = signer(&session, args.authority.as_deref(), &payer)?;
    let owner = session.names.address(args.recipient.as_deref().unwrap_or("payer"))?;
    let (account, create) = mint.account_of(&mut session, &payer.pubkey(), &owner)?;
    let made = token::mint_to(&mint.program, &mint.address, &account, &authority.pubkey(), amount);
    let done = received(&session, &mint, amount, &owner, &account);
    let instructions: Vec<Instruction> = create.into_iter().chain([made]).collect();
    session.send(ui, &instructions, &[&payer, &authority], done)
}

fn transfer(ui: &mut Ui, args: &TransferArgs) -> Result<Status> {
    let (mut session, payer) = open(&args.session)?;
    let mint = Mint::find(&mut session, &args.mint)?;
    let amount = mint.amount(&args.amount)?;
    let from = signer(&session, args.from.as_deref(), &payer)?;
    let owner = session.names.address(&args.recipient).context("recipient")?;
    let (source, _) = mint.account_of(&mut session, &payer.pubkey(), &from.pubkey())?;
    let (account, create) = mint.account_of(&mut session, &payer.pubkey(), &owner)?;
    let transfer = token::transfer_checked(
        &mint.program,
        &source,
        &mint.address,
        &account,
        &from.pubkey(),
        amount,
        mint.decimals,
    );
    let done = received(&session, &mint, amount, &owner, &account);
    let instructions: Vec<Instruction> = create.into_iter().chain([transfer]).collect();
    session.send(ui, &instructions, &[&payer, &from], done)
}

/// Describes tokens that an account received.
fn received(session: &Session, mint: &Mint, amount: u64, owner: &Pubkey, account: &Pubkey) -> Done {
    let shown = amount::show(amount, mint.decimals);
    let of = session.names.label(&mint.address).unwrap_or_else(|| mint.address.to_string());
    let account_note = if owner == account { String::new() } else { format!(", in {account}") };
    Done {
        text: format!("{} received {shown} {of}{account_note}", session.names.show(owner)),
        json: json!({
            "account": account.to_string(),
            "mint": mint.address.to_string(),
            "amount": amount,
            "decimals": mint.decimals,
        }),
    }
}

fn balance(ui: &mut Ui, args: &BalanceArgs) -> Result<Status> {
    let mut session = Session::open(&args.session)?.without_payer()?;
    let owner = session.names.address(&args.owner)?;
    let only = args.mint.as_deref().map(|text| Mint::find(&mut session, text)).transpose()?;
    let mut rows = Vec::new();
    session.cluster().fetch_tokens(&owner)?;
    for (address, data) in token_accounts(&session, &owner) {
        let Some(mint) = ACCOUNT.mint.get(&data) else { continue };
        if only.as_ref().is_some_and(|only| only.address != mint) {
            continue;
        }
        let of_mint = session.account(&mint)?;
        let decimals = of_mint.and_then(|it| MINT.decimals.get(&it.data)).unwrap_or(0);
        rows.push((address, mint, token::amount(&data).unwrap_or(0), decimals));
    }
    if ui.json {
        let rows = rows.iter().map(|(account, mint, amount, decimals)| {
            json!({
                "account": account.to_string(),
                "mint": mint.to_string(),
                "amount": amount,
                "decimals": decimals,
            })
        });
        ui.object(&rows.collect())?;
        return Ok(Status::Success);
    }
    if rows.is_empty() {
        writeln!(ui.out, "{} has no token accounts", session.names.show(&owner))?;
        if Mint::find(&mut session, &args.owner).is_ok() {
            ui.help(&format!("that is a mint: `selkie token balance --mint {}`", args.owner));
        }
    }
    for (account, mint, amount, decimals) in rows {
        let (amount, mint) = (amount::show(amount, decimals), session.names.show(&mint));
        writeln!(ui.out, "{amount:>20}  of {mint}, in {account}")?;
    }
    Ok(Status::Success)
}

/// Returns the token accounts of an owner, or the one at this address.
fn token_accounts(session: &Session, owner: &Pubkey) -> Vec<(Pubkey, Vec<u8>)> {
    let account = session.svm().account(owner).filter(|it| programs::is_token_program(&it.owner));
    if let Some(account) = account.filter(|it| it.data.len() >= token::ACCOUNT_BYTES) {
        return vec![(*owner, account.data)];
    }
    let is_owned = [AccountFilter::Memcmp(ACCOUNT.owner.offset, owner.as_ref())];
    let of = |program: &Pubkey| session.svm().program_accounts(program, &is_owned);
    let all = [programs::TOKEN.id, programs::TOKEN_2022.id].map(|program| of(&program)).concat();
    let is_long =
        |(_, account): &(Pubkey, selkie::Account)| account.data.len() >= token::ACCOUNT_BYTES;
    all.into_iter().filter(is_long).map(|(key, account)| (key, account.data)).collect()
}
