//! A market in Anchor 0.32, with the constraints that programs commonly use: derived addresses, token
//! accounts and mints, `init_if_needed`, `realloc`, `close`, zero-copy accounts, events, CPI.
use anchor_lang::prelude::*;
use anchor_spl::{
    associated_token::AssociatedToken,
    token_interface::{self, Mint, TokenAccount, TokenInterface, TransferChecked},
};
use solana_sha256_hasher::hash;

declare_id!("8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff");

#[program]
pub mod anchor_market {
    use super::*;

    pub fn open(ctx: Context<Open>, fee_bps: u16, name: String) -> Result<()> {
        require!(fee_bps <= 10_000, MarketError::Fee);
        require_gte!(32, name.len(), MarketError::Name);
        let market = &mut ctx.accounts.market;
        market.set_inner(Market {
            authority: ctx.accounts.authority.key(),
            mint: ctx.accounts.mint.key(),
            fee_bps,
            bump: ctx.bumps.market,
            sold: 0,
            tag: hash(name.as_bytes()).to_bytes(),
            name,
            notes: vec![],
        });
        ctx.accounts.book.load_init()?.market = market.key();
        Ok(())
    }

    #[access_control(is_open(&ctx.accounts.market))]
    pub fn sell(ctx: Context<Sell>, amount: u64, price: u64) -> Result<()> {
        let fee = u128::from(amount) * u128::from(ctx.accounts.market.fee_bps) / 10_000;
        let net = amount.checked_sub(u64::try_from(fee).unwrap()).ok_or(MarketError::Fee)?;
        let accounts = TransferChecked {
            from: ctx.accounts.source.to_account_info(),
            mint: ctx.accounts.mint.to_account_info(),
            to: ctx.accounts.vault.to_account_info(),
            authority: ctx.accounts.seller.to_account_info(),
        };
        let cpi = CpiContext::new(ctx.accounts.token_program.to_account_info(), accounts);
        token_interface::transfer_checked(cpi, amount, ctx.accounts.mint.decimals)?;
        ctx.accounts.market.sold += net;
        let mut book = ctx.accounts.book.load_mut()?;
        let at = usize::try_from(book.count).unwrap() % book.orders.len();
        book.orders[at] = Order { seller: ctx.accounts.seller.key(), amount: net, price };
        book.count += 1;
        emit_cpi!(Sold { seller: ctx.accounts.seller.key(), amount: net, price });
        Ok(())
    }

    pub fn refund(ctx: Context<Refund>, amount: u64) -> Result<()> {
        let market = &ctx.accounts.market;
        let seeds: &[&[u8]] = &[b"market", market.mint.as_ref(), &[market.bump]];
        let accounts = TransferChecked {
            from: ctx.accounts.vault.to_account_info(),
            mint: ctx.accounts.mint.to_account_info(),
            to: ctx.accounts.target.to_account_info(),
            authority: market.to_account_info(),
        };
        let program = ctx.accounts.token_program.to_account_info();
        let signers = &[seeds];
        let cpi = CpiContext::new_with_signer(program, accounts, signers);
        token_interface::transfer_checked(cpi, amount, ctx.accounts.mint.decimals)?;
        emit!(Refunded { amount, slot: Clock::get()?.slot });
        Ok(())
    }

    pub fn note(ctx: Context<Note>, note: String) -> Result<()> {
        ctx.accounts.market.notes.push(note);
        msg!(
            "{} notes, {} more accounts",
            ctx.accounts.market.notes.len(),
            ctx.remaining_accounts.len()
        );
        Ok(())
    }

    pub fn close(_ctx: Context<Close>) -> Result<()> {
        Ok(())
    }

    /// Returns the average of prices, for which floats are good enough.
    pub fn average(ctx: Context<Average>) -> Result<f64> {
        let book = ctx.accounts.book.load()?;
        let count = book.orders.iter().filter(|it| it.amount > 0).count();
        require_neq!(count, 0, MarketError::Empty);
        Ok(book.orders.iter().map(|it| it.price as f64).sum::<f64>() / count as f64)
    }
}

fn is_open(market: &Account<Market>) -> Result<()> {
    require!(market.sold < u64::MAX / 2, MarketError::Full);
    Ok(())
}

