//! Programs deployed as a cluster would have it: by transactions.

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
    svm::Svm,
};

/// Bytes of a transaction on the wire.
const TRANSACTION_BYTES_MAX: usize = 1232;

/// How to deploy a program.
#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// How long its files may become, without room being made for them; as long as the first one
    /// if nothing is said.
    pub file_bytes_max: Option<usize>,
    /// Whether nobody may ever change it.
    pub is_final: bool,
    /// Whether to go on to the next slot, from which on the program can be called.
    pub waits: bool,
}

impl Default for DeployOptions {
    fn default() -> Self {
        Self { file_bytes_max: None, is_final: false, waits: true }
    }
}

/// How to upgrade a program.
#[derive(Clone, Debug)]
pub struct UpgradeOptions {
    /// Whether a program that is too small for its new file is extended first, at the payer's
    /// expense. That takes a slot: a program cannot be extended and upgraded in the same one.
    pub extends: bool,
    /// Whether to go on to the next slot, from which on the program can be called.
    pub waits: bool,
}

impl Default for UpgradeOptions {
    fn default() -> Self {
        Self { extends: true, waits: true }
    }
}

/// A deployment or upgrade that succeeded.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The program.
    pub program: Pubkey,
    /// The account that holds its file.
    pub program_data: Pubkey,
    /// Who may change it.
    pub authority: Option<Pubkey>,
    /// Bytes of the file.
    pub file_bytes: usize,
    /// Bytes that there is room for.
    pub file_bytes_max: usize,
    /// Whether a program that was there before has been replaced.
    pub is_upgrade: bool,
    /// Bytes that the program was extended by, so that its new file fits.
    pub extended_bytes: usize,
    /// The slot that it was deployed in. It can be called from the next one on.
    pub slot: u64,
    /// Lamports that the program's accounts hold, so that they are exempt from rent.
    pub rent: u64,
    /// Lamports that were paid for transactions.
    pub fees: u64,
    /// Lamports that the payer has less than before: rent and fees, if the program is new.
    pub cost: u64,
    /// The transactions, as they were sent.
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
            None => writeln!(f, "authority     none: nobody can change it")?,
        }
        write!(f, "size          {file_bytes} bytes, room for {file_bytes_max}")?;
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

/// A program that could not be deployed, upgraded or changed.
#[non_exhaustive]
pub enum DeployError {
    /// Its file cannot be read, or no cluster would let it be deployed. Nothing was sent.
    Program(ProgramError),
    /// It is not there. Nothing was sent.
    NoProgram(Pubkey),
    /// Somebody else may change it, or nobody. Nothing was sent.
    NotAuthority {
        /// The program.
        program: Pubkey,
        /// Who may change it.
        authority: Option<Pubkey>,
    },
    /// It does not fit. Nothing was sent.
    TooLong {
        /// Bytes of the file.
        file_bytes: usize,
        /// Bytes that there is room for.
        file_bytes_max: usize,
        /// Bytes that the loader would extend the program by to make room for it; `None` if the
        /// program is new, or would be too long for an account.
        extension_bytes: Option<u32>,
    },
    /// The loader would not extend the program by so few or so many bytes. Nothing was sent.
    Extension {
        /// Bytes that were asked for.
        bytes: u32,
        /// Bytes that the loader takes instead: the next larger number, or else the largest;
        /// `None` if the program is as long as programs can be.
        accepted: Option<u32>,
    },
    /// The payer cannot pay for it. Nothing was sent.
    TooExpensive {
        /// Who was to pay.
        payer: Pubkey,
        /// What that one has, in lamports.
        balance: u64,
        /// What it takes, in lamports.
        cost: u64,
    },
    /// A transaction failed; those before it are done.
    Failed(Box<FailedTransaction>),
}

