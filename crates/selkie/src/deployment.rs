//! Programs deployed, upgraded and closed by transactions, as on a real cluster.

use core::fmt;
use std::sync::Arc;

use selkie_svm::{
    Feature, LoadError, Purpose, check_file,
    cost::{ACCOUNT_BYTES_MAX, LAMPORTS_PER_SIGNATURE},
};
use solana_account::ReadableAccount;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    deploy::{ProgramError, ProgramFile},
    loader::{
        self, BUFFER_HEADER_BYTES, EXTENSION_BYTES_MIN, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES,
        State,
    },
    program_data_key,
    receipt::{FailedTransaction, Receipt},
    sign::keypair,
    signer::{AnySigner, AsSigner},
    svm::Svm,
};

/// The packet limit of a transaction, in bytes.
const TRANSACTION_BYTES_MAX: usize = 1232;

/// Options of [`Svm::deploy_with`].
#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// Capacity for the ELF file, in bytes: upgrades up to this size need no extension. Defaults to
    /// the size of the first file.
    pub file_bytes_max: Option<usize>,
    /// Whether to make the program immutable.
    pub is_final: bool,
    /// Whether to advance to the next slot, from which on the program can be invoked.
    pub waits: bool,
}

impl Default for DeployOptions {
    fn default() -> Self {
        Self { file_bytes_max: None, is_final: false, waits: true }
    }
}

/// Options of [`Svm::upgrade_with`].
#[derive(Clone, Debug)]
pub struct UpgradeOptions {
    /// Whether to extend a program that is too small for the new file, at the payer's expense. This
    /// takes a slot: a program cannot be extended and upgraded in the same one.
    pub extends: bool,
    /// Whether to advance to the next slot, from which on the program can be invoked.
    pub waits: bool,
}

impl Default for UpgradeOptions {
    fn default() -> Self {
        Self { extends: true, waits: true }
    }
}

/// The result of a successful deployment or upgrade.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The program account.
    pub program: Pubkey,
    /// The programdata account, which holds the ELF file.
    pub program_data: Pubkey,
    /// The upgrade authority; `None` if the program is immutable.
    pub authority: Option<Pubkey>,
    /// Size of the ELF file, in bytes.
    pub file_bytes: usize,
    /// Capacity of the programdata account for ELF files, in bytes.
    pub file_bytes_max: usize,
    /// Whether it replaced an earlier version of the program.
    pub is_upgrade: bool,
    /// Bytes by which the programdata account was extended to fit the file.
    pub extended_bytes: usize,
    /// The slot of the deployment. The program can be invoked from the next slot on.
    pub slot: u64,
    /// Rent-exempt balances of the program and programdata accounts, in lamports.
    pub rent: u64,
    /// Transaction fees, in lamports.
    pub fees: u64,
    /// Decrease of the payer's balance, in lamports: for a new program, rent plus fees.
    pub cost: u64,
    /// The receipts of all transactions, in order.
    pub transactions: Vec<Arc<Receipt>>,
}

impl fmt::Display for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, program_data, file_bytes, file_bytes_max, .. } = self;
        let sol =
            |lamports: u64| format!("{}.{:09}", lamports / 1_000_000_000, lamports % 1_000_000_000);
        writeln!(f, "program       {program}")?;
        writeln!(f, "program data  {program_data}")?;
        match &self.authority {
            Some(authority) => writeln!(f, "authority     {authority}")?,
            None => writeln!(f, "authority     none (immutable)")?,
        }
        write!(f, "size          {file_bytes} bytes of at most {file_bytes_max}")?;
        match self.extended_bytes {
            0 => writeln!(f)?,
            bytes => writeln!(f, ", extended by {bytes}")?,
        }
        writeln!(f, "slot          {}, callable from {}", self.slot, self.slot.saturating_add(1))?;
        writeln!(f, "rent          {} SOL", sol(self.rent))?;
        let count = self.transactions.len();
        writeln!(f, "fees          {} SOL for {count} transactions", sol(self.fees))?;
        write!(f, "cost          {} SOL", sol(self.cost))
    }
}

