//! [`Node`]: the handle of a node.

use core::time::Duration;
use std::{
    panic::resume_unwind,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use selkie_bank::{Bank, State};
use selkie_ledger::{Block, DiskStore, Header, History, Store, StoreError};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::sync::broadcast;

use crate::{
    chain::Chain,
    committer::{Committer, Kind},
    error::NodeError,
    events::Events,
    fetched::Fetched,
    genesis,
    impersonation::Impersonated,
    options::Options,
    producer::Producer,
    recent_airdrops::RecentAirdrops,
    shared::{Counters, Info, Shared},
    snapshots::{first_tip, index_of, new_forks},
    timeline::{Timeline, milliseconds},
    view::View,
    writer::{self, COMMANDS_MAX, Command},
};

/// How long a look at the slot waits for a block at most.
const TICK_WAIT: Duration = Duration::from_millis(50);

/// A local cluster in the process. Clones are handles of the same node; it stops when the last one is
/// dropped.
///
/// ```
/// use selkie_node::{Node, Options};
/// use solana_commitment_config::CommitmentLevel;
/// use solana_pubkey::Pubkey;
///
/// let node = Node::start(Options::default())?;
/// let key = Pubkey::new_from_array([7; 32]);
/// let landed = node.airdrop_and_wait(&key, 1_000_000_000)?;
/// assert_eq!(node.view(CommitmentLevel::Finalized).balance(&key), 1_000_000_000);
/// assert_eq!(node.block(landed.slot)?.transactions.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) inner: Arc<Inner>,
}

/// What all handles share; dropping it stops the node.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commands: SyncSender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(crate) airdrops: Mutex<RecentAirdrops>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // `drop` cannot return an error of the ledger.
        let _ = self.stop();
    }
}

impl Inner {
    fn stop(&self) -> Result<(), NodeError> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return Ok(()) };
        let (reply, stopped) = sync_channel(1);
        let sent = self.commands.send(Command::Stop(reply));
        let result = sent.map_or(Ok(()), |()| stopped.recv().unwrap_or(Err(NodeError::Stopped)));
        let _ = thread.join();
        result
    }
}

/// What a ledger holds.
struct Stored {
    header: Header,
    state: State,
    blocks: Vec<Arc<Block>>,
    fetched: Vec<Pubkey>,
}

impl Node {
    /// Starts a node: from its ledger if there is one, else from genesis.
    ///
    /// # Errors
    /// If the ledger cannot be used, or the thread cannot be started.
    pub fn start(options: Options) -> Result<Self, NodeError> {
        let folder = options.ledger.as_deref().filter(|_| !options.reset);
        let has_file = folder.is_some_and(DiskStore::exists);
        let store = open(&options)?;
        Self::start_on(options, store.map(|store| Box::new(store) as Box<dyn Store>), has_file)
    }

