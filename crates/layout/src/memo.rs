//! The memo programs, whose data are text.

use solana_pubkey::Pubkey;

use crate::{
    declare::field,
    instruction::Instruction,
    kind::{Name, Ref},
    role::{Role, s},
    wire::Rest,
};

/// The first version.
pub const V1: Pubkey = Pubkey::from_str_const("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
/// The version that most clients call.
pub const V3: Pubkey = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/// The newest version.
pub const V4: Pubkey = Pubkey::from_str_const("Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH");

/// All versions.
pub const ALL: [Pubkey; 3] = [V3, V1, V4];

/// The signers, all of which are logged.
const ROLES: &[Role] = &[s("signers").rest()];

/// The one instruction, without a number before its text.
pub const ROWS: &[Instruction] = &[Instruction {
    tag: Ref::Static(&[]),
    name: Name::Borrowed("Memo"),
    roles: Ref::Static(ROLES),
    accounts_min: 0,
    fields: Ref::Static(&[field!(memo: Rest<'static>)]),
}];
