//! The notifications that wait for a client, bounded in number and in bytes.

use std::sync::{
    Arc,
    atomic::{
        AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use tokio::sync::{Notify, mpsc};

use crate::options::Limits;

/// The end of a queue that subscriptions have.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    texts: mpsc::Sender<String>,
    shared: Arc<Shared>,
}

/// The end of a queue that the connection has.
#[derive(Debug)]
pub(crate) struct Receiver {
    texts: mpsc::Receiver<String>,
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
    });
    let sender = Sender { texts: sender, shared: Arc::clone(&shared) };
    (sender, Receiver { texts: receiver, shared })
}

impl Sender {
    /// Queues a notification. If it does not fit, the connection is told to close.
    pub(crate) fn send(&self, text: String) {
        let len = text.len();
        let waiting = self.shared.bytes.fetch_add(len, Relaxed);
        let fits = waiting.saturating_add(len) <= self.shared.bytes_max;
        self.shared.unwritten.fetch_add(1, SeqCst);
        if !fits || matches!(self.texts.try_send(text), Err(mpsc::error::TrySendError::Full(_))) {
            self.overrun();
        }
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
        self.shared.overrun.notify_one();
    }
}

impl Receiver {
    /// Waits for the next notification.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let text = self.texts.recv().await?;
        self.shared.bytes.fetch_sub(text.len(), Relaxed);
        Some(text)
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
    pub(crate) fn try_next(&mut self) -> Option<String> {
        self.texts.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(queue_max: usize, queue_bytes_max: usize) -> (Sender, Receiver) {
        queue(&Limits { queue_max, queue_bytes_max, ..Limits::default() })
    }

    #[tokio::test]
    async fn more_notifications_than_the_limit_overflow() {
        let (sender, receiver) = limited(1, 100);
        sender.send("1".to_owned());
        sender.send("2".to_owned());
        receiver.overrun().wait().await;
    }

    #[tokio::test]
    async fn notifications_are_written_when_the_connection_says_so() {
        let (sender, mut receiver) = limited(100, 100);
        let written = async |sender: &Sender| {
            tokio::time::timeout(std::time::Duration::ZERO, sender.written()).await.is_ok()
        };
        assert!(written(&sender).await);
        sender.send("1".to_owned());
        sender.send("2".to_owned());
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
            sender.send("1234567890".to_owned());
            assert_eq!(receiver.next().await.as_deref(), Some("1234567890"));
        }
        let none = tokio::time::timeout(std::time::Duration::ZERO, receiver.overrun().wait()).await;
        assert!(none.is_err());
        sender.send("12345678901".to_owned());
        receiver.overrun().wait().await;
    }
}
