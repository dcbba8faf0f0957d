//! Costs and limits of the protocol.

pub use selkie_protocol::cost::*;
