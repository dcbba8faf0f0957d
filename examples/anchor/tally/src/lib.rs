//! A tally in Anchor: a counter account to which only its owner can add.
use anchor_lang::prelude::*;

declare_id!("8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff");

#[program]
pub mod tally {
    use super::*;

    /// Creates a tally with count 0.
    pub fn open(ctx: Context<Open>) -> Result<()> {
        ctx.accounts.tally.owner = ctx.accounts.owner.key();
        Ok(())
    }

    /// Adds an amount to the count.
    pub fn add(ctx: Context<Add>, amount: u64) -> Result<()> {
        let tally = &mut ctx.accounts.tally;
        tally.count = tally.count.checked_add(amount).ok_or(TallyError::Overflow)?;
        Ok(())
    }
}

#[account]
#[derive(InitSpace)]
pub struct Tally {
    pub owner: Pubkey,
    pub count: u64,
}

#[derive(Accounts)]
pub struct Open<'info> {
    #[account(init, payer = owner, space = 8 + Tally::INIT_SPACE)]
    pub tally: Account<'info, Tally>,
    #[account(mut)]
    pub owner: Signer<'info>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Add<'info> {
    #[account(mut, has_one = owner)]
    pub tally: Account<'info, Tally>,
    pub owner: Signer<'info>,
}

#[error_code]
pub enum TallyError {
    #[msg("the count does not fit into 64 bits")]
    Overflow,
}