    /// Starts a node whose ledger is this store; [`Options::ledger`] is ignored.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start_with_store(options: Options, store: Box<dyn Store>) -> Result<Self, NodeError> {
        Self::start_on(options, Some(store), false)
    }

    /// Starts on a store; `has_file` says that it has been used before.
    fn start_on(
        options: Options,
        mut store: Option<Box<dyn Store>>,
        has_file: bool,
    ) -> Result<Self, NodeError> {
        let mut time = Timeline::new(Arc::clone(&options.clock), options.slot_milliseconds);
        let stored = store.as_mut().map(read).transpose()?.flatten();
        let restored_slot = stored.as_ref().map(|stored| stored.header.slot);
        let found_empty_ledger = has_file && stored.is_none();
        if found_empty_ledger {
            warn_of_empty_ledger(&options);
        }
        let Stored { header, state, blocks, fetched } = match stored {
            Some(stored) => stored,
            None => new_cluster(&options, &time),
        };
        if restored_slot.is_some() {
            time.restore(header.clock_offset_milliseconds, header.clock_milliseconds);
        }
        let accounts = state.accounts.clone();
        // For a long history both take as long: neither waits for the other.
        let (forks, mut history) = thread::scope(|scope| {
            let history = scope.spawn(|| history_of(&options, blocks));
            let forks = new_forks(state, &options);
            (forks, history.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        let working = forks.root();
        let (events, _) = broadcast::channel(options.events_max.max(1));
        if restored_slot.is_none() {
            history.push(Arc::new(genesis::block(&working)));
        }
        let slot = working.slot();
        let chain = Arc::new(RwLock::new(Chain {
            tips: [first_tip(&working, header.transaction_count, 1)].into(),
            working: Arc::clone(&working),
            confirmed: slot,
            finalized: slot,
            durable: 1,
            finality: options.finality,
            history,
            events,
        }));
        let shared = Arc::new(Shared {
            info: Info { found_empty_ledger, ..info(&options, &header, restored_slot, &working) },
            chain: Arc::clone(&chain),
            index: RwLock::new(index_of(&accounts)),
            impersonated: RwLock::new(Impersonated::default()),
            next_tick: AtomicU64::new(u64::MAX),
            is_ticking: AtomicBool::new(false),
            failure: Mutex::new(None),
            fetched: Mutex::new(Fetched::stored(fetched)),
            recordings: Mutex::default(),
            counters: Counters::default(),
            options,
        });
        let mut producer = Producer::new(Arc::clone(&shared), forks, working, time, header);
        if let Some(store) = store {
            producer.committer = Some(Committer::start(store, chain).map_err(thread_error)?);
        }
        producer.feature_slots = genesis::feature_slots(&accounts, producer.tip.slot());
        producer.open_next()?;
        if restored_slot.is_none() {
            let root = producer.forks.root();
            producer.write(&root, accounts, Kind::Replace(Vec::new()));
        }
        // Agave's test validator goes on in a later slot on a ledger that exists, too.
        match restored_slot.is_none() || producer.tip.slot() < shared.options.first_slot {
            true => drop(producer.first_block()?),
            false => producer.schedule_tick(),
        }
        Self::spawn(shared, producer)
    }

    fn spawn(shared: Arc<Shared>, producer: Producer) -> Result<Self, NodeError> {
        let (commands, received) = sync_channel(COMMANDS_MAX);
        let thread = thread::Builder::new().name("selkie-node".to_owned());
        let thread =
            thread.spawn(move || writer::run(producer, &received)).map_err(thread_error)?;
        let thread = Mutex::new(Some(thread));
        Ok(Self { inner: Arc::new(Inner { shared, commands, thread, airdrops: Mutex::default() }) })
    }

    /// Stops the node: finishes the block, and writes the ledger. Other handles still read, but
    /// nothing changes any more.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn stop(&self) -> Result<(), NodeError> {
        self.inner.stop()
    }

    /// Returns what does not change while the node runs.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.shared().info
    }

    /// Returns why the ledger cannot be written to any more, if so. The node then makes no blocks.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared().failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Subscribes to the events from now on.
    #[must_use]
    pub fn subscribe(&self) -> Events {
        self.shared().chain().events.subscribe()
    }

    /// Returns the newest state at a commitment, after slots have caught up with the clock.
    #[must_use]
    pub fn view(&self, commitment: CommitmentLevel) -> View {
        self.tick();
        let chain = self.shared().chain();
        let tip = chain.at(commitment);
        View::new(
            Arc::clone(self.shared()),
            commitment,
            Arc::clone(&tip.bank),
            tip.transaction_count,
        )
    }

    /// Returns the newest slot at a commitment, after slots have caught up with the clock.
    #[must_use]
    pub fn slot(&self, commitment: CommitmentLevel) -> u64 {
        self.tick();
        self.shared().chain().slot(commitment)
    }

    /// Lets slots catch up with the clock: makes an empty block if blocks are made on demand and the
    /// slot of the last one is over.
    pub fn tick(&self) {
        let shared = self.shared();
        let is_due = || milliseconds(shared.clock()) >= shared.next_tick.load(Ordering::Acquire);
        if !is_due() || shared.is_ticking.swap(true, Ordering::AcqRel) {
            return;
        }
        let (reply, done) = sync_channel(1);
        let tick = move |producer: &mut Producer| {
            let _ = producer.tick();
            producer.shared.is_ticking.store(false, Ordering::Release);
            let _ = reply.send(());
        };
        match self.inner.commands.try_send(Command::Call(Box::new(tick))) {
            Ok(()) => {
                // A writer that is busy will make a block anyway.
                let _ = done.recv_timeout(TICK_WAIT);
            }
            Err(_) => shared.is_ticking.store(false, Ordering::Release),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Calls a function in the writer thread, between two blocks.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Producer) -> Result<T, NodeError> + Send + 'static,
    ) -> Result<T, NodeError> {
        let (reply, result) = sync_channel(1);
        let call = move |producer: &mut Producer| {
            let _ = reply.send(call(producer));
        };
        let sent = self.inner.commands.send(Command::Call(Box::new(call)));
        sent.map_err(|_| NodeError::Stopped)?;
        result.recv().unwrap_or(Err(NodeError::Stopped))
    }
}

