//! The accounts and transactions of a row, which are the same on both sides.

use selkie::{
    Hash, Instruction, Keypair, Message, Pubkey, Signer, VersionedMessage, VersionedTransaction,
    address, ids, keypair,
    programs::{self, WellKnownProgram},
    system, token,
};
use selkie_bench_seam::{Account, Failure, Start, Test, World};

/// The accounts and the instruction of a row's transactions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scene {
    /// Calls a program that returns at once.
    NoOp,
    /// Transfers lamports.
    System,
    /// Transfers tokens of this program.
    Token(&'static WellKnownProgram),
    /// Creates an associated token account.
    Associated,
}

/// What the world contains besides the scene.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Besides {
    Nothing,
    Programs(u32),
    Accounts(u32),
}

/// The address of a program that returns at once.
pub(crate) const NO_OP: Pubkey = Pubkey::new_from_array([7; 32]);

/// A balance larger than all payments together.
const LAMPORTS: u64 = 1 << 60;
const TOKENS: u64 = 1 << 40;

/// Assembles a program that returns at once.
pub(crate) fn no_op() -> Vec<u8> {
    let source = ".globl entrypoint\nentrypoint:\nmov64 r0, 0\nexit\n";
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    output.assembly.expect("the source is valid").to_elf()
}

pub(crate) fn payer() -> Keypair {
    keypair("payer")
}

/// An account of the system program that can pay for every transaction.
pub(crate) fn wallet() -> Account {
    Account { lamports: LAMPORTS, data: Vec::new(), owner: ids::system_program::ID.to_bytes() }
}

/// A rent-exempt account of a token program.
pub(crate) fn held(program: &WellKnownProgram, data: Vec<u8>) -> Account {
    Account { lamports: 10_000_000, data, owner: program.id.to_bytes() }
}

impl Scene {
    /// The initial contents of every world.
    pub(crate) const START: Start = Start::Default;

    fn token_program(self) -> Option<&'static WellKnownProgram> {
        match self {
            Self::NoOp | Self::System => None,
            Self::Token(program) => Some(program),
            Self::Associated => Some(&programs::TOKEN),
        }
    }

    /// Adds the accounts and programs that the transactions use.
    pub(crate) fn set_up(self, world: &mut dyn World) -> Result<(), Failure> {
        let payer = payer().pubkey();
        world.set_account(payer.to_bytes(), wallet())?;
        world.set_account(address("bob").to_bytes(), wallet())?;
        world.add_program(
            NO_OP.to_bytes(),
            &no_op(),
            ids::bpf_loader_upgradeable::ID.to_bytes(),
        )?;
        let Some(program) = self.token_program() else { return Ok(()) };
        // LiteSVM may have another version at the address.
        let loader = program.loader.address().to_bytes();
        world.add_program(program.id.to_bytes(), program.elf(), loader)?;
        let mint = address("mint");
        let accounts = [
            ("mint", token::mint_data(&payer, TOKENS, 6)),
            ("from", token::account_data(&mint, &payer, TOKENS)),
            ("to", token::account_data(&mint, &payer, 0)),
        ];
        accounts.into_iter().try_for_each(|(name, data)| {
            world.set_account(address(name).to_bytes(), held(program, data))
        })
    }

    /// The instruction of the transaction with this index; no two are the same.
    fn instruction(self, index: u64) -> Instruction {
        let payer = payer().pubkey();
        match self {
            Self::NoOp => Instruction {
                program_id: NO_OP,
                accounts: Vec::new(),
                data: index.to_le_bytes().to_vec(),
            },
            Self::System => system::transfer(&payer, &address("bob"), 1 + index),
            Self::Token(program) => {
                token::transfer(&program.id, &address("from"), &address("to"), &payer, 1 + index)
            }
            Self::Associated => {
                let owner = address(&index.to_string());
                token::create_associated(&programs::TOKEN.id, &payer, &owner, &address("mint"))
            }
        }
    }

    /// Signed and serialized transactions.
    pub(crate) fn transactions(self, blockhash: [u8; 32], count: usize) -> Vec<Vec<u8>> {
        let (payer, blockhash) = (payer(), Hash::new_from_array(blockhash));
        (0..count as u64).map(|it| wire(&self.instruction(it), &payer, blockhash)).collect()
    }

    /// The same for transactions that each side makes itself.
    pub(crate) fn test(self, count: usize) -> Test {
        let instructions = (0..count as u64).map(|index| {
            let Instruction { program_id, accounts, data } = self.instruction(index);
            let accounts =
                accounts.iter().map(|it| (it.pubkey.to_bytes(), it.is_signer, it.is_writable));
            selkie_bench_seam::Instruction {
                program: program_id.to_bytes(),
                accounts: accounts.collect(),
                data,
            }
        });
        Test {
            payer: *payer().secret_bytes(),
            instructions: instructions.collect(),
            read: address("bob").to_bytes(),
        }
    }

    /// The accounts that must be the same on both sides in the end.
    pub(crate) fn changed(self) -> Vec<Pubkey> {
        let payer = payer().pubkey();
        match self {
            Self::NoOp => vec![payer],
            Self::System => vec![payer, address("bob")],
            Self::Token(_) => vec![payer, address("from"), address("to")],
            Self::Associated => {
                let associated = |owner: &str| {
                    let (program, mint) = (&programs::TOKEN.id, &address("mint"));
                    token::associated_address(program, &address(owner), mint)
                };
                vec![payer, associated("0"), associated("1")]
            }
        }
    }
}

impl Besides {
    pub(crate) fn set_up(self, world: &mut dyn World) -> Result<(), Failure> {
        match self {
            Self::Nothing => Ok(()),
            Self::Programs(count) => {
                let elf = no_op();
                (0..count).try_for_each(|index| {
                    let id = address(&format!("program {index}")).to_bytes();
                    let loader = ids::bpf_loader_upgradeable::ID.to_bytes();
                    world.add_program(id, &elf, loader).map(drop)
                })
            }
            Self::Accounts(count) => (0..count).try_for_each(|index| {
                world.set_account(address(&format!("account {index}")).to_bytes(), wallet())
            }),
        }
    }
}

/// A signed and serialized transaction of one instruction.
pub(crate) fn wire(instruction: &Instruction, payer: &Keypair, blockhash: Hash) -> Vec<u8> {
    let signed = signed(instruction, payer, blockhash);
    wincode::serialize(&signed).expect("a transaction serializes")
}

/// A signed transaction of one instruction.
pub(crate) fn signed(
    instruction: &Instruction,
    payer: &Keypair,
    blockhash: Hash,
) -> VersionedTransaction {
    let instructions = core::slice::from_ref(instruction);
    let message = Message::new_with_blockhash(instructions, Some(&payer.pubkey()), &blockhash);
    VersionedTransaction::try_new(VersionedMessage::Legacy(message), &[payer])
        .expect("the payer is the only signer")
}
