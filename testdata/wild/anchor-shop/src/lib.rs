//! A shop in Anchor 0.32, with the constraints that `anchor-market` does without: mints and token
//! accounts that the program creates, extensions, `zero`, `address`, `owner`, `seeds::program`,
//! `rent_exempt`, accounts that are read lazily, zero-copy accounts with integers of 128 bits, and calls
//! of a program that is only known by its interface description.
use anchor_lang::prelude::*;
use anchor_spl::{
    associated_token::AssociatedToken,
    token_2022::Token2022,
    token_interface::{self, Burn, FreezeAccount, Mint, MintTo, TokenAccount},
};

declare_id!("5MZz6VDKUEYDxM6Z1R5d9yANRJgFfqAHEafGEDUpEb6o");
declare_program!(anchor_counter);

/// Whose accounts alone are audited.
#[constant]
pub const AUDITOR: Pubkey = pubkey!("2KW2XRd9kwqet15Aha2oK3tYvd3nWbTFH1MBiRAv1BE1");

#[program]
pub mod anchor_shop {
    use super::*;

    /// Creates the shop, the mint of its vouchers and its till.
    pub fn set_up(ctx: Context<SetUp>, price: Price) -> Result<()> {
        let keeper = ctx.accounts.keeper.key();
        let counter = ctx.accounts.counter.key();
        *ctx.accounts.shop = Shop { keeper, counter, price, bump: ctx.bumps.shop, sold: None };
        Ok(())
    }

    /// Takes an account of the client's as the catalogue.
    pub fn list(ctx: Context<List>, names: Vec<[u8; 16]>) -> Result<()> {
        let mut catalogue = ctx.accounts.catalogue.load_init()?;
        for (name, item) in names.iter().zip(catalogue.items.iter_mut()) {
            item.name = *name;
        }
        catalogue.count = names.len() as u64;
        Ok(())
    }

    /// Gives vouchers, and counts the sale in another program.
    pub fn sell(ctx: Context<Sell>, vouchers: u64) -> Result<()> {
        let shop = &mut ctx.accounts.shop;
        let price = match &shop.price {
            Price::Free => 0,
            Price::Each(lamports) => lamports * vouchers,
            Price::Bulk { least, lamports } if vouchers >= *least => *lamports,
            Price::Bulk { .. } => return err!(ShopError::TooFew),
        };
        let transfer = anchor_lang::system_program::Transfer {
            from: ctx.accounts.buyer.to_account_info(),
            to: ctx.accounts.keeper.to_account_info(),
        };
        let system = ctx.accounts.system_program.to_account_info();
        anchor_lang::system_program::transfer(CpiContext::new(system, transfer), price)?;
        let seeds: &[&[u8]] = &[b"shop", &[shop.bump]];
        let signers = &[seeds];
        let accounts = MintTo {
            mint: ctx.accounts.voucher.to_account_info(),
            to: ctx.accounts.purse.to_account_info(),
            authority: shop.to_account_info(),
        };
        let tokens = ctx.accounts.token_program.to_account_info();
        token_interface::mint_to(
            CpiContext::new_with_signer(tokens, accounts, signers),
            vouchers,
        )?;
        let accounts = anchor_counter::cpi::accounts::Increment {
            counter: ctx.accounts.counter.to_account_info(),
            authority: shop.to_account_info(),
        };
        let program = ctx.accounts.counter_program.to_account_info();
        anchor_counter::cpi::increment(CpiContext::new_with_signer(program, accounts, signers))?;
        ctx.accounts.counter.reload()?;
        let sold = shop.sold.unwrap_or_default();
        shop.sold = Some(sold.checked_add(vouchers).ok_or(ShopError::TooMany)?);
        msg!("sale {}: {} lamports", ctx.accounts.counter.count, price);
        Ok(())
    }