fn warn_of_empty_ledger(options: &Options) {
    tracing::warn!(
        ledger = ?options.ledger,
        "the ledger's file holds nothing, so a new cluster begins: restore a copy if it should not be empty"
    );
}

/// Opens the ledger of the options.
fn open(options: &Options) -> Result<Option<DiskStore>, StoreError> {
    let Some(folder) = options.ledger.as_deref() else { return Ok(None) };
    let folder: &Path = folder;
    if options.reset {
        DiskStore::remove(folder)?;
    }
    DiskStore::open(folder).map(Some)
}

/// Reads a ledger; `None` if it is new.
fn read(store: &mut Box<dyn Store>) -> Result<Option<Stored>, StoreError> {
    let Some(header) = store.header()? else { return Ok(None) };
    let (mut accounts, mut blocks) = (Vec::new(), Vec::new());
    store.accounts(&mut |key, account| accounts.push((key, account)))?;
    store.blocks(&mut |block| blocks.push(Arc::new(block)))?;
    let state = genesis::from_ledger(&header, accounts, blocks.iter().map(|block| &**block));
    Ok(Some(Stored { header, state, blocks, fetched: store.fetched()? }))
}

fn history_of(options: &Options, blocks: Vec<Arc<Block>>) -> History {
    let mut history = History::new(options.history);
    for block in blocks {
        history.push(block);
    }
    history
}

fn new_cluster(options: &Options, time: &Timeline) -> Stored {
    let created = time.timestamp();
    let state = genesis::state(options, created);
    let header = Header {
        genesis_hash: genesis::hash(&state, created),
        created,
        slot_milliseconds: options.slot_milliseconds,
        ..Header::default()
    };
    Stored { header, state, blocks: Vec::new(), fetched: Vec::new() }
}

/// Returns what does not change while the node runs. What belongs to the genesis is that of the ledger,
/// whatever the options say.
fn info(options: &Options, header: &Header, restored_slot: Option<u64>, bank: &Bank) -> Info {
    let faucet = options.faucet.pubkey();
    Info {
        genesis_hash: header.genesis_hash,
        created: header.created,
        identity: options.identity.pubkey(),
        vote_account: options.vote_account,
        faucet: bank.get_account(&faucet).ok().flatten().map(|_| faucet),
        mint: options.mint.filter(|_| restored_slot.is_none() && options.faucet_lamports > 0),
        slot_milliseconds: options.slot_milliseconds,
        blocks: options.blocks,
        epoch_schedule: bank.environment().sysvars.epoch_schedule().unwrap_or_default(),
        history: options.history,
        finality: options.finality,
        restored_slot,
        found_empty_ledger: false,
    }
}

fn thread_error(error: std::io::Error) -> NodeError {
    NodeError::Thread(error.to_string())
}