impl fmt::Display for DeployError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(error) => error.fmt(f),
            Self::NoProgram(id) => write!(f, "there is no program of loader v3 at {id}"),
            Self::NotAuthority { program, authority: Some(authority) } => {
                write!(f, "only {authority} may change {program}")
            }
            Self::NotAuthority { program, authority: None } => {
                write!(f, "nobody may change {program}: it has no authority any more")
            }
            Self::TooLong { file_bytes, file_bytes_max, extension_bytes } => {
                write!(
                    f,
                    "the file has {file_bytes} bytes and the program has room for {file_bytes_max}"
                )?;
                match extension_bytes {
                    Some(bytes) => write!(f, ": extend the program by {bytes} bytes first"),
                    None => Ok(()),
                }
            }
            Self::Extension { bytes, accepted: Some(accepted) } => {
                write!(
                    f,
                    "the loader does not extend the program by {bytes} bytes, but by {accepted}"
                )
            }
            Self::Extension { accepted: None, .. } => {
                write!(f, "the program is as long as programs can be")
            }
            Self::TooExpensive { payer, balance, cost } => {
                write!(f, "it takes {cost} lamports, and {payer} has {balance}")
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

/// Transactions that are being sent, and what they have cost.
struct Sender<'s> {
    svm: &'s mut Svm,
    payer: &'s dyn Signer,
    balance: u64,
    sent: Vec<Arc<Receipt>>,
}

impl<'s> Sender<'s> {
    fn new(svm: &'s mut Svm, payer: &'s dyn Signer) -> Self {
        let balance = svm.balance(&payer.pubkey());
        Self { svm, payer, balance, sent: Vec::new() }
    }

    /// Sends instructions that the payer signs, and these.
    fn send(
        &mut self,
        instructions: &[Instruction],
        signers: &[&dyn Signer],
    ) -> Result<(), FailedTransaction> {
        let mut all = vec![self.payer];
        for signer in signers {
            if all.iter().all(|known| known.pubkey() != signer.pubkey()) {
                all.push(*signer);
            }
        }
        self.sent.push(self.svm.send_instructions(instructions, &all)?);
        Ok(())
    }

    /// Extends a program, and waits for the slot in which it can be upgraded.
    fn extend(&mut self, program: &Pubkey, bytes: u32) -> Result<(), FailedTransaction> {
        self.send(&[loader::extend(program, &self.payer.pubkey(), bytes)], &[])?;
        self.svm.warp_by_slots(1);
        Ok(())
    }

    /// Writes a file into a new buffer.
    fn fill_buffer(
        &mut self,
        elf: &[u8],
        authority: &dyn Signer,
    ) -> Result<Keypair, FailedTransaction> {
        let buffer = self.unused_buffer(&authority.pubkey());
        let (payer, to, owner) = (self.payer.pubkey(), buffer.pubkey(), authority.pubkey());
        let bytes = BUFFER_HEADER_BYTES.saturating_add(elf.len());
        let lamports = self.svm.minimum_balance_for_rent_exemption(bytes);
        let create = loader::create_buffer(&payer, &to, &owner, lamports, elf.len());
        self.send(&create, &[&buffer])?;
        let chunk = chunk_bytes(&payer, &to, &owner);
        for (offset, bytes) in (0_u32..).step_by(chunk).zip(elf.chunks(chunk)) {
            self.send(&[loader::write(&to, &owner, offset, bytes)], &[authority])?;
        }
        Ok(buffer)
    }

