//! [`WriteTimeout`]: a connection whose client must keep reading.

use core::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use std::io::{Error, ErrorKind, IoSlice, Result};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A stream on which writing fails when the other side has read nothing for too long.
///
/// Without it, a client that asks for much and reads none of it would hold its answer in memory, and its
/// place among the connections, for as long as it likes.
pub(super) struct WriteTimeout<S> {
    stream: S,
    limit: Duration,
    /// When the write that waits has waited long enough.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, deadline: None }
    }

    /// Passes on the result of a write; one that has waited too long is an error.
    fn limited<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<Result<T>>,
    ) -> Poll<Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(deadline.as_mut().poll(context));
        tracing::warn!("a client reads its answer too slowly and is let go");
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client reads nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limited(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.limited(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limited(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
