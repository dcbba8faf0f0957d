//! Instructions of Token-2022 for confidential transfers, their fees, and confidential mints.

use solana_pubkey::Pubkey;

use crate::{declare::instructions, wire::OrZero};

instructions! {
    /// An instruction of Token-2022 about confidential amounts.
    for<'a> ConfidentialInstruction, [u8; 2] {
        [27, 0] => InitializeConfidentialTransferMint [w("mint")] {
            authority: OrZero<Pubkey>,
            auto_approve_new_accounts: bool,
            auditor_el_gamal_pubkey: OrZero<[u8; 32]> as Null,
        }
        [27, 1] => UpdateConfidentialTransferMint [
            w("mint"),
            s("confidential_transfer_mint_authority"),
        ] { auto_approve_new_accounts: bool, auditor_el_gamal_pubkey: OrZero<[u8; 32]> as Null }
        [27, 2] => ConfigureConfidentialTransferAccount [
            w("account"),
            r("mint"),
            proof("record_account"),
            auth("owner"),
        ] at least 4 {
            decryptable_zero_balance: [u8; 36],
            maximum_pending_balance_credit_counter: u64,
            proof_instruction_offset: i8,
        }
        [27, 3] => ApproveConfidentialTransferAccount [
            w("account"),
            r("mint"),
            s("confidential_transfer_auditor_authority"),
        ] {}
        [27, 4] => EmptyConfidentialTransferAccount [
            w("account"),
            proof("record_account"),
            auth("owner"),
        ] at least 3 { proof_instruction_offset: i8 }
        [27, 5] => DepositConfidentialTransfer [w("account"), r("mint"), auth("owner")] {
            amount: u64, decimals: u8
        }
        [27, 6] => WithdrawConfidentialTransfer [
            w("account"),
            r("mint"),
            proofs(&["equality_proof", "range_proof"]),
            auth("owner"),
        ] at least 4 {
            amount: u64,
            decimals: u8,
            new_decryptable_available_balance: [u8; 36],
            equality_proof_instruction_offset: i8,
            range_proof_instruction_offset: i8,
        }
        [27, 7] => ConfidentialTransfer [
            w("source"),
            r("mint"),
            w("destination"),
            proofs(&["equality_proof", "ciphertext_validity_proof", "range_proof"]),
            auth("owner"),
        ] at least 4 {
            new_source_decryptable_available_balance: [u8; 36],
            ciphertexts: [u8; 128] as Hidden,
            equality_proof_instruction_offset: i8,
            ciphertext_validity_proof_instruction_offset: i8,
            range_proof_instruction_offset: i8,
        }
        [27, 8] => ApplyPendingConfidentialTransferBalance [w("account"), auth("owner")] {
            expected_pending_balance_credit_counter: u64,
            new_decryptable_available_balance: [u8; 36],
        }
        [27, 9] => EnableConfidentialTransferConfidentialCredits [w("account"), auth("owner")] {}
        [27, 10] => DisableConfidentialTransferConfidentialCredits [w("account"), auth("owner")] {}
        [27, 11] => EnableConfidentialTransferNonConfidentialCredits [w("account"), auth("owner")] {

        }
        [27, 12] => DisableConfidentialTransferNonConfidentialCredits [
            w("account"),
            auth("owner"),
        ] {}
        [27, 13] => ConfidentialTransferWithFee [
            w("source"),
            r("mint"),
            w("destination"),
            proofs(&["equality_proof", "transfer_amount_ciphertext_validity_proof", "fee_ciphertext_validity_proof", "fee_sigma_proof", "range_proof"]),
            auth("owner"),
        ] at least 4 {
            new_source_decryptable_available_balance: [u8; 36],
            ciphertexts: [u8; 128] as Hidden,
            equality_proof_instruction_offset: i8,
            transfer_amount_ciphertext_validity_proof_instruction_offset: i8,
            fee_sigma_proof_instruction_offset: i8,
            fee_ciphertext_validity_proof_instruction_offset: i8,
            range_proof_instruction_offset: i8,
        }
        [27, 14] => ConfigureConfidentialAccountWithRegistry [
            w("account"),
            r("mint"),
            r("registry"),
        ] {}
        [37, 0] => InitializeConfidentialTransferFeeConfig [w("mint")] {
            authority: OrZero<Pubkey>, withdraw_withheld_authority_el_gamal_pubkey: [u8; 32]
        }
        [37, 1] => WithdrawWithheldConfidentialTransferTokensFromMint [
            w("mint"),
            w("fee_recipient"),
            proof("record_account"),
            auth("withdraw_withheld_authority"),
        ] at least 4 { proof_instruction_offset: i8, new_decryptable_available_balance: [u8; 36] }
        [37, 2] => WithdrawWithheldConfidentialTransferTokensFromAccounts [
            w("mint"),
            w("fee_recipient"),
            proof("proof_account"),
            auth("withdraw_withheld_authority"),
            w("source_accounts").last(),
        ] {
            accounts: u8 as Count,
            proof_instruction_offset: i8,
            new_decryptable_available_balance: [u8; 36],
        }
        [37, 3] => HarvestWithheldConfidentialTransferTokensToMint [
            w("mint"),
            w("source_accounts").rest(),
        ] {}
        [37, 4] => EnableConfidentialTransferFeeHarvestToMint [w("account"), auth("owner")] {}
        [37, 5] => DisableConfidentialTransferFeeHarvestToMint [w("account"), auth("owner")] {}
        [42, 0] => InitializeConfidentialMintBurnMint [w("mint")] {
            supply_el_gamal_pubkey: [u8; 32], decryptable_supply: [u8; 36]
        }
        [42, 1] => RotateConfidentialMintBurnSupplyElGamalPubkey [
            w("mint"),
            context("proof_account"),
            auth("owner"),
        ] { new_supply_el_gamal_pubkey: [u8; 32], proof_instruction_offset: i8 }
        [42, 2] => UpdateConfidentialMintBurnDecryptableSupply [w("mint"), auth("owner")] {
            new_decryptable_supply: [u8; 36]
        }
        [42, 3] => ConfidentialMint [
            w("destination"),
            w("mint"),
            proofs(&["equality_proof", "ciphertext_validity_proof", "range_proof"]),
            auth("owner"),
        ] at least 3 {
            new_decryptable_supply: [u8; 36],
            ciphertexts: [u8; 128] as Hidden,
            equality_proof_instruction_offset: i8,
            ciphertext_validity_proof_instruction_offset: i8,
            range_proof_instruction_offset: i8,
        }
        [42, 4] => ConfidentialBurn [
            w("destination"),
            w("mint"),
            proofs(&["equality_proof", "ciphertext_validity_proof", "range_proof"]),
            auth("owner"),
        ] at least 3 {
            new_decryptable_available_balance: [u8; 36],
            ciphertexts: [u8; 128] as Hidden,
            equality_proof_instruction_offset: i8,
            ciphertext_validity_proof_instruction_offset: i8,
            range_proof_instruction_offset: i8,
        }
        [42, 5] => ApplyPendingBurn [w("mint"), auth("owner")] {}
    }
}
