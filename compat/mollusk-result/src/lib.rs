//! The results and checks of [`selkie_mollusk`], under the name of the package that Mollusk has for
//! them: `mollusk_svm_result::Check` is `mollusk_svm::result::Check`.

pub use selkie_mollusk::result::*;
