//! The native part of the node package: a chain of `compat/litesvm`, in bytes and numbers. The classes
//! that users see are written in TypeScript (`lib/`), on top of this.
//!
//! Invariant: every function is `catch_unwind`, so that a panic is an exception and never ends node.

mod convert;
mod features;
mod outcome;
mod state;

use std::mem::take;

use napi::{
    Result,
    bindgen_prelude::{BigInt, Uint8Array},
};
use napi_derive::napi;
use selkie::{ReadableAccount as _, programs::token::native_mint};
use selkie_litesvm::{LiteSVM, types::ComputeBudget};
use solana_account::Account;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    convert::{address, error, number, u64_of},
    features::NativeFeatures,
    outcome::{NativeAccount, NativeOutcome},
};

/// A chain.
#[napi]
#[derive(Default)]
pub struct NativeChain {
    chain: LiteSVM,
    checks_blockhashes: bool,
}

#[napi]
impl NativeChain {
    /// Creates a chain as `LiteSVM::default` does, or as `LiteSVM::new` does if `is_complete`.
    #[napi(factory, catch_unwind)]
    pub fn create(is_complete: bool) -> Self {
        let chain = if is_complete { LiteSVM::new() } else { LiteSVM::default() };
        Self { chain, checks_blockhashes: is_complete }
    }

