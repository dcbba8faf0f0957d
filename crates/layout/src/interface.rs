//! Accounts that hold the description (IDL) of a program's interface: that of Program Metadata, and Anchor's
//! older one (solana-program/program-metadata: `program/src/state/header.rs`; Anchor 0.32:
//! `lang/src/idl.rs`).

use solana_pubkey::Pubkey;

use crate::declare::layout;

/// The address of Program Metadata.
pub const METADATA: Pubkey = Pubkey::from_str_const("ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S");

/// The seed of the metadata that is a description.
pub const METADATA_SEED: [u8; 16] = *b"idl\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// The seed of Anchor's account, from the program's address without seeds.
pub const ANCHOR_SEED: &str = "anchor:idl";

layout! {
    /// What is before the description in an account of Program Metadata.
    MetadataHeader, MetadataHeaderAt, METADATA_HEADER {
        /// The kind of the account: 2 for metadata.
        discriminator: u8 as Hidden,
        /// The program that is described.
        program: Pubkey,
        /// Who may change it, unless that is the program's own authority; zero for none.
        authority: Pubkey,
        /// Whether it can be changed.
        mutable: u8,
        /// Whether the program's authority has written it.
        canonical: u8,
        /// What it is.
        seed: [u8; 16],
        /// The text's encoding: 0 for none, 1 for UTF-8.
        encoding: u8,
        /// Its compression: 0 for none, 1 for gzip, 2 for zlib.
        compression: u8,
        /// Its format: 1 for JSON.
        format: u8,
        /// Where it is: 0 for behind the header.
        data_source: u8,
        /// Its length in bytes.
        data_length: u32,
        /// Unused.
        padding: [u8; 5] as Hidden,
    }
}

layout! {
    /// What is before the description in Anchor's account; zlib has compressed it.
    AnchorIdlHeader, AnchorIdlHeaderAt, ANCHOR_IDL_HEADER {
        /// The kind of the account.
        discriminator: [u8; 8] as Hidden,
        /// Who may change it.
        authority: Pubkey,
        /// Its length in bytes.
        data_length: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_the_places_of_the_programs() {
        let at = METADATA_HEADER;
        assert_eq!((at.authority.offset, at.seed.offset, at.encoding.offset), (33, 67, 83));
        assert_eq!((at.data_length.offset, at.bytes), (87, 96));
        assert_eq!((ANCHOR_IDL_HEADER.data_length.offset, ANCHOR_IDL_HEADER.bytes), (40, 44));
    }
}