    /// A buffer that nobody has used: a secret is not needed for what lives for a few
    /// transactions.
    fn unused_buffer(&self, authority: &Pubkey) -> Keypair {
        let mut buffers = (0_u32..).map(|number| keypair(&format!("buffer {authority} {number}")));
        let is_unused = |buffer: &Keypair| self.svm.shared_account(&buffer.pubkey()).is_none();
        buffers.find(is_unused).expect("no cluster has so many accounts")
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
    /// Whether a file may be deployed: by the rules of the loader, which are stricter than those
    /// for programs that are there already, and of deployment tools, which refuse calls that go
    /// nowhere (see [`check_file`](crate::runtime::check_file)).
    ///
    /// # Errors
    /// The first rule that the file breaks.
    pub fn check_deployable(&self, elf: &[u8]) -> Result<(), LoadError> {
        let checked = check_file(elf, self.features(), Purpose::Deployment);
        checked.map(drop).map_err(|refused| refused.error)
    }

    /// Deploys a program by the transactions that a cluster would want: a buffer is made and
    /// written, then deployed from. The authority pays, and may upgrade and close it. Time goes on
    /// to the next slot, from which on the program can be called.
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
    /// If the file is none that may be deployed, or if a transaction fails.
    pub fn deploy(
        &mut self,
        program: &dyn Signer,
        file: impl ProgramFile,
        authority: &dyn Signer,
    ) -> Result<Deployment, DeployError> {
        self.deploy_with(program, file, authority, authority, &DeployOptions::default())
    }

    /// The same, with somebody else who pays, and with options.
    ///
    /// # Errors
    /// As [`Svm::deploy`].
    pub fn deploy_with(
        &mut self,
        program: &dyn Signer,
        file: impl ProgramFile,
        authority: &dyn Signer,
        payer: &dyn Signer,
        options: &DeployOptions,
    ) -> Result<Deployment, DeployError> {
        let elf = self.read_deployable(file)?;
        let room = options.file_bytes_max.unwrap_or(elf.len());
        if elf.len() > room {
            return Err(DeployError::TooLong {
                file_bytes: elf.len(),
                file_bytes_max: room,
                extension_bytes: None,
            });
        }
        let header = |header: usize, file: usize| {
            self.minimum_balance_for_rent_exemption(header.saturating_add(file))
        };
        let program_lamports = header(PROGRAM_BYTES, 0);
        // The buffer's lamports come back before the program's data take theirs.
        let rent = header(PROGRAM_DATA_HEADER_BYTES, room).max(header(BUFFER_HEADER_BYTES, room));
        let lamports = rent.saturating_add(program_lamports);
        self.check_balance(payer, authority, lamports, elf.len())?;
        let mut sender = Sender::new(self, payer);
        let buffer = sender.fill_buffer(&elf, authority)?;
        let [from, id, to, owner] = [payer, program, &buffer, authority].map(|it| it.pubkey());
        let mut last = loader::deploy(&from, &id, &to, &owner, program_lamports, room).to_vec();
        if options.is_final {
            last.push(loader::set_authority(&program_data_key(&id), &owner, None));
        }
        sender.send(&last, &[program, authority])?;
        let authority = (!options.is_final).then_some(owner);
        Ok(sender.finish(id, authority, elf.len(), options.waits))
    }

    /// Replaces a program by another file, as [`Svm::deploy`] does. A program that is too small for
    /// the file is extended first. The authority pays; what the new file does not need comes back to
    /// it.
    ///
    /// # Errors
    /// If the file is none that may be deployed, if the program is not there, or if a transaction
    /// fails.
    pub fn upgrade(
        &mut self,
        program: &Pubkey,
        file: impl ProgramFile,
        authority: &dyn Signer,
    ) -> Result<Deployment, DeployError> {
        self.upgrade_with(program, file, authority, authority, &UpgradeOptions::default())
    }

    /// The same, with another payer and with options.
    ///
    /// # Errors
    /// As [`Svm::upgrade`].
    pub fn upgrade_with(
        &mut self,
        program: &Pubkey,
        file: impl ProgramFile,
        authority: &dyn Signer,
        payer: &dyn Signer,
        options: &UpgradeOptions,
    ) -> Result<Deployment, DeployError> {
        let elf = self.read_deployable(file)?;
        let (room, current) = self.program_data(program)?;
        if current != Some(authority.pubkey()) {
            return Err(DeployError::NotAuthority { program: *program, authority: current });
        }
        let extension = self.extension_for(room, elf.len(), options.extends)?;
        let rent =
            self.minimum_balance_for_rent_exemption(BUFFER_HEADER_BYTES.saturating_add(elf.len()));
        let lamports = rent.saturating_add(self.extension_lamports(program, extension));
        self.check_balance(payer, authority, lamports, elf.len())?;
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

    /// Bytes that a program with so much room is extended by before it gets a file of so many bytes.
    fn extension_for(
        &self,
        room: usize,
        file_bytes: usize,
        extends: bool,
    ) -> Result<u32, DeployError> {
        let grows = self.features().has(Feature::LoaderV3SetProgramDataToElfLength);
        let Some(missing @ 1..) = file_bytes.checked_sub(room).filter(|_| !grows) else {
            return Ok(0);
        };
        let accepted = u32::try_from(missing).ok().and_then(|it| self.accepted_extension(room, it));
        let extension_bytes = accepted.filter(|bytes| *bytes as usize >= missing);
        extension_bytes.filter(|_| extends).ok_or(DeployError::TooLong {
            file_bytes,
            file_bytes_max: room,
            extension_bytes,
        })
    }

    /// The least bytes from `bytes` on by which the loader extends a program with so much room, or
    /// else the most; `None` if it is as long as programs can be.
    fn accepted_extension(&self, room: usize, bytes: u32) -> Option<u32> {
        let file_bytes_max = ACCOUNT_BYTES_MAX.saturating_sub(PROGRAM_DATA_HEADER_BYTES);
        let left = file_bytes_max.checked_sub(room).filter(|left| *left > 0)?;
        let has_least = self.features().has(Feature::LoaderV3MinimumExtendProgramSize);
        let least = if has_least { EXTENSION_BYTES_MIN } else { 1 };
        u32::try_from((bytes as usize).max(least).min(left)).ok()
    }

    /// What an extension costs: the rent that the program's data lack, and a transaction.
    fn extension_lamports(&self, program: &Pubkey, bytes: u32) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let data = self.shared_account(&program_data_key(program)).unwrap_or_default();
        let len = data.data().len().saturating_add(bytes as usize);
        let rent = self.minimum_balance_for_rent_exemption(len);
        rent.saturating_sub(data.lamports()).saturating_add(LAMPORTS_PER_SIGNATURE)
    }

    /// Whether the loader would extend a program by so many bytes.
    ///
    /// # Errors
    /// If the program is not there or is final, or if the loader takes another number of bytes
    /// (SIMD-0431).
    pub fn check_extension(&self, program: &Pubkey, bytes: u32) -> Result<(), DeployError> {
        let (room, authority) = self.program_data(program)?;
        if authority.is_none() {
            return Err(DeployError::NotAuthority { program: *program, authority });
        }
        let accepted = self.accepted_extension(room, bytes);
        if accepted == Some(bytes) {
            return Ok(());
        }
        Err(DeployError::Extension { bytes, accepted })
    }

    /// Makes room for longer files. Time goes on to the next slot, since a program cannot be called
    /// in the slot that it was extended in.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn extend_program(
        &mut self,
        program: &Pubkey,
        additional_bytes: u32,
        payer: &dyn Signer,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let extend = loader::extend(program, &payer.pubkey(), additional_bytes);
        let receipt = self.send_instructions(&[extend], &[payer])?;
        self.warp_by_slots(1);
        Ok(receipt)
    }