    /// Restores a chain from the output of [`NativeChain::to_bytes`].
    #[napi(factory, catch_unwind)]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (chain, checks_blockhashes) = state::decode(bytes)?;
        Ok(Self { chain, checks_blockhashes })
    }

    /// Encodes the state.
    #[napi(catch_unwind)]
    pub fn to_bytes(&self) -> Uint8Array {
        state::encode(&self.chain, self.checks_blockhashes).into()
    }

    fn change(&mut self, change: impl FnOnce(LiteSVM) -> LiteSVM) {
        self.chain = change(take(&mut self.chain));
    }

    /// Sets the limits of every transaction.
    #[napi(catch_unwind)]
    pub fn set_compute_budget(&mut self, units: BigInt, heap_bytes: u32) -> Result<()> {
        let compute_unit_limit = u64_of(&units, "computeUnitLimit")?;
        let budget = ComputeBudget { compute_unit_limit, heap_size: heap_bytes };
        self.change(|chain| chain.with_compute_budget(budget));
        Ok(())
    }

    /// Sets whether signatures are verified.
    #[napi(catch_unwind)]
    pub fn set_sigverify(&mut self, verifies: bool) {
        self.change(|chain| chain.with_sigverify(verifies));
    }

    /// Returns whether signatures are verified.
    #[napi(catch_unwind)]
    pub fn get_sigverify(&self) -> bool {
        self.chain.get_sigverify()
    }

    /// Sets whether a transaction's blockhash must be recent.
    #[napi(catch_unwind)]
    pub fn set_blockhash_check(&mut self, checks: bool) {
        self.checks_blockhashes = checks;
        self.change(|chain| chain.with_blockhash_check(checks));
    }

    /// Sets the sysvars to their defaults.
    #[napi(catch_unwind)]
    pub fn set_sysvars(&mut self) {
        self.change(LiteSVM::with_sysvars);
    }

    /// Sets which features are active.
    #[napi(catch_unwind)]
    pub fn set_feature_set(&mut self, features: &NativeFeatures) {
        self.change(|chain| chain.with_feature_set(features.set.clone()));
    }

    /// Sets the lamports of the account that pays for airdrops.
    #[napi(catch_unwind)]
    pub fn set_lamports(&mut self, lamports: BigInt) -> Result<()> {
        let lamports = u64_of(&lamports, "lamports")?;
        self.change(|chain| chain.with_lamports(lamports));
        Ok(())
    }

    /// Adds mainnet's programs.
    #[napi(catch_unwind)]
    pub fn set_default_programs(&mut self) {
        self.change(LiteSVM::with_default_programs);
    }

    /// Sets how many results are kept.
    #[napi(catch_unwind)]
    pub fn set_transaction_history(&mut self, capacity: BigInt) -> Result<()> {
        let capacity = number(&capacity, "capacity")?;
        self.change(|chain| chain.with_transaction_history(capacity));
        Ok(())
    }

    /// Sets after how many bytes a log is truncated.
    #[napi(catch_unwind)]
    pub fn set_log_bytes_limit(&mut self, limit: Option<BigInt>) -> Result<()> {
        let limit = limit.map(|it| number(&it, "limit")).transpose()?;
        self.change(|chain| chain.with_log_bytes_limit(limit));
        Ok(())
    }

    /// Returns the minimum balance of a rent-exempt account.
    #[napi(catch_unwind)]
    pub fn minimum_balance(&self, data_bytes: BigInt) -> Result<BigInt> {
        let data_bytes = number(&data_bytes, "dataLen")?;
        Ok(self.chain.minimum_balance_for_rent_exemption(data_bytes).into())
    }

    /// Returns an account.
    #[napi(catch_unwind)]
    pub fn get_account(&self, key: &[u8]) -> Result<Option<NativeAccount>> {
        let key = address(key)?;
        Ok(self.chain.get_account(&key).map(|account| NativeAccount::new(key, account)))
    }

    /// Returns the accounts that a program owns.
    #[napi(catch_unwind)]
    pub fn get_program_accounts(&self, program: &[u8]) -> Result<Vec<NativeAccount>> {
        let accounts = self.chain.get_program_accounts(&address(program)?).into_iter();
        Ok(accounts.map(|(key, account)| NativeAccount::new(key, account)).collect())
    }

    /// Sets an account.
    #[napi(catch_unwind)]
    pub fn set_account(
        &mut self,
        key: &[u8],
        lamports: BigInt,
        data: &[u8],
        owner: &[u8],
        executable: bool,
    ) -> Result<()> {
        let lamports = u64_of(&lamports, "lamports")?;
        let (owner, rent_epoch) = (address(owner)?, 0);
        let account = Account { lamports, data: data.to_vec(), owner, executable, rent_epoch };
        self.chain.set_account(address(key)?, account).map_err(error)
    }

    /// Sets a mint of wrapped SOL, which a token program owns.
    #[napi(catch_unwind)]
    pub fn set_native_mint(&mut self, mint: &[u8], program: &[u8]) -> Result<()> {
        let data = native_mint().data().to_vec();
        let lamports = self.chain.minimum_balance_for_rent_exemption(data.len());
        let owner = address(program)?;
        let account = Account { lamports, data, owner, executable: false, rent_epoch: 0 };
        self.chain.set_account(address(mint)?, account).map_err(error)
    }

    /// Returns a balance, or nothing if there is no such account.
    #[napi(catch_unwind)]
    pub fn get_balance(&self, key: &[u8]) -> Result<Option<BigInt>> {
        Ok(self.chain.get_balance(&address(key)?).map(BigInt::from))
    }

    /// Returns the blockhash to sign transactions with.
    #[napi(catch_unwind)]
    pub fn latest_blockhash(&self) -> String {
        self.chain.latest_blockhash().to_string()
    }

    /// Replaces the blockhash.
    #[napi(catch_unwind)]
    pub fn expire_blockhash(&mut self) {
        self.chain.expire_blockhash();
    }

    /// Returns the result of a recent transaction.
    #[napi(catch_unwind)]
    pub fn get_transaction(&self, signature: &[u8]) -> Result<Option<NativeOutcome>> {
        let signature = Signature::try_from(signature)
            .map_err(|_| error(format!("a signature has 64 bytes, not {}", signature.len())))?;
        Ok(self.chain.get_transaction(&signature).cloned().map(NativeOutcome::sent))
    }

    /// Transfers lamports from the account that pays for airdrops.
    #[napi(catch_unwind)]
    pub fn airdrop(&mut self, key: &[u8], lamports: BigInt) -> Result<NativeOutcome> {
        let lamports = u64_of(&lamports, "lamports")?;
        Ok(NativeOutcome::sent(self.chain.airdrop(&address(key)?, lamports)))
    }

    /// Adds a program from a file.
    #[napi(catch_unwind)]
    pub fn add_program_from_file(&mut self, id: &[u8], path: String) -> Result<()> {
        let added = self.chain.add_program_from_file(address(id)?, &path);
        added.map_err(|why| error(format!("cannot add the program {path}: {why}")))
    }

    /// Adds a program of loader v3, or of another loader.
    #[napi(catch_unwind)]
    pub fn add_program(&mut self, id: &[u8], elf: &[u8], loader: Option<&[u8]>) -> Result<()> {
        let id = address(id)?;
        match loader {
            None => self.chain.add_program(id, elf),
            Some(loader) => self.chain.add_program_with_loader(id, elf, address(loader)?),
        }
        .map_err(error)
    }

    /// Processes a transaction.
    #[napi(catch_unwind)]
    pub fn send(&mut self, transaction: &[u8]) -> Result<NativeOutcome> {
        Ok(NativeOutcome::sent(self.chain.send_transaction(decode(transaction)?)))
    }

    /// Processes a transaction without changing anything.
    #[napi(catch_unwind)]
    pub fn simulate(&self, transaction: &[u8]) -> Result<NativeOutcome> {
        Ok(NativeOutcome::simulated(self.chain.simulate_transaction(decode(transaction)?)))
    }

    /// Returns the data of a sysvar.
    #[napi(catch_unwind)]
    pub fn get_sysvar(&self, key: &[u8]) -> Result<Option<Uint8Array>> {
        let data = self.chain.svm().sysvar(&address(key)?);
        Ok(data.map(|data| data.to_vec().into()))
    }

    /// Sets the data of a sysvar.
    #[napi(catch_unwind)]
    pub fn set_sysvar(&mut self, key: &[u8], data: &[u8]) -> Result<()> {
        let key = address(key)?;
        let set = self.chain.svm_mut().set_sysvar(key, data);
        set.map_err(|why| error(format!("cannot set the sysvar {key}: {why}")))
    }

    /// Panics, for the test that a panic is an exception.
    #[napi(catch_unwind)]
    pub fn panic_for_test(&self) {
        panic!("a panic for a test");
    }
}

fn decode(transaction: &[u8]) -> Result<VersionedTransaction> {
    let decoded = wincode::deserialize_exact(transaction);
    decoded.map_err(|why| error(format!("not a serialized transaction: {why}")))
}
