//! The layout of program accounts under each loader.

use selkie_layout::loader::{PROGRAM_DATA_HEADER_BYTES, State};
use selkie_svm::{Loader, sysvars::minimum_balance};
use solana_account::{Account, AccountSharedData};
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::bpf_loader_upgradeable;

/// The deployment that program accounts show.
#[derive(Clone, Copy, Debug)]
pub struct Deployed<'a> {
    /// The loader that owns the program.
    pub loader: Loader,
    /// The deployment slot, which loaders v3 and v4 store.
    pub slot: u64,
    /// The upgrade authority, which only loader v3 uses; `None` makes the program immutable.
    pub authority: Option<&'a Pubkey>,
}

/// Creates the accounts of a program with the minimum balance: the program account, followed by the
/// programdata account if loader v3 owns the program.
#[must_use]
pub fn program_accounts(
    id: &Pubkey,
    elf: &[u8],
    deployed: &Deployed<'_>,
    rent: &Rent,
) -> Vec<(Pubkey, AccountSharedData)> {
    let data_key = (deployed.loader == Loader::V3).then(|| program_data_key(id));
    let program = program_account(id, data_key.as_ref(), elf, deployed, rent);
    let data = data_key.map(|key| (key, program_data_account(elf, deployed, rent)));
    core::iter::once((*id, program)).chain(data).collect()
}

/// Returns the programdata address of a program of loader v3.
#[must_use]
pub fn program_data_key(id: &Pubkey) -> Pubkey {
    Pubkey::find_program_address(&[id.as_ref()], &bpf_loader_upgradeable::ID).0
}

/// Creates a program account. `data_key` is the programdata address for loader v3.
pub(crate) fn program_account(
    id: &Pubkey,
    data_key: Option<&Pubkey>,
    elf: &[u8],
    deployed: &Deployed<'_>,
    rent: &Rent,
) -> AccountSharedData {
    const FINALIZED: u64 = 2;
    let data = match (deployed.loader, data_key) {
        (Loader::V3, Some(data_key)) => State::Program { program_data: *data_key }.write(),
        (Loader::V4, _) => {
            let (slot, state) = (deployed.slot.to_le_bytes(), FINALIZED.to_le_bytes());
            [&slot[..], id.as_ref(), &state, elf].concat()
        }
        _ => elf.to_vec(),
    };
    account(data, deployed.loader.address(), true, rent)
}

/// Creates a programdata account of loader v3.
pub(crate) fn program_data_account(
    elf: &[u8],
    deployed: &Deployed<'_>,
    rent: &Rent,
) -> AccountSharedData {
    let state = State::ProgramData { slot: deployed.slot, authority: deployed.authority.copied() };
    let mut data = Vec::with_capacity(PROGRAM_DATA_HEADER_BYTES.saturating_add(elf.len()));
    data.extend(state.write());
    // The file has its place also without an authority.
    data.resize(PROGRAM_DATA_HEADER_BYTES, 0);
    data.extend(elf);
    account(data, bpf_loader_upgradeable::ID, false, rent)
}

fn account(data: Vec<u8>, owner: Pubkey, executable: bool, rent: &Rent) -> AccountSharedData {
    let lamports = minimum_balance(rent, data.len()).max(1);
    Account { lamports, data, owner, executable, rent_epoch: u64::MAX }.into()
}