#[account]
#[derive(InitSpace)]
pub struct Market {
    pub authority: Pubkey,
    pub mint: Pubkey,
    pub fee_bps: u16,
    pub bump: u8,
    pub sold: u64,
    pub tag: [u8; 32],
    #[max_len(32)]
    pub name: String,
    #[max_len(0, 0)]
    pub notes: Vec<String>,
}

#[zero_copy]
pub struct Order {
    pub seller: Pubkey,
    pub amount: u64,
    pub price: u64,
}

#[account(zero_copy)]
pub struct Book {
    pub market: Pubkey,
    pub count: u64,
    pub orders: [Order; 64],
}

#[derive(Accounts)]
#[instruction(fee_bps: u16, name: String)]
pub struct Open<'info> {
    #[account(init, payer = authority, space = 8 + Market::INIT_SPACE, seeds = [b"market", mint.key().as_ref()], bump)]
    pub market: Box<Account<'info, Market>>,
    #[account(init, payer = authority, space = 8 + core::mem::size_of::<Book>())]
    pub book: AccountLoader<'info, Book>,
    #[account(init_if_needed, payer = authority, associated_token::mint = mint, associated_token::authority = market, associated_token::token_program = token_program)]
    pub vault: Box<InterfaceAccount<'info, TokenAccount>>,
    #[account(mint::decimals = 6, mint::token_program = token_program)]
    pub mint: Box<InterfaceAccount<'info, Mint>>,
    #[account(mut)]
    pub authority: Signer<'info>,
    pub token_program: Interface<'info, TokenInterface>,
    pub associated_token_program: Program<'info, AssociatedToken>,
    pub system_program: Program<'info, System>,
    pub rent: Sysvar<'info, Rent>,
}

#[event_cpi]
#[derive(Accounts)]
pub struct Sell<'info> {
    #[account(mut, seeds = [b"market", mint.key().as_ref()], bump = market.bump, has_one = mint @ MarketError::Mint)]
    pub market: Account<'info, Market>,
    #[account(mut, constraint = book.load()?.market == market.key())]
    pub book: AccountLoader<'info, Book>,
    #[account(mut, token::mint = mint, token::authority = seller)]
    pub source: InterfaceAccount<'info, TokenAccount>,
    #[account(mut, associated_token::mint = mint, associated_token::authority = market, associated_token::token_program = token_program)]
    pub vault: InterfaceAccount<'info, TokenAccount>,
    pub mint: InterfaceAccount<'info, Mint>,
    pub seller: Signer<'info>,
    pub token_program: Interface<'info, TokenInterface>,
}

#[derive(Accounts)]
pub struct Refund<'info> {
    #[account(seeds = [b"market", mint.key().as_ref()], bump = market.bump, has_one = authority, has_one = mint)]
    pub market: Account<'info, Market>,
    #[account(mut, token::mint = mint, token::authority = market)]
    pub vault: InterfaceAccount<'info, TokenAccount>,
    #[account(mut, token::mint = mint)]
    pub target: InterfaceAccount<'info, TokenAccount>,
    pub mint: InterfaceAccount<'info, Mint>,
    pub authority: Signer<'info>,
    pub token_program: Interface<'info, TokenInterface>,
}

#[derive(Accounts)]
#[instruction(note: String)]
pub struct Note<'info> {
    #[account(mut, has_one = authority, realloc = market.to_account_info().data_len() + 4 + note.len(), realloc::payer = authority, realloc::zero = false)]
    pub market: Account<'info, Market>,
    #[account(mut)]
    pub authority: Signer<'info>,
    /// CHECK: is only logged.
    pub other: Option<UncheckedAccount<'info>>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Close<'info> {
    #[account(mut, has_one = authority, close = authority)]
    pub market: Account<'info, Market>,
    #[account(mut)]
    pub authority: Signer<'info>,
    /// CHECK: the address is that of the system program.
    #[account(executable)]
    pub program: AccountInfo<'info>,
}

#[derive(Accounts)]
pub struct Average<'info> {
    pub book: AccountLoader<'info, Book>,
}

#[event]
pub struct Sold {
    pub seller: Pubkey,
    pub amount: u64,
    pub price: u64,
}

#[event]
pub struct Refunded {
    pub amount: u64,
    pub slot: u64,
}

#[error_code]
pub enum MarketError {
    #[msg("the fee exceeds the amount")]
    Fee,
    #[msg("the name is too long")]
    Name,
    #[msg("another mint")]
    Mint,
    #[msg("the market sells no more")]
    Full,
    #[msg("the book has no orders")]
    Empty,
}