/// A program that could not be deployed, upgraded or extended.
#[non_exhaustive]
pub enum DeployError {
    /// The file cannot be read, or the loader would not deploy it. Nothing was sent.
    Program(ProgramError),
    /// There is no program of loader v3 at this address. Nothing was sent.
    NoProgram(Pubkey),
    /// The signer is not the upgrade authority. Nothing was sent.
    NotAuthority {
        /// The program account.
        program: Pubkey,
        /// The upgrade authority; `None` if the program is immutable.
        authority: Option<Pubkey>,
    },
    /// The file exceeds the capacity of the programdata account. Nothing was sent.
    TooLong {
        /// Size of the ELF file, in bytes.
        file_bytes: usize,
        /// Capacity for ELF files, in bytes.
        file_bytes_max: usize,
        /// Bytes by which the program can be extended to fit the file; `None` if the program is
        /// new, or would exceed the size limit of accounts.
        extension_bytes: Option<u32>,
    },
    /// The loader would reject an extension by this number of bytes. Nothing was sent.
    Extension {
        /// The requested number of bytes.
        bytes: u32,
        /// The nearest accepted number of bytes: the next larger one, or else the largest; `None`
        /// if the programdata account has the maximum size.
        accepted: Option<u32>,
    },
    /// The payer's balance is too low. Nothing was sent.
    TooExpensive {
        /// The payer.
        payer: Pubkey,
        /// The payer's balance, in lamports.
        balance: u64,
        /// The lamports needed.
        cost: u64,
    },
    /// A transaction failed; earlier ones took effect.
    Failed(Box<FailedTransaction>),
}

impl fmt::Display for DeployError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(error) => error.fmt(f),
            Self::NoProgram(id) => write!(f, "there is no program of loader v3 at {id}"),
            Self::NotAuthority { program, authority: Some(authority) } => {
                write!(f, "the upgrade authority of {program} is {authority}")
            }
            Self::NotAuthority { program, authority: None } => {
                write!(f, "{program} is immutable: it has no upgrade authority")
            }
            Self::TooLong { file_bytes, file_bytes_max, extension_bytes } => {
                write!(
                    f,
                    "the file has {file_bytes} bytes, more than the program's {file_bytes_max}"
                )?;
                match extension_bytes {
                    Some(bytes) => write!(f, ": extend the program by {bytes} bytes first"),
                    None => Ok(()),
                }
            }
            Self::Extension { bytes, accepted: Some(accepted) } => {
                write!(
                    f,
                    "the loader would not extend the program by {bytes} bytes: use {accepted}"
                )
            }
            Self::Extension { accepted: None, .. } => {
                write!(f, "the programdata account already has the maximum size")
            }
            Self::TooExpensive { payer, balance, cost } => {
                write!(f, "{payer} needs {cost} lamports, but has {balance}")
            }
            Self::Failed(failed) => failed.fmt(f),
        }
    }
}

impl core::error::Error for DeployError {}

impl From<ProgramError> for DeployError {
    fn from(error: ProgramError) -> Self {
        Self::Program(error)
    }
}

impl From<FailedTransaction> for DeployError {
    fn from(failed: FailedTransaction) -> Self {
        Self::Failed(Box::new(failed))
    }
}

/// Sends the transactions of a deployment and keeps their receipts.
struct Sender<'s> {
    svm: &'s mut Svm,
    payer: AnySigner<'s>,
    balance: u64,
    sent: Vec<Arc<Receipt>>,
}

impl<'s> Sender<'s> {
    fn new(svm: &'s mut Svm, payer: AnySigner<'s>) -> Self {
        let balance = svm.balance(&payer.pubkey());
        Self { svm, payer, balance, sent: Vec::new() }
    }

