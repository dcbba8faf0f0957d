//! The measured programs of mainnet, and the input of a token transfer.

use core::fmt;
use std::{fs, path::Path};

use selkie_svm::{Abi, Account, AccountMeta, Environment, Instruction, Pubkey, instruction_input};

/// A program, and the goals of its rows.
pub(crate) struct ProgramFile {
    pub(crate) name: &'static str,
    address: &'static str,
    /// The file in the folder of fixtures.
    file: &'static str,
    /// Compute units of a transfer; `None` if this is no token program.
    pub(crate) transfer_compute_units: Option<u64>,
    /// How many times as fast as with anza's JIT a transfer must be.
    pub(crate) transfer_goal: Option<f64>,
    /// How many times as fast loading with verifying must be.
    pub(crate) loading_goal: Option<f64>,
}

/// The programs: all are loaded, token programs also run.
pub(crate) const PROGRAMS: [ProgramFile; 4] = [
    ProgramFile {
        name: "spl_token 3.5.0",
        address: "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        file: "7b44674b9704.so",
        transfer_compute_units: Some(4645),
        transfer_goal: Some(6.0),
        loading_goal: None,
    },
    ProgramFile {
        name: "token-2022 11.0",
        address: "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
        file: "495e9d7680dd.so",
        transfer_compute_units: Some(1457),
        transfer_goal: Some(5.5),
        loading_goal: Some(3.0),
    },
    ProgramFile {
        name: "p-token",
        address: "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        file: "53e587eee80c.so",
        transfer_compute_units: Some(76),
        transfer_goal: Some(3.0),
        loading_goal: None,
    },
    ProgramFile {
        name: "stake 5.0.0",
        address: "Stake11111111111111111111111111111111111111",
        file: "c9cba7f3d9fe.so",
        transfer_compute_units: None,
        transfer_goal: None,
        loading_goal: None,
    },
];

impl ProgramFile {
    /// Reads the file from the folder of fixtures. Prints a warning and returns `None` if it is
    /// missing.
    pub(crate) fn read(&self, folder: &Path) -> Option<Vec<u8>> {
        let elf = fs::read(folder.join(self.file));
        if let Err(error) = &elf {
            eprintln!("without {}: {error} (`cargo xtask fixtures` fetches it)", self.name);
        }
        elf.ok()
    }

    /// The input of a transfer of 42 tokens from one account to another.
    pub(crate) fn transfer_input(&self) -> Vec<u8> {
        let program_id = Pubkey::from_str_const(self.address);
        let owner = Pubkey::new_from_array([7; 32]);
        let account = |data: Vec<u8>, owner| Account {
            lamports: 2_039_280,
            data,
            owner,
            executable: false,
            rent_epoch: u64::MAX,
        };
        let source = account(token_account(&owner, 1000), program_id);
        let destination = account(token_account(&owner, 0), program_id);
        let authority = account(Vec::new(), Pubkey::default());
        let keys = [1, 2].map(|byte| Pubkey::new_from_array([byte; 32]));
        let meta = |pubkey, is_signer, is_writable| AccountMeta { pubkey, is_signer, is_writable };
        let metas =
            vec![meta(keys[0], false, true), meta(keys[1], false, true), meta(owner, true, false)];
        let accounts = [(keys[0], source), (keys[1], destination), (owner, authority)];
        let mut data = vec![3];
        data.extend(42_u64.to_le_bytes());
        let instruction = Instruction { program_id, accounts: metas, data };
        let environment = Environment::default();
        let input = instruction_input(&instruction, &accounts, &environment, Abi::Aligned);
        input.expect("three accounts").bytes
    }
}

impl fmt::Debug for ProgramFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// An initialized account of SPL Token.
fn token_account(owner: &Pubkey, amount: u64) -> Vec<u8> {
    let mut data = vec![0; 165];
    data[..32].fill(5);
    data[32..64].copy_from_slice(owner.as_ref());
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[108] = 1;
    data
}
