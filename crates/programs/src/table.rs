// One row for each program: its constant, its name, its address, its loader on mainnet, and the
// package that has its file. The library and the build script each define what `table` makes of it.
table! {
    /// The token program as mainnet runs it since 2026: p-token 1.0.0 (SIMD-0266).
    TOKEN = "token", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", V3, binaries;
    /// The token program that mainnet ran before, at the same address: SPL Token 3.5.0.
    SPL_TOKEN = "spl-token", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", V2, binaries_with_spl_token;
    /// Token-2022 10.0.0: tokens with extensions. This build of it, from agave's package, refuses
    /// deposits, transfers and withdrawals of confidential tokens; for those, add 11.0.0 in its place.
    TOKEN_2022 = "token-2022", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", V3, binaries;
    /// The associated token account program, 1.1.1.
    ASSOCIATED_TOKEN = "associated-token", "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", V2, binaries;
    /// The memo program that most clients call, 3.0.0.
    MEMO = "memo", "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", V2, binaries;
    /// The first memo program, 1.0.0.
    MEMO_V1 = "memo-v1", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo", V1, binaries;
    /// The newest memo program, 4.0.0, at an address of its own.
    MEMO_V4 = "memo-v4", "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH", V3, binaries;
    /// The address lookup table program, 3.0.0.
    ADDRESS_LOOKUP_TABLE = "address-lookup-table", "AddressLookupTab1e1111111111111111111111111", V3, binaries;
    /// The stake program, 5.1.0 (SIMD-0391).
    STAKE = "stake", "Stake11111111111111111111111111111111111111", V3, binaries;
    /// The config program, 3.0.0.
    CONFIG = "config", "Config1111111111111111111111111111111111111", V3, binaries;
    /// The feature gate program, 0.0.1.
    FEATURE_GATE = "feature-gate", "Feature111111111111111111111111111111111111", V3, binaries;
}