    /// Burns a voucher, and freezes what is left.
    pub fn redeem(ctx: Context<Redeem>) -> Result<()> {
        let tokens = ctx.accounts.token_program.to_account_info();
        let accounts = Burn {
            mint: ctx.accounts.voucher.to_account_info(),
            from: ctx.accounts.purse.to_account_info(),
            authority: ctx.accounts.buyer.to_account_info(),
        };
        token_interface::burn(CpiContext::new(tokens.clone(), accounts), 1)?;
        let seeds: &[&[u8]] = &[b"shop", &[*ctx.accounts.shop.load_bump()?]];
        let accounts = FreezeAccount {
            account: ctx.accounts.purse.to_account_info(),
            mint: ctx.accounts.voucher.to_account_info(),
            authority: ctx.accounts.shop.to_account_info(),
        };
        let signers = &[seeds];
        token_interface::freeze_account(CpiContext::new_with_signer(tokens, accounts, signers))
    }

    /// Enters what came in, or with a minus what went out, into the ledger.
    pub fn enter(ctx: Context<Enter>, lamports: i64) -> Result<()> {
        let mut ledger = ctx.accounts.ledger.load_mut()?;
        ledger.entries += 1;
        ledger.moved += u128::from(lamports.unsigned_abs());
        ledger.largest = ledger.largest.max(lamports.unsigned_abs());
        ledger.balance.last = lamports;
        ledger.balance.lamports += i128::from(lamports);
        Ok(())
    }

    /// Only looks.
    pub fn audit(ctx: Context<Audit>) -> Result<u64> {
        let catalogue = ctx.accounts.catalogue.load()?;
        let named = catalogue.items.iter().filter(|it| it.name != [0; 16]).count();
        msg!("{:?} has {} lamports", ctx.accounts.anything.key, ctx.accounts.anything.lamports());
        Ok(named as u64)
    }
}

#[derive(AnchorSerialize, AnchorDeserialize, InitSpace, Clone, Debug)]
pub enum Price {
    Free,
    Each(u64),
    Bulk { least: u64, lamports: u64 },
}

#[account]
#[derive(InitSpace)]
pub struct Shop {
    pub bump: u8,
    pub keeper: Pubkey,
    pub counter: Pubkey,
    pub price: Price,
    pub sold: Option<u64>,
}

#[zero_copy(unsafe)]
#[repr(C)]
pub struct Item {
    pub name: [u8; 16],
    pub sold: u64,
}

#[account(zero_copy(unsafe))]
#[repr(C)]
pub struct Catalogue {
    pub count: u64,
    pub items: [Item; 1_000],
}

/// Integers of 128 bits are aligned to eight bytes, so this has no padding, which `Pod` would refuse.
#[account(zero_copy)]
pub struct Ledger {
    pub entries: u64,
    pub moved: u128,
    pub largest: u64,
    pub balance: Balance,
}

#[zero_copy]
pub struct Balance {
    pub last: i64,
    pub lamports: i128,
}

const _: () = {
    use core::mem::{align_of, offset_of, size_of};
    assert!(size_of::<Ledger>() == 56 && align_of::<Ledger>() == 8);
    assert!(offset_of!(Ledger, entries) == 0 && offset_of!(Ledger, moved) == 8);
    assert!(offset_of!(Ledger, largest) == 24 && offset_of!(Ledger, balance) == 32);
    assert!(size_of::<Balance>() == 24 && offset_of!(Balance, lamports) == 8);
};

