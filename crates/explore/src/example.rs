//! Targets made of instructions that someone wrote down or recorded, instead of Rust code.

use selkie::{AccountMeta, Instruction, Pubkey, Svm};

use crate::{
    args::Args,
    call_sequence::{Call, CallSequence},
    target::Target,
};

/// An instruction that shows how a program is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// The name of the action.
    pub name: String,
    /// The instruction. A search replaces its data, and changes its accounts.
    pub instruction: Instruction,
}

impl Example {
    /// Makes examples of instructions, named by their numbers.
    #[must_use]
    pub fn numbered(instructions: Vec<Instruction>) -> Vec<Self> {
        let named =
            |(number, instruction)| Self { name: format!("instruction {number}"), instruction };
        instructions.into_iter().enumerate().map(named).collect()
    }

    /// The name of the action that changes accounts.
    fn name_with_accounts(&self) -> String {
        format!("{}, other accounts", self.name)
    }
}

impl Target {
    /// Creates a target on copies of a chain. Each example becomes an action that calls the program
    /// with other data, and one that also changes an account: it leaves out the signature or the
    /// right to write, or passes another account of the example or an empty one in its place.
    ///
    /// Also returns the examples as cases, to [begin with](crate::Options::seeds).
    #[must_use]
    pub fn of_examples(svm: &Svm, examples: &[Example]) -> (Self, Vec<CallSequence>) {
        let chain = svm.clone();
        let mut target = Self::new(move || chain.clone());
        let mut cases = Vec::new();
        for example in examples {
            let instruction = example.instruction.clone();
            target = target.action(&example.name, move |session| {
                let data = session.args.rest().to_vec();
                session.send(&[Instruction { data, ..instruction.clone() }]);
            });
            cases.push(example.instruction.data.clone());
            if example.instruction.accounts.is_empty() {
                continue;
            }
            let instruction = example.instruction.clone();
            target = target.action(&example.name_with_accounts(), move |session| {
                let accounts = changed(&instruction.accounts, &mut session.args);
                let data = session.args.rest().to_vec();
                let program_id = instruction.program_id;
                session.send(&[Instruction { program_id, accounts, data }]);
            });
            // The three bytes that choose the change.
            cases.push([&[0; 3], example.instruction.data.as_slice()].concat());
        }
        let calls = cases.into_iter().enumerate().map(|(action, data)| Call { action, data });
        (target, calls.map(|call| CallSequence { calls: vec![call] }).collect())
    }
}

/// Changes one of the accounts, as three bytes say.
fn changed(accounts: &[AccountMeta], args: &mut Args<'_>) -> Vec<AccountMeta> {
    let [which, how, other] = args.array();
    let pick = |number: u8| usize::from(number).checked_rem(accounts.len()).unwrap_or(0);
    let mut accounts = accounts.to_vec();
    let other = accounts.get(pick(other)).map(|meta| meta.pubkey);
    if let Some(meta) = accounts.get_mut(pick(which)) {
        match how % 4 {
            0 => meta.is_signer = false,
            1 => meta.is_writable = !meta.is_writable,
            2 => meta.pubkey = other.unwrap_or(meta.pubkey),
            _ => meta.pubkey = EMPTY,
        }
    }
    accounts
}

/// An address without an account.
const EMPTY: Pubkey = Pubkey::new_from_array(*b"selkie fuzz: an account is empty");
