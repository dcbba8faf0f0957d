//! A client of JSON-RPC that costs little: one connection, one request after the other.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An answer of HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    host: String,
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects to `host:port`.
    pub(crate) fn connect(host: &str) -> Result<Self> {
        let stream = TcpStream::connect(host).with_context(|| format!("cannot reach {host}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self { host: host.to_owned(), stream: BufReader::new(stream) })
    }

    /// Sets how long an answer may take.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) -> Result<()> {
        Ok(self.stream.get_ref().set_read_timeout(Some(timeout))?)
    }

    /// Sends bytes as they are.
    pub(crate) fn write_raw(&mut self, text: &str) -> Result<()> {
        Ok(self.stream.get_mut().write_all(text.as_bytes())?)
    }

    /// Asks for a page.
    pub(crate) fn get(&mut self, path: &str) -> Result<Answer> {
        self.write_raw(&format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host))?;
        self.read()
    }

    /// Returns the body of a request.
    pub(crate) fn body(method: &str, params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    }

    /// Sends a body without waiting for the answer. `headers` are whole lines.
    pub(crate) fn write(&mut self, body: &str, headers: &str) -> Result<()> {
        let text = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.write_raw(&text)
    }

    /// Waits for the answer.
    pub(crate) fn read(&mut self) -> Result<Answer> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).with_context(|| format!("no status in {line:?}"))?;
        let status = status.parse()?;
        let mut len = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                len = value.trim().parse()?;
            }
        }
        let mut body = vec![0; len];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { status, body })
    }

    /// Sends a body and returns the answer to it.
    pub(crate) fn post(&mut self, body: &str, headers: &str) -> Result<Answer> {
        self.write(body, headers)?;
        self.read()
    }

    /// Calls a method and returns its result. `params` is JSON.
    pub(crate) fn call(&mut self, method: &str, params: &str) -> Result<Value> {
        let answer = self.post(&Self::body(method, params), "")?;
        let mut value: Value = serde_json::from_slice(&answer.body)
            .with_context(|| format!("{method}: status {}, no JSON", answer.status))?;
        match value.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => bail!("{method}: {value}"),
        }
    }

    /// Returns the statuses of signatures, at most 256.
    pub(crate) fn statuses(&mut self, signatures: &[String]) -> Result<Vec<Value>> {
        let params = json!([signatures, { "searchTransactionHistory": true }]);
        match self.call("getSignatureStatuses", &params.to_string())?["value"].take() {
            Value::Array(statuses) => Ok(statuses),
            other => bail!("statuses are {other}"),
        }
    }

    /// Returns the balance of an address at a commitment.
    pub(crate) fn balance(&mut self, address: &str, commitment: &str) -> Result<u64> {
        let params = json!([address, { "commitment": commitment }]);
        let balance = self.call("getBalance", &params.to_string())?;
        balance["value"].as_u64().context("a balance is a number")
    }

    /// Returns the number of transactions since genesis, at a commitment.
    pub(crate) fn transaction_count(&mut self) -> Result<u64> {
        let count = self.call("getTransactionCount", r#"[{"commitment":"processed"}]"#)?;
        count.as_u64().context("a count is a number")
    }
}
