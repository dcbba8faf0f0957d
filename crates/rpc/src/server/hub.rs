//! Subscriptions of all connections.
//!
//! Subscriptions are found by topic, so that what happens costs as much as there are matches.
//! Invariant: a subscription is registered before the state is asked for, so that nothing falls
//! between the two.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::server::{
    payload::Payload,
    queue::{Notice, Sender},
    topic::{Detail, Topic},
};

/// The queue of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) id: u64,
    pub(crate) queue: Sender,
}

/// A subscription.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub(crate) id: u64,
    pub(crate) topic: Topic,
    pub(crate) detail: Detail,
    pub(crate) connection: Connection,
}

impl Subscription {
    /// Queues a notification; `None` is one for which there is no space. Where it does not fit, the
    /// connection is closed.
    pub(crate) fn notify(&self, payload: Option<&Arc<Payload>>) {
        let (name, id, queue) = (self.topic.name(), self.id, &self.connection.queue);
        match payload {
            Some(payload) => queue.send(Notice { name, id, payload: Arc::clone(payload) }),
            None => queue.overrun(),
        }
    }

    /// Returns whether notifications reach the client: its connection has missed none so far.
    pub(crate) fn is_read(&self) -> bool {
        !self.connection.queue.has_overflowed()
    }
}

/// The limit of subscriptions that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// That of a connection.
    OfConnection(usize),
    /// That of all connections.
    OfAll,
}

/// The subscriptions of all connections.
#[derive(Debug)]
pub(crate) struct Hub {
    index: Mutex<Index>,
    subscriptions_max: usize,
    all_subscriptions_max: usize,
}

#[derive(Debug, Default)]
struct Index {
    next: u64,
    all: BTreeMap<u64, Arc<Subscription>>,
    /// The subscriptions of each topic, by id.
    topics: HashMap<Topic, BTreeMap<u64, Arc<Subscription>>>,
    /// The subscriptions of each connection.
    connections: HashMap<u64, BTreeSet<u64>>,
    slot_topics: usize,
}

impl Index {
    fn of(&self, topic: &Topic) -> Vec<Arc<Subscription>> {
        let found = self.topics.get(topic);
        found.map(|it| it.values().cloned().collect()).unwrap_or_default()
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Subscription>> {
        let subscription = self.all.remove(&id)?;
        self.remove_topic(&subscription.topic, id);
        if let Detail::Received(signature) = subscription.detail {
            self.remove_topic(&Topic::Received(signature), id);
        }
        if subscription.topic.needs_slots() {
            self.slot_topics = self.slot_topics.saturating_sub(1);
        }
        if let Some(own) = self.connections.get_mut(&subscription.connection.id) {
            own.remove(&id);
        }
        Some(subscription)
    }

    fn remove_topic(&mut self, topic: &Topic, id: u64) {
        if let Some(list) = self.topics.get_mut(topic) {
            list.remove(&id);
            if list.is_empty() {
                self.topics.remove(topic);
            }
        }
    }
}

impl Hub {
    /// Creates a hub without subscriptions, of which each connection and all of them may have as many.
    pub(crate) fn new(subscriptions_max: usize, all_subscriptions_max: usize) -> Self {
        Self { index: Mutex::default(), subscriptions_max, all_subscriptions_max }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a subscription and returns its id. The error says which limit is reached.
    pub(crate) fn add(
        &self,
        connection: Connection,
        topic: Topic,
        detail: Detail,
    ) -> Result<u64, TooMany> {
        let mut index = self.lock();
        let own = index.connections.entry(connection.id).or_default().len();
        if own >= self.subscriptions_max {
            return Err(TooMany::OfConnection(self.subscriptions_max));
        }
        if index.all.len() >= self.all_subscriptions_max {
            return Err(TooMany::OfAll);
        }
        let id = index.next;
        index.next = id.saturating_add(1);
        index.connections.entry(connection.id).or_default().insert(id);
        let subscription = Arc::new(Subscription { id, topic, detail, connection });
        if topic.needs_slots() {
            index.slot_topics = index.slot_topics.saturating_add(1);
        }
        index.topics.entry(topic).or_default().insert(id, Arc::clone(&subscription));
        if let Detail::Received(signature) = subscription.detail {
            let topic = Topic::Received(signature);
            index.topics.entry(topic).or_default().insert(id, Arc::clone(&subscription));
        }
        index.all.insert(id, subscription);
        Ok(id)
    }

    /// Removes a subscription of a connection. `None` if it has no such subscription.
    pub(crate) fn remove(&self, connection: u64, id: u64) -> Option<Arc<Subscription>> {
        let mut index = self.lock();
        index.all.get(&id).filter(|it| it.connection.id == connection)?;
        index.remove(id)
    }

    /// Removes all subscriptions of a connection.
    pub(crate) fn remove_connection(&self, connection: u64) {
        let mut index = self.lock();
        for id in index.connections.remove(&connection).unwrap_or_default() {
            index.remove(id);
        }
    }

    /// Returns what a subscription is about.
    pub(crate) fn topic(&self, id: u64) -> Option<Topic> {
        self.lock().all.get(&id).map(|subscription| subscription.topic)
    }

    /// Returns the subscriptions of a topic.
    pub(crate) fn of(&self, topic: &Topic) -> Vec<Arc<Subscription>> {
        self.lock().of(topic)
    }

    /// Removes the subscriptions of a topic and returns them.
    pub(crate) fn take(&self, topic: &Topic) -> Vec<Arc<Subscription>> {
        let mut index = self.lock();
        let found = index.of(topic);
        for subscription in &found {
            index.remove(subscription.id);
        }
        found
    }

    /// Returns the number of subscriptions of each kind.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for subscription in self.lock().all.values() {
            let count = counts.entry(subscription.topic.name()).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }

