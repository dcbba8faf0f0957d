//! Transactions that call a program.

use selkie::{
    Hash, Instruction, Message, Signer, VersionedMessage, VersionedTransaction, ids, keypair,
};

/// The instruction of the compute budget program that sets the limit.
const SET_COMPUTE_UNIT_LIMIT: u8 = 2;

/// Returns a serialized transaction of `keypair("payer")`, with a compute unit limit. Other signatures
/// are not valid.
///
/// # Panics
/// If the instruction is too large.
#[must_use]
pub fn call(instruction: Instruction, limit: u32, blockhash: Hash) -> Vec<u8> {
    let data = [&[SET_COMPUTE_UNIT_LIMIT][..], &limit.to_le_bytes()].concat();
    let limit = Instruction { program_id: ids::compute_budget::ID, accounts: vec![], data };
    let (payer, instructions) = (keypair("payer"), [limit, instruction]);
    let message = Message::new_with_blockhash(&instructions, Some(&payer.pubkey()), &blockhash);
    let mut signatures = vec![payer.sign_message(&message.serialize())];
    signatures.resize(message.header.num_required_signatures.into(), Default::default());
    let message = VersionedMessage::Legacy(message);
    let transaction = VersionedTransaction { signatures, message };
    wincode::serialize(&transaction).expect("a transaction serializes")
}
