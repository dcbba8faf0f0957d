//! The instructions sysvar.

#[cfg(feature = "until-0-14")]
use std::collections::HashSet;

use solana_account::Account;
#[cfg(feature = "until-0-14")]
use solana_instruction::Instruction;
use solana_message::SanitizedMessage;
#[cfg(feature = "until-0-14")]
use solana_message::{LegacyMessage, Message};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;

/// The flags of an account in the sysvar.
const IS_SIGNER: u8 = 1;
const IS_WRITABLE: u8 = 2;

/// Returns the account of the instructions sysvar of a message.
///
/// # Panics
/// If the message has so many or such long instructions that no transaction could.
#[cfg(not(feature = "until-0-14"))]
#[must_use]
pub fn keyed_account(message: &SanitizedMessage) -> (Pubkey, Account) {
    of_message(message)
}

/// Returns the account of the instructions sysvar of the instructions of a transaction.
///
/// # Panics
/// If there are so many or such long instructions that no transaction could have them.
#[cfg(feature = "until-0-14")]
#[must_use]
pub fn keyed_account<'a>(instructions: impl Iterator<Item = &'a Instruction>) -> (Pubkey, Account) {
    let instructions: Vec<Instruction> = instructions.cloned().collect();
    let message = LegacyMessage::new(Message::new(&instructions, None), &HashSet::new());
    of_message(&SanitizedMessage::Legacy(message))
}

fn of_message(message: &SanitizedMessage) -> (Pubkey, Account) {
    let instructions: Vec<Vec<u8>> =
        (0..message.instructions().len()).map(|index| instruction(message, index)).collect();
    let mut data = short(instructions.len()).to_vec();
    let mut offset = 2 + 2 * instructions.len();
    for instruction in &instructions {
        data.extend(short(offset));
        offset += instruction.len();
    }
    data.extend(instructions.concat());
    // The index of the current instruction.
    data.extend(short(0));
    (sysvar::instructions::ID, Account { data, owner: sysvar::ID, ..Account::default() })
}

fn instruction(message: &SanitizedMessage, index: usize) -> Vec<u8> {
    let instruction = &message.instructions()[index];
    let keys = message.account_keys();
    let mut bytes = short(instruction.accounts.len()).to_vec();
    for index in &instruction.accounts {
        let index = usize::from(*index);
        let signer = if message.is_signer(index) { IS_SIGNER } else { 0 };
        let writable = if message.is_writable(index) { IS_WRITABLE } else { 0 };
        bytes.push(signer | writable);
        bytes.extend(keys[index].as_ref());
    }
    bytes.extend(keys[usize::from(instruction.program_id_index)].as_ref());
    bytes.extend(short(instruction.data.len()));
    bytes.extend(&instruction.data);
    bytes
}

fn short(number: usize) -> [u8; 2] {
    u16::try_from(number).expect("a message is short").to_le_bytes()
}