    /// Sends instructions signed by the payer and `signers`.
    fn send(
        &mut self,
        instructions: &[Instruction],
        signers: &[AnySigner<'_>],
    ) -> Result<(), FailedTransaction> {
        let mut all = vec![self.payer];
        for signer in signers {
            if all.iter().all(|known| known.pubkey() != signer.pubkey()) {
                all.push(*signer);
            }
        }
        self.sent.push(self.svm.send_signed_by(instructions, &all)?);
        Ok(())
    }

    /// Extends a program and advances to the slot in which it can be upgraded.
    fn extend(&mut self, program: &Pubkey, bytes: u32) -> Result<(), FailedTransaction> {
        self.send(&[loader::extend(program, &self.payer.pubkey(), bytes)], &[])?;
        self.svm.warp_by_slots(1);
        Ok(())
    }

    /// Creates a buffer account and writes the ELF file into it.
    fn fill_buffer(
        &mut self,
        elf: &[u8],
        authority: AnySigner<'_>,
    ) -> Result<Keypair, FailedTransaction> {
        let buffer = self.unused_buffer(&authority.pubkey());
        let (payer, to, owner) = (self.payer.pubkey(), buffer.pubkey(), authority.pubkey());
        let bytes = BUFFER_HEADER_BYTES.saturating_add(elf.len());
        let lamports = self.svm.minimum_balance_for_rent_exemption(bytes);
        let create = loader::create_buffer(&payer, &to, &owner, lamports, elf.len());
        self.send(&create, &[buffer.as_signer()])?;
        let chunk = chunk_bytes(&payer, &to, &owner);
        for (offset, bytes) in (0_u32..).step_by(chunk).zip(elf.chunks(chunk)) {
            self.send(&[loader::write(&to, &owner, offset, bytes)], &[authority])?;
        }
        Ok(buffer)
    }

    /// Returns the keypair of a buffer address without account. It is derived from the authority:
    /// the buffer lives for a few transactions, so its key need not be secret.
    fn unused_buffer(&self, authority: &Pubkey) -> Keypair {
        let mut buffers = (0_u32..).map(|number| keypair(&format!("buffer {authority} {number}")));
        let is_unused = |buffer: &Keypair| self.svm.shared_account(&buffer.pubkey()).is_none();
        buffers.find(is_unused).expect("fewer than 2^32 buffers exist")
    }

    fn finish(
        self,
        program: Pubkey,
        authority: Option<Pubkey>,
        file_bytes: usize,
        waits: bool,
    ) -> Deployment {
        let program_data = program_data_key(&program);
        let slot = self.svm.slot();
        let data = self.svm.shared_account(&program_data).unwrap_or_default();
        if waits {
            self.svm.warp_by_slots(1);
        }
        Deployment {
            program,
            program_data,
            authority,
            file_bytes,
            file_bytes_max: data.data().len().saturating_sub(PROGRAM_DATA_HEADER_BYTES),
            is_upgrade: false,
            extended_bytes: 0,
            slot,
            rent: data.lamports().saturating_add(self.svm.balance(&program)),
            fees: self.sent.iter().map(|receipt| receipt.fee.total()).sum(),
            cost: self.balance.saturating_sub(self.svm.balance(&self.payer.pubkey())),
            transactions: self.sent,
        }
    }
}

impl Svm {
    /// Checks whether `elf` could be deployed: by the loader's rules, which are stricter than those
    /// for executing programs, and by those of deployment tools, which reject unresolved symbols
    /// (see [`check_file`](crate::runtime::check_file)).
    ///
    /// # Errors
    /// The first rule that the file violates.
    pub fn check_deployable(&self, elf: &[u8]) -> Result<(), LoadError> {
        let checked = check_file(elf, self.features(), Purpose::Deployment);
        checked.map(drop).map_err(|refused| refused.error)
    }

