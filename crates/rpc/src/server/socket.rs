//! A WebSocket: requests come in, answers and notifications go out.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use axum::body::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{
            CloseFrame, Role, WebSocketConfig,
            frame::{
                Frame,
                coding::{CloseCode, Data, OpCode},
            },
        },
    },
};

use crate::server::{
    connections::Permit,
    dispatch::Client,
    hub::Connection,
    queue::{Overrun, Receiver, queue},
    shared::{Peer, Shared},
    subscribe,
};

/// Numbers of connections; they only have to differ.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// How many intervals without a sign of life end a connection.
const SILENT_INTERVALS: u32 = 3;

/// How long a client may take to read the last message.
const FAREWELL: Duration = Duration::from_millis(100);

/// The sizes of the buffers of a WebSocket, in bytes. Messages from clients are short.
const READ_BUFFER_BYTES: usize = 2048;
const WRITE_BUFFER_BYTES: usize = 4096;

/// Long messages are written in parts of so many bytes, so that no more is copied, and kept by the
/// connection.
const PART_BYTES: usize = 64 * 1024;

/// Serves a WebSocket until either side closes it; until then it counts as a connection.
pub(super) async fn serve<S>(stream: S, shared: Arc<Shared>, peer: Peer, permit: Permit)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let max = Some(shared.options.limits.message_bytes_max);
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(max)
        .max_frame_size(max);
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let (queue, notifications) = queue(&shared.options.limits);
    let connection = Connection { id: NEXT.fetch_add(1, Relaxed), queue };
    shared.metrics.open_socket();
    let overrun = notifications.overrun();
    let mut session = Session {
        socket,
        shared: &shared,
        peer,
        connection,
        overrun,
        pings: 0,
        pong: watch::Sender::new(0),
        ping_again: false,
    };
    let close = session.run(notifications).await;
    let farewell = async {
        match close {
            Some(frame) => session.socket.send(Message::Close(Some(frame))).await,
            // The answer to the client's own, without which it takes the connection for a broken one.
            None => session.socket.flush().await,
        }
    };
    // The client may be gone already, or read nothing.
    let _ = timeout(FAREWELL, farewell).await;
    shared.hub.remove_connection(session.connection.id);
    shared.metrics.close_socket();
    drop(permit);
}

struct Session<'a, S> {
    socket: WebSocketStream<S>,
    shared: &'a Arc<Shared>,
    peer: Peer,
    connection: Connection,
    overrun: Overrun,
    /// The number of the last ping.
    pings: u64,
    /// The number of the last ping that the client has answered, and so of what it has read.
    pong: watch::Sender<u64>,
    /// Whether another ping is to follow when the client has answered the last one.
    ping_again: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<'_, S> {
    /// Serves until the end, and returns what to close with; `None` if the client has closed.
    async fn run(&mut self, mut notifications: Receiver) -> Option<CloseFrame> {
        let mut stopping = self.shared.stopping.clone();
        let mut ping = tokio::time::interval(self.shared.options.limits.ping_interval);
        ping.reset();
        let mut silent = 0_u32;
        loop {
            tokio::select! {
                message = self.socket.next() => {
                    silent = 0;
                    self.receive(message?.ok()?).await?;
                }
                notice = notifications.next() => {
                    let Some(text) = notice?.text().await else {
                        self.connection.queue.overrun();
                        continue;
                    };
                    self.write_text(text.into()).await?;
                    notifications.wrote_one();
                }
                _ = ping.tick() => {
                    silent = silent.saturating_add(1);
                    if silent > SILENT_INTERVALS {
                        return Some(frame(CloseCode::Policy, "no sign of life"));
                    }
                    self.ping().await?;
                }
                () = self.overrun.wait() => {
                    self.shared.metrics.drop_socket();
                    tracing::warn!("a client reads notifications too slowly and is let go");
                    return Some(frame(CloseCode::Policy, "notifications are read too slowly"));
                }
                _ = stopping.changed() => return Some(frame(CloseCode::Away, "the node stops")),
            }
        }
    }

    /// Answers a message. `None` if the client has closed.
    async fn receive(&mut self, message: Message) -> Option<()> {
        let body = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            Message::Close(_) => return None,
            Message::Pong(number) => {
                if let Ok(number) = <[u8; 8]>::try_from(number.as_ref()) {
                    self.pong.send_replace(u64::from_be_bytes(number));
                }
                if core::mem::take(&mut self.ping_again) {
                    self.ping().await?;
                }
                return Some(());
            }
            Message::Ping(_) | Message::Frame(_) => return Some(()),
        };
        let Self { shared, peer, connection, .. } = self;
        let mut client = Client { connection: Some(connection), ..Client::new(shared, peer) };
        let text = client.answer(body).await;
        let began = client.began;
        if text.len() > 0 {
            self.write_text(Bytes::from_owner(text)).await?;
        }
        if !began.is_empty() {
            let ping = self.ping_after_answer().await?;
            for id in began {
                let mut pong = self.pong.subscribe();
                subscribe::catch_up_soon(self.shared, id, async move {
                    // The connection has ended where there is no sender.
                    let _ = pong.wait_for(|last| *last >= ping).await;
                });
            }
        }
        Some(())
    }

    /// Writes a ping and returns its number. `None` as for [`Session::write`].
    async fn ping(&mut self) -> Option<u64> {
        self.pings = self.pings.wrapping_add(1);
        self.write(Message::Ping(self.pings.to_be_bytes().to_vec().into())).await?;
        Some(self.pings)
    }

    /// Returns the number of a ping that follows the last answer. It is written at once, or when the client
    /// has answered the one before: `ws` for Node.js closes a connection on which many pings wait.
    async fn ping_after_answer(&mut self) -> Option<u64> {
        if *self.pong.borrow() == self.pings {
            return self.ping().await;
        }
        self.ping_again = true;
        Some(self.pings.wrapping_add(1))
    }

    /// Writes a text, a long one in parts. `None` as for [`Session::write`].
    async fn write_text(&mut self, mut text: Bytes) -> Option<()> {
        let mut kind = Data::Text;
        loop {
            let part = text.split_to(text.len().min(PART_BYTES));
            let is_last = text.is_empty();
            self.write(Message::Frame(Frame::message(part, OpCode::Data(kind), is_last))).await?;
            if is_last {
                return Some(());
            }
            kind = Data::Continue;
        }
    }

    /// Writes a message. `None` if the client has closed, or does not read it in time or while its
    /// queue overflows.
    async fn write(&mut self, message: Message) -> Option<()> {
        let limit = self.shared.options.limits.send_timeout;
        let written = tokio::select! {
            biased;
            written = timeout(limit, self.socket.send(message)) => written.ok(),
            () = self.overrun.wait() => None,
        };
        if written.is_none() {
            self.shared.metrics.drop_socket();
        }
        written?.ok()
    }
}

fn frame(code: CloseCode, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: reason.into() }
}
