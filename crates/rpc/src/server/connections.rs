//! Open connections: how many there are of each address, and which of them wait for nothing.
//!
//! Invariant: a connection that waits for no answer never keeps a new one out. WebSockets do, so there
//! are fewer of them than connections.

use core::net::{IpAddr, Ipv6Addr};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::options::Limits;

/// The open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<Open>,
    max: Max,
    /// The limits for one address.
    address_max: Max,
}

/// How many connections there may be, and how many WebSockets among them.
#[derive(Clone, Copy, Debug)]
struct Max {
    connections: usize,
    sockets: usize,
}

#[derive(Default, Debug)]
struct Open {
    all: Counts,
    by_address: HashMap<IpAddr, Counts>,
    /// The connections that wait for nothing, in the order in which they began to.
    idle: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    /// The number of times that connections began to wait for nothing.
    turns: u64,
}

#[derive(Default, Debug)]
struct Counts {
    connections: usize,
    sockets: usize,
}

/// What makes a connection count, until its last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Permit(Option<Arc<Slot>>);

/// The place of a connection.
#[derive(Debug)]
struct Slot {
    connections: Arc<Connections>,
    address: IpAddr,
    /// Tells that the connection must make way.
    close: Arc<Notify>,
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    /// The answers that the client waits for.
    busy: usize,
    /// The turn at which it began to wait for nothing.
    idle_since: Option<u64>,
    is_socket: bool,
}

/// An answer that a client waits for.
#[derive(Debug)]
pub(crate) struct Busy(Permit);

impl Connections {
    /// Creates the connections of HTTP and WebSocket, of which there are none yet.
    pub(crate) fn tcp(limits: &Limits) -> Arc<Self> {
        let max = Max { connections: limits.connections_max, sockets: limits.sockets_max };
        let (connections, sockets) = (limits.address_connections_max, limits.address_sockets_max);
        Arc::new(Self { open: Mutex::default(), max, address_max: Max { connections, sockets } })
    }

    /// Creates the connections of QUIC, of which there are none yet.
    pub(crate) fn quic(limits: &Limits) -> Arc<Self> {
        let max = |connections| Max { connections, sockets: 0 };
        let (all, of_address) = (limits.quic_connections_max, limits.quic_address_connections_max);
        Arc::new(Self { open: Mutex::default(), max: max(all), address_max: max(of_address) })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection. Where there are too many, the one that has waited for nothing the longest
    /// makes way. `None` if there is no such connection.
    pub(crate) fn open(self: &Arc<Self>, address: IpAddr) -> Option<Permit> {
        let address = network(address);
        let mut open = self.lock();
        let of_address = open.by_address.get(&address).map_or(0, |it| it.connections);
        if of_address >= self.address_max.connections {
            open.make_way(Some(address))?;
        } else if open.all.connections >= self.max.connections {
            open.make_way(None)?;
        }
        let counts = open.by_address.entry(address).or_default();
        counts.connections = counts.connections.saturating_add(1);
        open.all.connections = open.all.connections.saturating_add(1);
        drop(open);
        let slot = Slot {
            connections: Arc::clone(self),
            address,
            close: Arc::default(),
            state: Mutex::default(),
        };
        slot.set_idle();
        Some(Permit(Some(Arc::new(slot))))
    }

    /// Lets a connection make way that waits for nothing, since the system has no space for more.
    pub(crate) fn make_way(&self) {
        self.lock().make_way(None);
    }
}

impl Open {
    /// Closes the connection that has waited for nothing the longest, of one address if that is given.
    fn make_way(&mut self, address: Option<IpAddr>) -> Option<()> {
        let of_address =
            |(_, (other, _)): &(&u64, &(IpAddr, _))| address.is_none_or(|it| it == *other);
        let turn = *self.idle.iter().find(of_address)?.0;
        let (_, close) = self.idle.remove(&turn)?;
        close.notify_one();
        Some(())
    }
}

impl Permit {
    /// What stands for a connection that does not count.
    pub(crate) const UNLIMITED: Self = Self(None);

    /// Tells that the client waits for an answer, until that is dropped.
    pub(crate) fn busy(&self) -> Busy {
        if let Some(slot) = &self.0 {
            let mut state = slot.state();
            state.busy = state.busy.saturating_add(1);
            slot.end_idle(&mut state);
        }
        Busy(self.clone())
    }