    /// Deploys a program by transactions: creates a buffer, writes the ELF file into it and deploys
    /// from it. `authority` pays and becomes the upgrade authority. Advances to the next slot, from
    /// which on the program can be invoked.
    ///
    /// The file is checked before anything is sent.
    ///
    /// ```
    /// # use selkie::{keypair, Signer, Svm};
    /// # let source = "entrypoint:\n mov64 r0, 0\n exit";
    /// # let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    /// # let elf = output.assembly.unwrap().to_elf();
    /// let (program, authority) = (keypair("program"), keypair("authority"));
    /// let mut svm = Svm::new();
    /// svm.airdrop(&authority.pubkey(), 10_000_000_000)?;
    /// let deployment = svm.deploy(&program, &elf, &authority)?;
    /// println!("{deployment}");
    /// assert!(svm.has_program(&program.pubkey()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file may not be deployed, if the balance is too low, or if a transaction fails.
    pub fn deploy(
        &mut self,
        program: &(impl AsSigner + ?Sized),
        file: impl ProgramFile,
        authority: &(impl AsSigner + ?Sized),
    ) -> Result<Deployment, DeployError> {
        self.deploy_with(program, file, authority, authority, &DeployOptions::default())
    }

    /// Deploys like [`Svm::deploy`], with a separate payer and with options.
    ///
    /// # Errors
    /// As [`Svm::deploy`].
    pub fn deploy_with(
        &mut self,
        program: &(impl AsSigner + ?Sized),
        file: impl ProgramFile,
        authority: &(impl AsSigner + ?Sized),
        payer: &(impl AsSigner + ?Sized),
        options: &DeployOptions,
    ) -> Result<Deployment, DeployError> {
        let [program, authority, payer] =
            [program.as_signer(), authority.as_signer(), payer.as_signer()];
        let elf = self.read_deployable(file)?;
        let capacity = options.file_bytes_max.unwrap_or(elf.len());
        if elf.len() > capacity {
            return Err(DeployError::TooLong {
                file_bytes: elf.len(),
                file_bytes_max: capacity,
                extension_bytes: None,
            });
        }
        let rent_of = |header: usize, file: usize| {
            self.minimum_balance_for_rent_exemption(header.saturating_add(file))
        };
        let program_lamports = rent_of(PROGRAM_BYTES, 0);
        // The buffer's lamports are refunded before the programdata account is funded.
        let rent = rent_of(PROGRAM_DATA_HEADER_BYTES, capacity)
            .max(rent_of(BUFFER_HEADER_BYTES, capacity));
        let lamports = rent.saturating_add(program_lamports);
        self.check_balance(&payer.pubkey(), &authority.pubkey(), lamports, elf.len())?;
        let mut sender = Sender::new(self, payer);
        let buffer = sender.fill_buffer(&elf, authority)?;
        let [from, id, to, owner] =
            [payer, program, buffer.as_signer(), authority].map(|it| it.pubkey());
        let mut last = loader::deploy(&from, &id, &to, &owner, program_lamports, capacity).to_vec();
        if options.is_final {
            last.push(loader::set_authority(&program_data_key(&id), &owner, None));
        }
        sender.send(&last, &[program, authority])?;
        let authority = (!options.is_final).then_some(owner);
        Ok(sender.finish(id, authority, elf.len(), options.waits))
    }

    /// Upgrades a program like [`Svm::deploy`] deploys one. A program that is too small for the
    /// file is extended first. `authority` pays, and receives the lamports that the program no
    /// longer needs.
    ///
    /// # Errors
    /// If the file may not be deployed, if there is no such program, if `authority` is not its
    /// upgrade authority, if the balance is too low, or if a transaction fails.
    pub fn upgrade(
        &mut self,
        program: &Pubkey,
        file: impl ProgramFile,
        authority: &(impl AsSigner + ?Sized),
    ) -> Result<Deployment, DeployError> {
        self.upgrade_with(program, file, authority, authority, &UpgradeOptions::default())
    }

