//! All programs that have rows.

use solana_pubkey::Pubkey;

use crate::{
    account::Layout,
    associated_token::{self, AssociatedTokenInstruction},
    compute_budget::{self, ComputeBudgetInstruction},
    config,
    instruction::Instruction,
    kind::{Name, Ref},
    loader::{self, LoaderInstruction, LoaderV4Instruction, OldLoaderInstruction, ProgramV4},
    lookup_table::{self, LookupTable, LookupTableInstruction},
    memo,
    stake::{self, Delegated, Initialized, StakeInstruction},
    system::{self, NONCE_ACCOUNT, NonceAccount, SystemInstruction},
    token::{
        self, AccountType, Mint, TokenAccount,
        confidential::ConfidentialInstruction,
        extended::{ExtensionInstruction, InterfaceInstruction},
        instruction::TokenInstruction,
    },
    vote::{self, VoteInstruction},
    zk_elgamal::{self, ContextState, ProofInstruction},
};

/// A program with its rows.
#[derive(Clone, Copy, Debug)]
pub struct ProgramRows {
    /// Its address.
    pub id: Pubkey,
    /// Its name in `jsonParsed`; `None` for one whose instructions agave does not show.
    pub parsed_name: Option<&'static str>,
    /// Its instructions, in tables of those whose first bytes are as many.
    pub instructions: &'static [&'static [Instruction]],
}

/// The instructions of both token programs.
const TOKEN: &[&[Instruction]] = &[
    TokenInstruction::ROWS,
    ExtensionInstruction::ROWS,
    ConfidentialInstruction::ROWS,
    InterfaceInstruction::ROWS,
];

const fn program(
    id: Pubkey,
    parsed_name: Option<&'static str>,
    instructions: &'static [&'static [Instruction]],
) -> ProgramRows {
    ProgramRows { id, parsed_name, instructions }
}

/// Every program that has rows.
#[rustfmt::skip]
pub const PROGRAMS: &[ProgramRows] = &[
    program(system::ID, Some("system"), &[SystemInstruction::ROWS]),
    program(token::ID, Some("spl-token"), TOKEN),
    program(token::ID_2022, Some("spl-token"), TOKEN),
    program(associated_token::ID, Some("spl-associated-token-account"), &[AssociatedTokenInstruction::ROWS]),
    program(lookup_table::ID, Some("address-lookup-table"), &[LookupTableInstruction::ROWS]),
    program(loader::V2, Some("bpf-loader"), &[OldLoaderInstruction::ROWS]),
    program(loader::V3, Some("bpf-upgradeable-loader"), &[LoaderInstruction::ROWS]),
    program(stake::ID, Some("stake"), &[StakeInstruction::ROWS]),
    program(vote::ID, Some("vote"), &[VoteInstruction::ROWS]),
    program(compute_budget::ID, None, &[ComputeBudgetInstruction::ROWS]),
    program(loader::V4, None, &[LoaderV4Instruction::ROWS]),
    program(zk_elgamal::ID, None, &[ProofInstruction::ROWS]),
    program(config::ID, None, &[config::ROWS]),
    program(memo::V3, Some("spl-memo"), &[memo::ROWS]),
    program(memo::V1, Some("spl-memo"), &[memo::ROWS]),
    program(memo::V4, Some("spl-memo"), &[memo::ROWS]),
];

/// Returns the program at an address.
#[must_use]
pub fn find(id: &Pubkey) -> Option<&'static ProgramRows> {
    PROGRAMS.iter().find(|program| program.id == *id)
}

impl ProgramRows {
    /// Returns the row of the instruction that these data begin with.
    #[must_use]
    pub fn instruction(&self, data: &[u8]) -> Option<&'static Instruction> {
        let rows = self.instructions.iter().flat_map(|table| table.iter());
        rows.into_iter().find(|row| data.starts_with(&row.tag))
    }
}

static MINT: Layout = layout("mint", Mint::FIELDS);
static TOKEN_ACCOUNT: Layout = layout("token account", TokenAccount::FIELDS);
static NONCE: Layout = layout("nonce account", NonceAccount::FIELDS);
static LOOKUP_TABLE: Layout = layout("address lookup table", LookupTable::FIELDS);
static STAKE: Layout = layout("stake account", Delegated::FIELDS);
static UNDELEGATED: Layout = layout("stake account", Initialized::FIELDS);
static BUFFER: Layout = layout("buffer", loader::BUFFER_FIELDS);
static PROGRAM: Layout = layout("program", loader::PROGRAM_FIELDS);
static PROGRAM_DATA: Layout = layout("program data", loader::PROGRAM_DATA_FIELDS);
static PROGRAM_V4: Layout = layout("program", ProgramV4::FIELDS);
static CONTEXT_STATE: Layout = layout("context state", ContextState::FIELDS);
static CONFIG: Layout = layout("config", config::FIELDS);

const fn layout(name: &'static str, fields: &'static [crate::kind::Field]) -> Layout {
    Layout { tag: Ref::Static(&[]), name: Name::Borrowed(name), fields: Ref::Static(fields) }
}

/// Returns the layout of an initialized account by its owner and its data; `None` if there is no row.
#[must_use]
pub fn account(owner: &Pubkey, data: &[u8]) -> Option<&'static Layout> {
    match *owner {
        token::ID | token::ID_2022 => match AccountType::of(data)? {
            AccountType::Mint => Mint::of(data).map(|_| &MINT),
            AccountType::Account => TokenAccount::of(data).map(|_| &TOKEN_ACCOUNT),
        },
        system::ID => (NONCE_ACCOUNT.state.get(data)? == 1).then_some(&NONCE),
        lookup_table::ID => LookupTable::of(data).map(|_| &LOOKUP_TABLE),
        stake::ID => match stake::DELEGATED.state.get(data)? {
            stake::INITIALIZED_STATE => Some(&UNDELEGATED),
            stake::DELEGATED_STATE => Some(&STAKE),
            _ => None,
        },
        loader::V3 => match loader::State::of_data(data)? {
            loader::State::Uninitialized => None,
            loader::State::Buffer { .. } => Some(&BUFFER),
            loader::State::Program { .. } => Some(&PROGRAM),
            loader::State::ProgramData { .. } => Some(&PROGRAM_DATA),
        },
        loader::V4 => Some(&PROGRAM_V4),
        zk_elgamal::ID => {
            (zk_elgamal::CONTEXT_STATE.proof_type.get(data)? != 0).then_some(&CONTEXT_STATE)
        }
        config::ID => Some(&CONFIG),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_instruction_is_hidden_by_one_before_it() {
        for program in PROGRAMS {
            let rows: Vec<_> = program.instructions.iter().flat_map(|it| it.iter()).collect();
            for (index, row) in rows.iter().enumerate() {
                let is_first = rows.iter().position(|it| row.tag.starts_with(&it.tag));
                assert_eq!(is_first, Some(index), "{} {}", program.id, row.name);
            }
        }
    }

    #[test]
    fn every_row_can_be_read() {
        for row in PROGRAMS.iter().flat_map(|it| it.instructions).flat_map(|it| it.iter()) {
            // Zeros are a value of every kind; there is room for any of them.
            let data: Vec<u8> = row.tag.iter().copied().chain([0; 400]).collect();
            assert!(row.read(&data).is_ok(), "{}", row.name);
        }
    }
}
