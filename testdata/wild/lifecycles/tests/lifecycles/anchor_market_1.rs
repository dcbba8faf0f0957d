//! The market in Anchor 1, with mints of both token programs.

use wild_lifecycles::{TOKEN, TOKEN_2022};

use crate::market::trade;

#[test]
fn trades_tokens() {
    trade("anchor-market-1", &TOKEN);
}

#[test]
fn trades_tokens_of_token_2022() {
    trade("anchor-market-1", &TOKEN_2022);
}
