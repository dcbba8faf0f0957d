//! `Debug` of errors prints the same as `Display`, so that tests that unwrap show readable
//! messages.

use core::fmt;

use crate::{
    AccountError, AccountFileError, AirdropError, DeployError, ProgramError, SnapshotError,
    StateFileError, WarpError, compute_units::ComputeUnitsError,
};

macro_rules! shown {
    ($($error:ty),* $(,)?) => {
        $(impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        })*
    };
}

shown! {
    AccountError, AccountFileError, AirdropError, DeployError,
    ProgramError, SnapshotError, StateFileError, ComputeUnitsError, WarpError,
}