    /// Upgrades like [`Svm::upgrade`], with a separate payer and with options.
    ///
    /// # Errors
    /// As [`Svm::upgrade`].
    pub fn upgrade_with(
        &mut self,
        program: &Pubkey,
        file: impl ProgramFile,
        authority: &(impl AsSigner + ?Sized),
        payer: &(impl AsSigner + ?Sized),
        options: &UpgradeOptions,
    ) -> Result<Deployment, DeployError> {
        let [authority, payer] = [authority.as_signer(), payer.as_signer()];
        let elf = self.read_deployable(file)?;
        let (capacity, current) = self.program_data(program)?;
        if current != Some(authority.pubkey()) {
            return Err(DeployError::NotAuthority { program: *program, authority: current });
        }
        let extension = self.extension_for(capacity, elf.len(), options.extends)?;
        let rent =
            self.minimum_balance_for_rent_exemption(BUFFER_HEADER_BYTES.saturating_add(elf.len()));
        let lamports = rent.saturating_add(self.extension_lamports(program, extension));
        self.check_balance(&payer.pubkey(), &authority.pubkey(), lamports, elf.len())?;
        let mut sender = Sender::new(self, payer);
        if extension > 0 {
            sender.extend(program, extension)?;
        }
        let buffer = sender.fill_buffer(&elf, authority)?;
        let (owner, spill) = (authority.pubkey(), payer.pubkey());
        let last = loader::upgrade(program, &buffer.pubkey(), &owner, &spill);
        sender.send(&[last], &[authority])?;
        let done = sender.finish(*program, Some(owner), elf.len(), options.waits);
        Ok(Deployment { is_upgrade: true, extended_bytes: extension as usize, ..done })
    }

    /// Returns the bytes by which a program with capacity for `capacity` bytes has to be extended
    /// before an upgrade to a file of `file_bytes` bytes.
    fn extension_for(
        &self,
        capacity: usize,
        file_bytes: usize,
        extends: bool,
    ) -> Result<u32, DeployError> {
        let grows = self.features().has(Feature::LoaderV3SetProgramDataToElfLength);
        let Some(missing @ 1..) = file_bytes.checked_sub(capacity).filter(|_| !grows) else {
            return Ok(0);
        };
        let accepted =
            u32::try_from(missing).ok().and_then(|it| self.accepted_extension(capacity, it));
        let extension_bytes = accepted.filter(|bytes| *bytes as usize >= missing);
        extension_bytes.filter(|_| extends).ok_or(DeployError::TooLong {
            file_bytes,
            file_bytes_max: capacity,
            extension_bytes,
        })
    }

    /// Returns the number of bytes, `bytes` or else the nearest, by which the loader extends a
    /// program with this capacity: the next larger number, or else the largest; `None` if the
    /// account has the maximum size.
    fn accepted_extension(&self, capacity: usize, bytes: u32) -> Option<u32> {
        let file_bytes_max = ACCOUNT_BYTES_MAX.saturating_sub(PROGRAM_DATA_HEADER_BYTES);
        let left = file_bytes_max.checked_sub(capacity).filter(|left| *left > 0)?;
        let has_least = self.features().has(Feature::LoaderV3MinimumExtendProgramSize);
        let least = if has_least { EXTENSION_BYTES_MIN } else { 1 };
        u32::try_from((bytes as usize).max(least).min(left)).ok()
    }

    /// Returns the lamports that an extension costs: the missing rent of the programdata account,
    /// and a transaction fee.
    fn extension_lamports(&self, program: &Pubkey, bytes: u32) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let data = self.shared_account(&program_data_key(program)).unwrap_or_default();
        let len = data.data().len().saturating_add(bytes as usize);
        let rent = self.minimum_balance_for_rent_exemption(len);
        rent.saturating_sub(data.lamports()).saturating_add(LAMPORTS_PER_SIGNATURE)
    }

    /// Checks whether the loader would extend a program by `bytes`.
    ///
    /// # Errors
    /// If there is no such program, if it is immutable, or if the loader accepts only another
    /// number of bytes (SIMD-0431).
    pub fn check_extension(&self, program: &Pubkey, bytes: u32) -> Result<(), DeployError> {
        let (capacity, authority) = self.program_data(program)?;
        if authority.is_none() {
            return Err(DeployError::NotAuthority { program: *program, authority });
        }
        let accepted = self.accepted_extension(capacity, bytes);
        if accepted == Some(bytes) {
            return Ok(());
        }
        Err(DeployError::Extension { bytes, accepted })
    }

