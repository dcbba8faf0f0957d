//! Token accounts and mints, as far as indexes and balances need them.

pub(crate) use selkie_programs::token::{TokenAccount, decimals};
