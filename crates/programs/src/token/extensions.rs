//! Extensions of Token-2022: which ones an account has because of its mint
//! (spl-token-2022: `get_required_init_account_extensions`).

use selkie_layout::token::{self, AccountType};

/// Extensions of mints.
const TRANSFER_FEE_CONFIG: u16 = 1;
const DEFAULT_ACCOUNT_STATE: u16 = 6;
const NON_TRANSFERABLE: u16 = 9;
const TRANSFER_HOOK: u16 = 14;
const PAUSABLE: u16 = 26;

/// An extension of token accounts: its type, and the size of its data, which begin as zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Extension(u16, u16);

const TRANSFER_FEE_AMOUNT: Extension = Extension(2, 8);
/// The owner of the account never changes.
const IMMUTABLE_OWNER: Extension = Extension(7, 0);
const NON_TRANSFERABLE_ACCOUNT: Extension = Extension(13, 0);
const TRANSFER_HOOK_ACCOUNT: Extension = Extension(15, 1);
const PAUSABLE_ACCOUNT: Extension = Extension(27, 0);

/// Returns the extensions of an account because its mint has one.
fn required_by(mint_extension: u16) -> &'static [Extension] {
    match mint_extension {
        TRANSFER_FEE_CONFIG => &[TRANSFER_FEE_AMOUNT],
        NON_TRANSFERABLE => &[NON_TRANSFERABLE_ACCOUNT, IMMUTABLE_OWNER],
        TRANSFER_HOOK => &[TRANSFER_HOOK_ACCOUNT],
        PAUSABLE => &[PAUSABLE_ACCOUNT],
        _ => &[],
    }
}

/// Iterates over the extensions of a mint: types and data.
fn of_mint(mint: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    token::extensions(mint).map_while(Result::ok)
}

/// Returns the state in which accounts of a mint begin, if the mint says so.
pub(super) fn default_state(mint: &[u8]) -> Option<u8> {
    let (_, data) = of_mint(mint).find(|(kind, _)| *kind == DEFAULT_ACCOUNT_STATE)?;
    data.first().copied()
}

/// Returns what follows the state of a new account of Token-2022: its type and extensions, or nothing.
/// The owner of associated accounts is immutable.
pub(super) fn of_new_account(mint: &[u8], is_associated: bool) -> Vec<u8> {
    let mut all = if is_associated { vec![IMMUTABLE_OWNER] } else { Vec::new() };
    for extension in of_mint(mint).flat_map(|(kind, _)| required_by(kind)) {
        if !all.contains(extension) {
            all.push(*extension);
        }
    }
    let mut bytes = if all.is_empty() { Vec::new() } else { vec![AccountType::Account as u8] };
    for Extension(kind, len) in all {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(len.to_le_bytes());
        bytes.resize(bytes.len().saturating_add(len.into()), 0);
    }
    bytes
}
