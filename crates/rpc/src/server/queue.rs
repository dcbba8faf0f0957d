//! The notifications that wait for a client, bounded in number and in bytes.

use std::sync::{
    Arc,
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use tokio::sync::{Notify, mpsc};

use crate::{options::Limits, server::payload::Payload};

/// A notification to a subscription.
#[derive(Debug)]
pub(crate) struct Notice {
    /// The name of the subscription's kind.
    pub(crate) name: &'static str,
    /// The subscription.
    pub(crate) id: u64,
    pub(crate) payload: Arc<Payload>,
}

impl Notice {
    /// Returns the notification as text; `None` if there is no space for it.
    pub(crate) async fn text(&self) -> Option<String> {
        let Self { name, id, payload } = self;
        let result = payload.result().await?;
        Some(format!(
            r#"{{"jsonrpc":"2.0","method":"{name}Notification","params":{{"result":{result},"subscription":{id}}}}}"#
        ))
    }

    /// Returns about how long the text is.
    fn len(&self) -> usize {
        self.payload.len()
    }
}

/// The end of a queue that subscriptions have.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    notices: mpsc::Sender<Notice>,
    shared: Arc<Shared>,
}

/// The end of a queue that the connection has.
#[derive(Debug)]
pub(crate) struct Receiver {
    notices: mpsc::Receiver<Notice>,
    shared: Arc<Shared>,
}

/// Tells that a queue has overflowed.
#[derive(Debug)]
pub(crate) struct Overrun(Arc<Shared>);

impl Overrun {
    /// Waits until the queue has overflowed.
    pub(crate) async fn wait(&self) {
        self.0.overrun.notified().await;
    }
}

#[derive(Debug)]
struct Shared {
    /// The bytes that wait.
    bytes: AtomicUsize,
    bytes_max: usize,
    /// The notifications that the connection has not written yet.
    unwritten: AtomicUsize,
    /// Tells that all have been written.
    written: Notify,
    /// Tells the connection that its queue has overflowed.
    overrun: Notify,
    has_overflowed: AtomicBool,
}

/// Creates the queue of a connection.
pub(crate) fn queue(limits: &Limits) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(limits.queue_max);
    let bytes_max = limits.queue_bytes_max;
    let shared = Arc::new(Shared {
        bytes: AtomicUsize::new(0),
        bytes_max,
        unwritten: AtomicUsize::new(0),
        written: Notify::new(),
        overrun: Notify::new(),
        has_overflowed: AtomicBool::new(false),
    });
    let sender = Sender { notices: sender, shared: Arc::clone(&shared) };
    (sender, Receiver { notices: receiver, shared })
}

impl Sender {
    /// Queues a notification. If it does not fit, the connection is told to close, and gets no more.
    pub(crate) fn send(&self, notice: Notice) {
        if self.has_overflowed() {
            return;
        }
        let len = notice.len();
        let waiting = self.shared.bytes.fetch_add(len, Relaxed);
        let fits = waiting.saturating_add(len) <= self.shared.bytes_max;
        self.shared.unwritten.fetch_add(1, SeqCst);
        if !fits || matches!(self.notices.try_send(notice), Err(mpsc::error::TrySendError::Full(_)))
        {
            self.overrun();
        }
    }

    /// Returns whether the connection has missed a notification.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.shared.has_overflowed.load(Relaxed)
    }

    /// Waits until the connection has written all notifications. After an overflow, or where the client
    /// has gone, that is never.
    pub(crate) async fn written(&self) {
        loop {
            let written = self.shared.written.notified();
            if self.shared.unwritten.load(SeqCst) == 0 {
                return;
            }
            written.await;
        }
    }

    /// Tells the connection that it has missed a notification, and has to close.
    pub(crate) fn overrun(&self) {
        self.shared.has_overflowed.store(true, Relaxed);
        self.shared.overrun.notify_one();
    }
}

impl Receiver {
    /// Waits for the next notification.
    pub(crate) async fn next(&mut self) -> Option<Notice> {
        let notice = self.notices.recv().await?;
        self.shared.bytes.fetch_sub(notice.len(), Relaxed);
        Some(notice)
    }

    /// To be called when a notification has been written.
    pub(crate) fn wrote_one(&self) {
        if self.shared.unwritten.fetch_sub(1, SeqCst) == 1 {
            self.shared.written.notify_waiters();
        }
    }

    /// Returns what tells that the queue has overflowed.
    pub(crate) fn overrun(&self) -> Overrun {
        Overrun(Arc::clone(&self.shared))
    }

    /// Takes the next notification, if one waits.
    #[cfg(test)]
    pub(crate) fn try_next(&mut self) -> Option<Notice> {
        self.notices.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{budget::Budget, server::payload::Space};

    fn notice(result: &str) -> Notice {
        let space = Space { budget: Budget::new(10_000), bytes_max: 1000 };
        let payload = Payload::new(&space, &result).unwrap();
        Notice { name: "slot", id: 1, payload }
    }

    fn limited(queue_max: usize, queue_bytes_max: usize) -> (Sender, Receiver) {
        queue(&Limits { queue_max, queue_bytes_max, ..Limits::default() })
    }

    #[tokio::test]
    async fn more_notifications_than_the_limit_overflow() {
        let (sender, receiver) = limited(1, 100);
        sender.send(notice("1"));
        sender.send(notice("2"));
        receiver.overrun().wait().await;
    }

    #[tokio::test]
    async fn notifications_are_written_when_the_connection_says_so() {
        let (sender, mut receiver) = limited(100, 100);
        let written = async |sender: &Sender| {
            tokio::time::timeout(std::time::Duration::ZERO, sender.written()).await.is_ok()
        };
        assert!(written(&sender).await);
        sender.send(notice("1"));
        sender.send(notice("2"));
        let waits = tokio::spawn({
            let sender = sender.clone();
            async move { sender.written().await }
        });
        for _ in 0..2 {
            assert!(!written(&sender).await);
            receiver.next().await.expect("a notification waits");
            receiver.wrote_one();
        }
        waits.await.expect("the task does not panic");
        assert!(written(&sender).await);
    }

    #[tokio::test]
    async fn more_bytes_than_the_limit_overflow_and_read_ones_do_not_count() {
        let (sender, mut receiver) = limited(100, 10);
        for _ in 0..3 {
            sender.send(notice("12345678"));
            receiver.next().await.expect("a notification waits");
        }
        let none = tokio::time::timeout(std::time::Duration::ZERO, receiver.overrun().wait()).await;
        assert!(none.is_err());
        sender.send(notice("123456789"));
        receiver.overrun().wait().await;
    }
}