#[derive(Accounts)]
pub struct SetUp<'info> {
    #[account(init, payer = keeper, space = 8 + Shop::INIT_SPACE, seeds = [b"shop"], bump)]
    pub shop: Account<'info, Shop>,
    #[account(
        init, payer = keeper, seeds = [b"voucher", shop.key().as_ref()], bump,
        mint::decimals = 2, mint::authority = shop, mint::freeze_authority = shop,
        mint::token_program = token_program,
        extensions::metadata_pointer::authority = shop,
        extensions::metadata_pointer::metadata_address = voucher,
        extensions::close_authority::authority = keeper,
    )]
    pub voucher: Box<InterfaceAccount<'info, Mint>>,
    #[account(
        init, payer = keeper, token::mint = voucher, token::authority = shop,
        token::token_program = token_program,
    )]
    pub till: Box<InterfaceAccount<'info, TokenAccount>>,
    #[account(constraint = counter.authority == shop.key() @ ShopError::Counter)]
    pub counter: Account<'info, anchor_counter::accounts::Counter>,
    #[account(mut)]
    pub keeper: Signer<'info>,
    pub token_program: Program<'info, Token2022>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct List<'info> {
    #[account(seeds = [b"shop"], bump = shop.bump, has_one = keeper @ ShopError::Keeper)]
    pub shop: Account<'info, Shop>,
    #[account(zero, rent_exempt = enforce)]
    pub catalogue: AccountLoader<'info, Catalogue>,
    pub keeper: Signer<'info>,
}

#[derive(Accounts)]
pub struct Sell<'info> {
    #[account(mut, seeds = [b"shop"], bump = shop.bump, has_one = keeper, has_one = counter)]
    pub shop: Account<'info, Shop>,
    #[account(
        mut, seeds = [b"voucher", shop.key().as_ref()], bump,
        mint::authority = shop, mint::freeze_authority = shop,
        extensions::close_authority::authority = keeper,
    )]
    pub voucher: Box<InterfaceAccount<'info, Mint>>,
    #[account(
        init_if_needed, payer = buyer, associated_token::mint = voucher,
        associated_token::authority = buyer, associated_token::token_program = token_program,
    )]
    pub purse: Box<InterfaceAccount<'info, TokenAccount>>,
    #[account(mut)]
    pub counter: Account<'info, anchor_counter::accounts::Counter>,
    #[account(mut)]
    pub keeper: SystemAccount<'info>,
    #[account(mut)]
    pub buyer: Signer<'info>,
    pub counter_program: Program<'info, anchor_counter::program::AnchorCounter>,
    pub token_program: Program<'info, Token2022>,
    pub associated_token_program: Program<'info, AssociatedToken>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Redeem<'info> {
    pub shop: LazyAccount<'info, Shop>,
    #[account(mut)]
    pub voucher: InterfaceAccount<'info, Mint>,
    #[account(mut, token::mint = voucher, token::authority = buyer)]
    pub purse: InterfaceAccount<'info, TokenAccount>,
    pub buyer: Signer<'info>,
    pub token_program: Program<'info, Token2022>,
}

#[derive(Accounts)]
pub struct Enter<'info> {
    #[account(seeds = [b"shop"], bump = shop.bump, has_one = keeper @ ShopError::Keeper)]
    pub shop: Account<'info, Shop>,
    #[account(mut)]
    pub ledger: AccountLoader<'info, Ledger>,
    pub keeper: Signer<'info>,
}

#[derive(Accounts)]
pub struct Audit<'info> {
    #[account(address = AUDITOR @ ShopError::Auditor)]
    pub auditor: Signer<'info>,
    #[account(owner = crate::ID)]
    pub catalogue: AccountLoader<'info, Catalogue>,
    /// CHECK: is only logged; another program's derived address.
    #[account(seeds = [b"anything"], seeds::program = anchor_counter::ID, bump)]
    pub anything: UncheckedAccount<'info>,
    /// CHECK: only its owner matters.
    #[account(owner = *program.key, constraint = theirs.data_len() > 8)]
    pub theirs: UncheckedAccount<'info>,
    /// CHECK: any program.
    #[account(executable)]
    pub program: UncheckedAccount<'info>,
}

#[error_code]
pub enum ShopError {
    #[msg("the shop cannot use this counter")]
    Counter,
    #[msg("only the keeper may do that")]
    Keeper,
    #[msg("only the auditor may do that")]
    Auditor,
    #[msg("too few vouchers for this price")]
    TooFew,
    #[msg("too many vouchers")]
    TooMany,
}