    /// Returns whether there are subscriptions.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().all.is_empty()
    }

    /// Returns whether clients wait for slots.
    pub(crate) fn needs_slots(&self) -> bool {
        self.lock().slot_topics > 0
    }

    /// Closes every connection that has subscriptions: they have missed something.
    pub(crate) fn overrun(&self) {
        for subscription in self.lock().all.values() {
            subscription.connection.queue.overrun();
        }
    }
}

#[cfg(test)]
mod tests {
    use solana_commitment_config::CommitmentLevel;
    use solana_signature::Signature;

    use super::*;
    use crate::{
        budget::Budget,
        options::Limits,
        server::payload::Space,
        server::queue::{Receiver, queue},
    };

    fn five() -> Arc<Payload> {
        let space = Space { budget: Budget::new(10_000), bytes_max: 1000 };
        Payload::new(&space, &5).unwrap()
    }

    fn connection(id: u64, queue_max: usize) -> (Connection, Receiver) {
        let (queue, receiver) = queue(&Limits { queue_max, ..Limits::default() });
        (Connection { id, queue }, receiver)
    }

    #[tokio::test]
    async fn a_signature_is_notified_once() {
        let hub = Hub::new(10, 10);
        let (connection, mut queue) = connection(1, 10);
        let topic = Topic::Signature(Signature::default(), CommitmentLevel::Confirmed);
        let id = hub.add(connection, topic, Detail::None).unwrap();
        for subscription in hub.take(&topic) {
            subscription.notify(Some(&five()));
        }
        assert!(hub.take(&topic).is_empty() && hub.is_empty());
        let expected = format!(
            r#"{{"jsonrpc":"2.0","method":"signatureNotification","params":{{"result":5,"subscription":{id}}}}}"#
        );
        assert_eq!(queue.try_next().unwrap().text().await, Some(expected));
    }

    #[test]
    fn subscriptions_belong_to_their_connection() {
        let hub = Hub::new(10, 10);
        let ((one, _a), (two, _b)) = (connection(1, 1), connection(2, 1));
        let id = hub.add(one, Topic::Slot, Detail::None).unwrap();
        hub.add(two, Topic::Slot, Detail::None).unwrap();
        assert!(hub.remove(2, id).is_none());
        assert!(hub.remove(1, id).is_some() && hub.remove(1, id).is_none());
        assert!(hub.needs_slots());
        hub.remove_connection(2);
        assert!(hub.is_empty() && !hub.needs_slots());
    }

    #[test]
    fn a_connection_has_a_limit() {
        let hub = Hub::new(1, 10);
        let (connection, _queue) = connection(1, 1);
        assert!(hub.add(connection.clone(), Topic::Root, Detail::None).is_ok());
        let max = TooMany::OfConnection(1);
        assert_eq!(hub.add(connection, Topic::Root, Detail::None), Err(max));
    }

    #[test]
    fn all_connections_have_a_limit() {
        let hub = Hub::new(2, 2);
        let ((one, _a), (two, _b)) = (connection(1, 1), connection(2, 1));
        for _ in 0..2 {
            hub.add(one.clone(), Topic::Root, Detail::None).unwrap();
        }
        assert_eq!(hub.add(two.clone(), Topic::Root, Detail::None), Err(TooMany::OfAll));
        hub.remove_connection(1);
        assert!(hub.add(two, Topic::Root, Detail::None).is_ok());
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_told_to_go() {
        let hub = Hub::new(1, 10);
        let (connection, queue) = connection(1, 1);
        hub.add(connection, Topic::Root, Detail::None).unwrap();
        for _ in 0..2 {
            hub.of(&Topic::Root).iter().for_each(|subscription| subscription.notify(Some(&five())));
        }
        queue.overrun().wait().await;
    }
}