    /// Extends a program, so that larger files fit. Advances to the next slot, since a program
    /// cannot be invoked in the slot of its extension.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn extend_program(
        &mut self,
        program: &Pubkey,
        additional_bytes: u32,
        payer: &(impl AsSigner + ?Sized),
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let payer = payer.as_signer();
        let extend = loader::extend(program, &payer.pubkey(), additional_bytes);
        let receipt = self.send_signed_by(&[extend], &[payer])?;
        self.warp_by_slots(1);
        Ok(receipt)
    }

    /// Changes the upgrade authority of a program; `None` makes it immutable.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn set_program_authority(
        &mut self,
        program: &Pubkey,
        authority: &(impl AsSigner + ?Sized),
        new: Option<&Pubkey>,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let (data, authority) = (program_data_key(program), authority.as_signer());
        let change = loader::set_authority(&data, &authority.pubkey(), new);
        self.send_signed_by(&[change], &[authority])
    }

    /// Closes a program permanently; its lamports go to `recipient`.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn close_program(
        &mut self,
        program: &Pubkey,
        authority: &(impl AsSigner + ?Sized),
        recipient: &Pubkey,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let authority = authority.as_signer();
        let close = loader::close_program(program, recipient, &authority.pubkey());
        self.send_signed_by(&[close], &[authority])
    }

    fn read_deployable(&self, file: impl ProgramFile) -> Result<Vec<u8>, ProgramError> {
        let elf = file.read()?;
        self.check_deployable(&elf).map_err(ProgramError::Load)?;
        Ok(elf)
    }

    /// Returns the capacity of a program for ELF files, in bytes, and its upgrade authority.
    fn program_data(&self, program: &Pubkey) -> Result<(usize, Option<Pubkey>), DeployError> {
        let is_there = self.shared_account(program).is_some_and(|account| {
            let state = State::of_data(account.data());
            *account.owner() == loader::ID && matches!(state, Some(State::Program { .. }))
        });
        let data = self.shared_account(&program_data_key(program)).filter(|_| is_there);
        let data = data.ok_or(DeployError::NoProgram(*program))?;
        let Some(State::ProgramData { authority, .. }) = State::of_data(data.data()) else {
            return Err(DeployError::NoProgram(*program));
        };
        Ok((data.data().len().saturating_sub(PROGRAM_DATA_HEADER_BYTES), authority))
    }

    /// Checks that the payer has `lamports` plus the fees of writing `file_bytes` bytes to a
    /// buffer.
    fn check_balance(
        &self,
        payer: &Pubkey,
        authority: &Pubkey,
        lamports: u64,
        file_bytes: usize,
    ) -> Result<(), DeployError> {
        let is_same = payer == authority;
        let chunk = chunk_bytes(payer, &Pubkey::default(), authority);
        let writes = file_bytes.div_ceil(chunk) as u64;
        // Besides the writes, the first transaction is signed by payer and buffer, the last one by
        // payer and by program or authority.
        let signatures = writes.saturating_mul(if is_same { 1 } else { 2 }).saturating_add(4);
        let fees = signatures.saturating_mul(LAMPORTS_PER_SIGNATURE);
        let (cost, balance) = (lamports.saturating_add(fees), self.balance(payer));
        if balance < cost {
            return Err(DeployError::TooExpensive { payer: *payer, balance, cost });
        }
        Ok(())
    }
}

/// Returns how many bytes of a file fit into one write transaction.
fn chunk_bytes(payer: &Pubkey, buffer: &Pubkey, authority: &Pubkey) -> usize {
    let empty = [loader::write(buffer, authority, 0, &[])];
    let message = solana_message::Message::new(&empty, Some(payer));
    let signatures = usize::from(message.header.num_required_signatures).saturating_mul(64);
    // A compact-u16 length takes one byte below 128 and two bytes from there on: add one for the
    // signatures and one for the written bytes.
    let used = message.serialize().len().saturating_add(signatures).saturating_add(2);
    TRANSACTION_BYTES_MAX.saturating_sub(used).max(1)
}
