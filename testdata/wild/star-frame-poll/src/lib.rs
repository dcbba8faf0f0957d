//! A poll with star_frame: votes that weigh what their voter has, in 128 bits, until it is closed.
use star_frame::prelude::*;

#[derive(StarFrameProgram)]
#[program(
    instruction_set = PollInstructions,
    id = "7k8u2TxQYzHFJ6QG3Vp6Trx5rXxBc1fJ7rGNBmUV3Qrb"
)]
pub struct PollProgram;

#[derive(InstructionSet)]
pub enum PollInstructions {
    Open(Open),
    Vote(Vote),
    Close(Close),
}

/// Votes for and against a question.
#[zero_copy(pod)]
#[derive(ProgramAccount, Default, Debug, Eq, PartialEq)]
pub struct Poll {
    pub clerk: Pubkey,
    pub is_closed: u8,
    pub voters: u64,
    pub weight_for: u128,
    pub weight_against: u128,
}

#[derive(BorshSerialize, BorshDeserialize, Debug, InstructionArgs)]
pub struct Open;

#[derive(AccountSet)]
pub struct OpenAccounts {
    #[validate(funder)]
    pub clerk: Signer<Mut<SystemAccount>>,
    #[validate(arg = Create(()))]
    pub poll: Init<Signer<Account<Poll>>>,
    pub system_program: Program<System>,
}

#[star_frame_instruction]
fn Open(accounts: &mut OpenAccounts) -> Result<()> {
    **accounts.poll.data_mut()? = Poll { clerk: *accounts.clerk.pubkey(), ..Poll::default() };
    Ok(())
}

#[derive(BorshSerialize, BorshDeserialize, Debug, Copy, Clone, InstructionArgs)]
pub struct Vote {
    #[ix_args(run)]
    pub is_for: bool,
    #[ix_args(run)]
    pub weight: u64,
}

#[derive(AccountSet, Debug)]
pub struct VoteAccounts {
    pub clerk: Signer,
    pub poll: Mut<Account<Poll>>,
}

#[star_frame_instruction]
fn Vote(accounts: &mut VoteAccounts, (is_for, weight): (bool, u64)) -> Result<()> {
    let mut poll = accounts.poll.data_mut()?;
    ensure!(*accounts.clerk.pubkey() == poll.clerk, ProgramError::IncorrectAuthority);
    ensure!(poll.is_closed == 0, ProgramError::InvalidAccountData);
    let counted = u128::from(weight) * u128::from(weight);
    if is_for {
        poll.weight_for += counted;
    } else {
        poll.weight_against += counted;
    }
    poll.voters += 1;
    msg!("{} voters", { poll.voters });
    Ok(())
}

#[derive(BorshSerialize, BorshDeserialize, Debug, Copy, Clone, InstructionArgs)]
pub struct Close;

#[derive(AccountSet, Debug)]
pub struct CloseAccounts {
    pub clerk: Signer,
    pub poll: Mut<Account<Poll>>,
}

#[star_frame_instruction]
fn Close(accounts: &mut CloseAccounts) -> Result<()> {
    let mut poll = accounts.poll.data_mut()?;
    ensure!(*accounts.clerk.pubkey() == poll.clerk, ProgramError::IncorrectAuthority);
    poll.is_closed = 1;
    Ok(())
}