    /// Hands a program to another authority; to nobody if there is none, which is for good.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn set_program_authority(
        &mut self,
        program: &Pubkey,
        authority: &dyn Signer,
        new: Option<&Pubkey>,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let data = program_data_key(program);
        let hand = loader::set_authority(&data, &authority.pubkey(), new);
        self.send_instructions(&[hand], &[authority])
    }

    /// Closes a program for good; its lamports go to `recipient`.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn close_program(
        &mut self,
        program: &Pubkey,
        authority: &dyn Signer,
        recipient: &Pubkey,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let close = loader::close_program(program, recipient, &authority.pubkey());
        self.send_instructions(&[close], &[authority])
    }

    fn read_deployable(&self, file: impl ProgramFile) -> Result<Vec<u8>, ProgramError> {
        let elf = file.read()?;
        self.check_deployable(&elf).map_err(ProgramError::Load)?;
        Ok(elf)
    }

    /// How many bytes a program's file may have, and who may change it.
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

    /// Whether somebody can pay so much, and the fees of what it takes to write so many bytes.
    fn check_balance(
        &self,
        payer: &dyn Signer,
        authority: &dyn Signer,
        lamports: u64,
        file_bytes: usize,
    ) -> Result<(), DeployError> {
        let (payer, authority) = (payer.pubkey(), authority.pubkey());
        let is_one = payer == authority;
        let chunk = chunk_bytes(&payer, &Pubkey::default(), &authority);
        let writes = file_bytes.div_ceil(chunk) as u64;
        // The first transaction is signed by payer and buffer, the last one by program or authority
        // besides.
        let signatures = writes.saturating_mul(if is_one { 1 } else { 2 }).saturating_add(4);
        let fees = signatures.saturating_mul(LAMPORTS_PER_SIGNATURE);
        let (cost, balance) = (lamports.saturating_add(fees), self.balance(&payer));
        if balance < cost {
            return Err(DeployError::TooExpensive { payer, balance, cost });
        }
        Ok(())
    }
}

/// How much of a file a transaction has room for.
fn chunk_bytes(payer: &Pubkey, buffer: &Pubkey, authority: &Pubkey) -> usize {
    let empty = [loader::write(buffer, authority, 0, &[])];
    let message = solana_message::Message::new(&empty, Some(payer));
    let signatures = usize::from(message.header.num_required_signatures).saturating_mul(64);
    // Counts take one byte below 128 and two from there on: that of the signatures, and one more
    // for that of the bytes.
    let used = message.serialize().len().saturating_add(signatures).saturating_add(2);
    TRANSACTION_BYTES_MAX.saturating_sub(used).max(1)
}
