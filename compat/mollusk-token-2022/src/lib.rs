//! The API of Mollusk's Token-2022 helpers on Selkie: [`selkie_mollusk_token::token2022`] under the name
//! of a package of its own, as in Mollusk.
//!
//! ```toml
//! [dev-dependencies]
//! mollusk-svm = { package = "selkie-mollusk", path = "../selkie/compat/mollusk" }
//! mollusk-svm-programs-token-2022 = { package = "selkie-mollusk-token-2022", path = "../selkie/compat/mollusk-token-2022" }
//! ```

pub use selkie_mollusk_token::token2022::{
    ELF, ID, account, add_program, create_account_for_mint, create_account_for_token_account,
    keyed_account,
};
