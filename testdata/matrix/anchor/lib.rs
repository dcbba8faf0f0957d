//! Fails in the way that the first byte of the data names, in the line with that comment.
use anchor_lang::{prelude::*, system_program};

declare_id!("8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff");

#[program]
pub mod matrix {
    use super::*;

    #[instruction(discriminator = [0])]
    pub fn succeed(ctx: Context<Both>) -> Result<()> {
        let lamports = ctx.accounts.account.lamports(); // ok
        msg!("{}", lamports);
        Ok(())
    }

    #[instruction(discriminator = [1])]
    pub fn trap(ctx: Context<Both>) -> Result<()> {
        let data = ctx.accounts.account.try_borrow_data()?;
        let byte = unsafe { core::ptr::read_volatile(data.as_ptr().wrapping_add(1 << 40)) }; // trap
        require!(byte == 0, MatrixError::Refused);
        Ok(())
    }

    #[instruction(discriminator = [2])]
    pub fn call(ctx: Context<Both>) -> Result<()> {
        let accounts = system_program::Transfer {
            from: ctx.accounts.other.to_account_info(),
            to: ctx.accounts.account.to_account_info(),
        };
        let context = CpiContext::new(SYSTEM, accounts);
        system_program::transfer(context, 1)?; // cpi
        Ok(())
    }

    #[instruction(discriminator = [3])]
    pub fn refuse(ctx: Context<Both>) -> Result<()> {
        let length = ctx.accounts.account.data_len();
        require!(length == 9, MatrixError::Refused); // error
        Ok(())
    }

    #[instruction(discriminator = [4])]
    pub fn panic(ctx: Context<Both>) -> Result<()> {
        let data = ctx.accounts.account.try_borrow_data()?;
        assert_eq!(data.len(), 9, "the length is {}", data.len()); // panic
        Ok(())
    }

    #[instruction(discriminator = [5])]
    pub fn constrain(_ctx: Context<Constrained>) -> Result<()> {
        Ok(())
    }
}

#[derive(Accounts)]
pub struct Both<'info> {
    /// CHECK: its data are looked at
    #[account(mut)]
    pub account: UncheckedAccount<'info>,
    /// CHECK: it pays
    #[account(mut)]
    pub other: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Constrained<'info> {
    /// CHECK: its data are looked at
    #[account(mut)]
    pub account: UncheckedAccount<'info>,
    /// CHECK: it is not the account
    #[account(
        constraint = other.data_len() == 9 @ MatrixError::Refused, // constraint
    )]
    pub other: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

#[error_code]
pub enum MatrixError {
    #[msg("the data have another length")]
    Refused,
}
