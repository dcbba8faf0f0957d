// One row per program: constant, name (its ELF file is `files/NAME.so`), address, loader on mainnet, and
// the address of its programdata account if that is loader v3.
table! {
    /// The token program of mainnet since 2026: p-token 1.0.0 (SIMD-0266).
    TOKEN = "token", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", V3, "3gvYRKWyXRR9xKWe1ZjPhLY5ZJRN7KDB4rFZFGoJfFk2";
    /// The previous token program of mainnet, at the same address: SPL Token 3.5.0.
    SPL_TOKEN = "spl-token", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", V2, "";
    /// Token-2022 10.0.0: tokens with extensions. This build, from agave's package, rejects deposits,
    /// transfers and withdrawals of confidential tokens; for those, add version 11.0.0 in its place.
    TOKEN_2022 = "token-2022", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", V3, "DoU57AYuPFu2QU514RktNPG22QhApEjnKxnBcu4BHDTY";
    /// The associated token account program, 1.1.1.
    ASSOCIATED_TOKEN = "associated-token", "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", V2, "";
    /// The memo program that most clients call, 3.0.0.
    MEMO = "memo", "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", V2, "";
    /// The first memo program, 1.0.0.
    MEMO_V1 = "memo-v1", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo", V1, "";
    /// The newest memo program, 4.0.0, which has another address.
    MEMO_V4 = "memo-v4", "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH", V3, "HPD8Gxq19uaXy6zDaEGBtkb9NEZwd4jRTnXQ4GM8qe86";
    /// The address lookup table program, 3.0.0.
    ADDRESS_LOOKUP_TABLE = "address-lookup-table", "AddressLookupTab1e1111111111111111111111111", V3, "4zSpbk5jGQyMmUrqCSjFZbRKwsrMXBPsyTzjhJEAsefG";
    /// The stake program, 5.1.0 (SIMD-0391).
    STAKE = "stake", "Stake11111111111111111111111111111111111111", V3, "6WU8Nxarf9fudRK5atWwjLY4vFaw5UrrWhL88qz7iCMJ";
    /// The config program, 3.0.0.
    CONFIG = "config", "Config1111111111111111111111111111111111111", V3, "CHKQ74qcDUJbwc4snCEZXL8tV1WQvXqioArLGgUHPZq9";
    /// The feature gate program, 0.0.1.
    FEATURE_GATE = "feature-gate", "Feature111111111111111111111111111111111111", V3, "H253PPA38ecQvnpSvfWgqBfMuVgZ656CEXLgTHwZQHfs";
}
