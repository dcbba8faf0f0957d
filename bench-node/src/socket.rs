//! A client of subscriptions.

use std::{net::TcpStream, time::Duration};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tungstenite::{Message, WebSocket};

use crate::client::Client;

/// How long a message may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A WebSocket.
#[derive(Debug)]
pub(crate) struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Connects to `host:port`.
    pub(crate) fn connect(host: &str) -> Result<Self> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let (socket, _) = tungstenite::client(format!("ws://{host}/"), stream)?;
        Ok(Self(socket))
    }

    /// Sends text.
    pub(crate) fn send(&mut self, text: String) -> Result<()> {
        Ok(self.0.send(Message::text(text))?)
    }

    /// Returns the next text as JSON; pings are answered.
    pub(crate) fn next(&mut self) -> Result<Value> {
        loop {
            match self.0.read()? {
                Message::Text(text) => return Ok(serde_json::from_str(text.as_str())?),
                Message::Close(frame) => bail!("the node has closed the connection: {frame:?}"),
                _ => {}
            }
        }
    }

    /// Subscribes, and returns the subscription's number. Nothing may be subscribed to that
    /// notifies meanwhile.
    pub(crate) fn subscribe(&mut self, method: &str, params: &str) -> Result<u64> {
        self.send(Client::body(method, params))?;
        let answer = self.next()?;
        answer["result"].as_u64().with_context(|| format!("{method}: {answer}"))
    }
}
