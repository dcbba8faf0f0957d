//! Transactions, messages and instructions, whose parts are moved.

use selkie::{InnerInstruction as Inner, message as to};
use solana_instruction::{AccountMeta, Instruction};
use solana_message::{
    self as from, Message, MessageHeader, VersionedMessage,
    compiled_instruction::CompiledInstruction,
    inner_instruction::{InnerInstruction, InnerInstructionsList},
};
use solana_transaction::versioned::VersionedTransaction;

use crate::{Address, from_address, to_address, to_hash, to_signature};

/// Converts an instruction to Selkie's version.
#[must_use]
pub fn to_instruction(instruction: Instruction) -> selkie::Instruction {
    let Instruction { program_id, accounts, data } = instruction;
    let to_meta = |meta: AccountMeta| {
        let AccountMeta { pubkey, is_signer, is_writable } = meta;
        selkie::AccountMeta { pubkey: to_address(&pubkey), is_signer, is_writable }
    };
    let accounts = accounts.into_iter().map(to_meta).collect();
    selkie::Instruction { program_id: to_address(&program_id), accounts, data }
}

/// Converts an instruction from Selkie's version.
#[must_use]
pub fn from_instruction(instruction: selkie::Instruction) -> Instruction {
    let selkie::Instruction { program_id, accounts, data } = instruction;
    let from_meta = |meta: selkie::AccountMeta| {
        let selkie::AccountMeta { pubkey, is_signer, is_writable } = meta;
        AccountMeta { pubkey: from_address(&pubkey), is_signer, is_writable }
    };
    let accounts = accounts.into_iter().map(from_meta).collect();
    Instruction { program_id: from_address(&program_id), accounts, data }
}

/// Converts a transaction to Selkie's version.
#[must_use]
pub fn to_transaction(transaction: VersionedTransaction) -> selkie::VersionedTransaction {
    let VersionedTransaction { signatures, message } = transaction;
    let signatures = signatures.into_iter().map(|it| to_signature(&it)).collect();
    selkie::VersionedTransaction { signatures, message: to_message(message) }
}

/// Converts a message to Selkie's version.
#[must_use]
pub fn to_message(message: VersionedMessage) -> selkie::VersionedMessage {
    match message {
        VersionedMessage::Legacy(message) => selkie::VersionedMessage::Legacy(to_legacy(message)),
        VersionedMessage::V0(message) => selkie::VersionedMessage::V0(to_v0(message)),
        #[cfg(not(feature = "sdk-3"))]
        VersionedMessage::V1(message) => selkie::VersionedMessage::V1(to_v1(message)),
    }
}

fn to_legacy(message: Message) -> to::Message {
    let Message { header, account_keys, recent_blockhash, instructions } = message;
    to::Message {
        header: to_header(header),
        account_keys: to_addresses(account_keys),
        recent_blockhash: to_hash(&recent_blockhash),
        instructions: to_compiled(instructions),
    }
}

fn to_addresses(addresses: Vec<Address>) -> Vec<selkie::Pubkey> {
    addresses.into_iter().map(|it| to_address(&it)).collect()
}

fn to_v0(message: from::v0::Message) -> to::v0::Message {
    let to_lookup =
        |lookup: from::v0::MessageAddressTableLookup| to::v0::MessageAddressTableLookup {
            account_key: to_address(&lookup.account_key),
            writable_indexes: lookup.writable_indexes,
            readonly_indexes: lookup.readonly_indexes,
        };
    to::v0::Message {
        header: to_header(message.header),
        account_keys: to_addresses(message.account_keys),
        recent_blockhash: to_hash(&message.recent_blockhash),
        instructions: to_compiled(message.instructions),
        address_table_lookups: message.address_table_lookups.into_iter().map(to_lookup).collect(),
    }
}

#[cfg(not(feature = "sdk-3"))]
fn to_v1(message: from::v1::Message) -> to::v1::Message {
    let from::v1::TransactionConfig {
        priority_fee,
        compute_unit_limit,
        loaded_accounts_data_size_limit,
        heap_size,
    } = message.config;
    to::v1::Message {
        header: to_header(message.header),
        config: to::v1::TransactionConfig {
            priority_fee,
            compute_unit_limit,
            loaded_accounts_data_size_limit,
            heap_size,
        },
        lifetime_specifier: to_hash(&message.lifetime_specifier),
        account_keys: to_addresses(message.account_keys),
        instructions: to_compiled(message.instructions),
    }
}

fn to_header(header: MessageHeader) -> to::MessageHeader {
    let MessageHeader {
        num_required_signatures,
        num_readonly_signed_accounts,
        num_readonly_unsigned_accounts,
    } = header;
    to::MessageHeader {
        num_required_signatures,
        num_readonly_signed_accounts,
        num_readonly_unsigned_accounts,
    }
}

fn to_compiled(
    instructions: Vec<CompiledInstruction>,
) -> Vec<to::compiled_instruction::CompiledInstruction> {
    let convert = |instruction: CompiledInstruction| {
        let CompiledInstruction { program_id_index, accounts, data } = instruction;
        to::compiled_instruction::CompiledInstruction { program_id_index, accounts, data }
    };
    instructions.into_iter().map(convert).collect()
}

/// Copies the inner instructions of a receipt.
#[must_use]
pub fn from_inner_instructions(instructions: &[Vec<Inner>]) -> InnerInstructionsList {
    let convert = |inner: &Inner| InnerInstruction {
        instruction: CompiledInstruction {
            program_id_index: inner.program_index,
            accounts: inner.accounts.clone(),
            data: inner.data.clone(),
        },
        stack_height: inner.stack_height,
    };
    instructions.iter().map(|inner| inner.iter().map(convert).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_bytes() {
        let key = from_address(&selkie::address("key"));
        let transfer = Instruction::new_with_bytes(key, &[1, 2], vec![AccountMeta::new(key, true)]);
        let legacy = Message::new(core::slice::from_ref(&transfer), Some(&key));
        let v0 = from::v0::Message::try_compile(
            &key,
            core::slice::from_ref(&transfer),
            &[],
            legacy.recent_blockhash,
        );
        let messages =
            [VersionedMessage::Legacy(legacy), VersionedMessage::V0(v0.expect("it compiles"))];
        for message in messages {
            assert_eq!(to_message(message.clone()).serialize(), message.serialize());
        }
        let meta = selkie::AccountMeta::new(to_address(&key), true);
        assert_eq!(to_instruction(transfer).accounts, [meta]);
    }
}