    /// Makes the connection a WebSocket; returns whether there may be one more.
    pub(crate) fn upgrade(&self) -> bool {
        let Some(slot) = &self.0 else { return true };
        let Connections { open, max, address_max } = &*slot.connections;
        let mut state = slot.state();
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        let all = open.all.sockets;
        let of_address = open.by_address.entry(slot.address).or_default();
        if all >= max.sockets || of_address.sockets >= address_max.sockets {
            return false;
        }
        of_address.sockets = of_address.sockets.saturating_add(1);
        open.all.sockets = all.saturating_add(1);
        state.is_socket = true;
        if let Some(turn) = state.idle_since.take() {
            open.idle.remove(&turn);
        }
        true
    }

    /// Waits until the connection must make way for another.
    pub(crate) async fn closed(&self) {
        match &self.0 {
            Some(slot) => slot.close.notified().await,
            None => core::future::pending().await,
        }
    }
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the connection among those that wait for nothing.
    fn set_idle(&self) {
        let mut state = self.state();
        if state.busy > 0 || state.is_socket {
            return;
        }
        let mut open = self.connections.lock();
        open.turns = open.turns.saturating_add(1);
        let turn = open.turns;
        open.idle.insert(turn, (self.address, Arc::clone(&self.close)));
        state.idle_since = Some(turn);
    }

    fn end_idle(&self, state: &mut State) {
        if let Some(turn) = state.idle_since.take() {
            self.connections.lock().idle.remove(&turn);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let is_socket = self.state().is_socket;
        self.end_idle(&mut self.state());
        let mut open = self.connections.lock();
        open.all.remove(is_socket);
        let counts = open.by_address.entry(self.address).or_default();
        counts.remove(is_socket);
        if counts.connections == 0 {
            open.by_address.remove(&self.address);
        }
    }
}

impl Counts {
    fn remove(&mut self, is_socket: bool) {
        self.connections = self.connections.saturating_sub(1);
        self.sockets = self.sockets.saturating_sub(is_socket.into());
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(slot) = &self.0.0 {
            let mut state = slot.state();
            state.busy = state.busy.saturating_sub(1);
            drop(state);
            slot.set_idle();
        }
    }
}

/// Returns what counts as one address: a network of 64 bits is one customer's.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(connections_max: usize, address_connections_max: usize) -> Arc<Connections> {
        let limits = Limits { connections_max, address_connections_max, ..Limits::default() };
        Connections::tcp(&limits)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    async fn is_closed(permit: &Permit) -> bool {
        tokio::time::timeout(core::time::Duration::ZERO, permit.closed()).await.is_ok()
    }

    #[tokio::test]
    async fn the_connection_that_is_silent_the_longest_makes_way() {
        let all = connections(3, 3);
        let [one, two, three] = [1, 1, 2].map(|last| all.open(address(last)).unwrap());
        // The first has asked for something since.
        drop(one.busy());
        let four = all.open(address(3)).unwrap();
        assert!(is_closed(&two).await && !is_closed(&one).await && !is_closed(&three).await);
        drop(two);
        let _busy = [one.busy(), three.busy(), four.busy()];
        assert!(all.open(address(4)).is_none());
    }

    #[tokio::test]
    async fn an_address_leaves_connections_for_others() {
        let all = connections(10, 2);
        let [_one, two] = [1, 1].map(|last| all.open(address(last)).unwrap());
        let _busy = [_one.busy(), two.busy()];
        assert!(all.open(address(1)).is_none());
        assert!(all.open(address(2)).is_some());
        let networks =
            ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"].map(|it| it.parse().unwrap());
        let [one, other, next] = networks.map(network);
        assert!(one == other && one != next);
    }

    #[test]
    fn a_web_socket_makes_no_way() {
        let all = connections(1, 1);
        let socket = all.open(address(1)).unwrap();
        assert!(socket.upgrade() && all.open(address(1)).is_none());
        drop(socket);
        assert!(all.open(address(1)).is_some());
    }

    #[test]
    fn web_sockets_leave_connections_for_requests() {
        let limits = Limits { sockets_max: 2, address_sockets_max: 1, ..Limits::default() };
        let all = Connections::tcp(&limits);
        let open = |last| all.open(address(last)).unwrap();
        let (one, same, other, third) = (open(1), open(1), open(2), open(3));
        assert!(one.upgrade() && !same.upgrade() && other.upgrade() && !third.upgrade());
        drop(one);
        assert!(same.upgrade());
        drop((same, other, third));
        assert!(all.lock().by_address.is_empty() && all.lock().idle.is_empty());
    }
}
