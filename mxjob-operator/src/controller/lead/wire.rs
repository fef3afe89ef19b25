//! Connections that write nothing once the term has ended.
//!
//! From the moment at which a request is let through until its first byte is written some time
//! passes, in which the process may be stopped for longer than the lease. So it is looked at once more
//! right before each write: what is left are the few instructions between reading the clock and the
//! system call.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt as _, TryFutureExt as _};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower::Service;

use super::gate::{Gate, NotLeading};

/// Makes connections that pass a gate.
#[derive(Clone, Debug)]
pub(in crate::controller) struct Connector<C> {
    gate: Gate,
    inner: C,
}

impl<C> Connector<C> {
    /// As `inner` does.
    pub(in crate::controller) fn new(inner: C, gate: Gate) -> Self {
        Self { gate, inner }
    }
}

impl<C, R> Service<R> for Connector<C>
where
    C: Service<R>,
    C::Response: Send + 'static,
    C::Error: Send + 'static,
    C::Future: Send + 'static,
{
    type Response = Wire<C::Response>;
    type Error = C::Error;
    type Future = BoxFuture<'static, Result<Wire<C::Response>, C::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, to: R) -> Self::Future {
        let gate = self.gate.clone();
        let connected = self.inner.call(to);
        connected.map_ok(|inner| Wire { gate, inner }).boxed()
    }
}

/// A connection that passes a gate.
#[derive(Debug)]
pub(in crate::controller) struct Wire<T> {
    gate: Gate,
    inner: T,
}

impl<T> Wire<T> {
    fn check(&self) -> io::Result<()> {
        if self.gate.is_open() {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::BrokenPipe, NotLeading))
    }
}

impl<T: Read + Unpin> Read for Wire<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for Wire<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }
}

impl<T: Connection> Connection for Wire<T> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::super::clock;
    use super::*;

    // contract: 11.18
    #[tokio::test]
    async fn no_byte_is_written_after_the_term() {
        let gate = Gate::shut();
        gate.open_until(clock::now() + Duration::from_mins(1));
        let (ours, mut theirs) = tokio::io::duplex(64);
        let wire = Wire {
            gate: gate.clone(),
            inner: TokioIo::new(ours),
        };
        let mut wire = TokioIo::new(wire);
        wire.write_all(b"before").await.unwrap();
        gate.close();
        let error = wire.write_all(b"after").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        let slices = [IoSlice::new(b"after")];
        assert!(wire.write_vectored(&slices).await.is_err());
        // What the server says can still be read.
        theirs.write_all(b"answer").await.unwrap();
        let mut answer = [0; 6];
        wire.read_exact(&mut answer).await.unwrap();
        drop(wire);
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).await.unwrap();
        assert_eq!(
            (answer.as_slice(), received.as_slice()),
            (b"answer".as_slice(), b"before".as_slice())
        );
    }
}
