//! A counter in Anchor 0.32: only its authority can increment it.
use anchor_lang::prelude::*;

declare_id!("8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff");

#[program]
pub mod anchor_counter {
    use super::*;

    /// Creates a counter.
    pub fn initialize(ctx: Context<Initialize>, start: u64) -> Result<()> {
        ctx.accounts.counter.authority = ctx.accounts.authority.key();
        ctx.accounts.counter.count = start;
        Ok(())
    }

    /// Adds 1.
    pub fn increment(ctx: Context<Increment>) -> Result<()> {
        let counter = &mut ctx.accounts.counter;
        counter.count = counter.count.checked_add(1).ok_or(CounterError::Overflow)?;
        msg!("count {}", counter.count);
        Ok(())
    }
}

#[account]
#[derive(InitSpace)]
pub struct Counter {
    pub authority: Pubkey,
    pub count: u64,
}

#[derive(Accounts)]
pub struct Initialize<'info> {
    #[account(init, payer = authority, space = 8 + Counter::INIT_SPACE)]
    pub counter: Account<'info, Counter>,
    #[account(mut)]
    pub authority: Signer<'info>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Increment<'info> {
    #[account(mut, has_one = authority)]
    pub counter: Account<'info, Counter>,
    pub authority: Signer<'info>,
}

#[error_code]
pub enum CounterError {
    #[msg("the count does not fit into 64 bits")]
    Overflow,
}
