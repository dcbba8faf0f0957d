//! Accounts that the runtime keeps for Alpenglow (agave: `runtime/src/bank.rs`; SIMD-0326, SIMD-0363).

use crate::{
    account::At,
    declare::record,
    wire::{Reader, Wire as _},
};

/// Where the account *alpenclock* has the time at which the newest block ended, in nanoseconds since 1970.
pub const CLOCK_NANOSECONDS: At<i64> = At::new(0);

/// Where the account of the genesis certificate has the slot of the block.
pub const CERTIFICATE_SLOT: At<u64> = At::new(0);

record! {
    /// A genesis certificate: that validators have confirmed the last block before Alpenglow.
    #[derive(Eq)]
    GenesisCertificate {
        /// The slot of the block.
        slot: u64,
        /// The id of the block.
        block_id: [u8; 32] as Base58,
        /// The aggregated BLS signature.
        signature: [u8; 192],
        /// Who signed, as agave encodes it.
        signers: Vec<u8>,
    }
}

impl GenesisCertificate {
    /// Reads the certificate at the start of an account's data; `None` if they are too short.
    #[must_use]
    pub fn at_start_of(data: &[u8]) -> Option<Self> {
        Self::read(&mut Reader::new(data)).ok()
    }

    /// Returns the bytes of the certificate.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}
