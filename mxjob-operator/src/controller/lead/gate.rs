//! What may be sent, and until when.

use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tower::{BoxError, Layer, Service};

use super::clock;

/// Open while this operator leads. It shuts by itself when the term ends, whatever else happens.
#[derive(Clone, Debug)]
pub(in crate::controller) struct Gate {
    /// Nanoseconds of [`clock::now`].
    until: Arc<AtomicU64>,
}

/// A request that is not sent, or not waited for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this operator does not lead (any more): nothing is sent")]
pub(in crate::controller) struct NotLeading;

impl Gate {
    /// Shut.
    pub(in crate::controller) fn shut() -> Self {
        Self {
            until: Arc::default(),
        }
    }

    /// Open from now until then.
    pub(super) fn open_until(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.until.store(nanoseconds, Ordering::SeqCst);
    }

    /// Shut from now on.
    pub(super) fn close(&self) {
        self.open_until(Duration::ZERO);
    }

    /// Whether something may be sent at this moment.
    pub(in crate::controller) fn is_open(&self) -> bool {
        !self.left().is_zero()
    }

    fn left(&self) -> Duration {
        let until = Duration::from_nanos(self.until.load(Ordering::SeqCst));
        until.saturating_sub(clock::now())
    }

    /// Waits until it is shut.
    pub(super) async fn shuts(&self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            // It may have been opened for longer by then.
            tokio::time::sleep(left).await;
        }
    }
}

/// Nothing passes while the gate is shut, and nothing is waited for once it is.
impl<S> Layer<S> for Gate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        let gate = self.clone();
        Gated { gate, inner }
    }
}

/// A client whose requests pass a gate.
#[derive(Clone, Debug)]
pub(in crate::controller) struct Gated<S> {
    gate: Gate,
    inner: S,
}

impl<S, R> Service<R> for Gated<S>
where
    S: Service<R>,
    S::Response: Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        if !self.gate.is_open() {
            return future::ready(Err(NotLeading.into())).boxed();
        }
        let (answer, gate) = (self.inner.call(request), self.gate.clone());
        async move {
            tokio::select! {
                answer = answer => answer.map_err(Into::into),
                () = gate.shuts() => Err(NotLeading.into()),
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tower::{ServiceExt as _, service_fn};

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    fn open_for(time: Duration) -> Gate {
        let gate = Gate::shut();
        gate.open_until(clock::now() + time);
        gate
    }

    /// What becomes of a request, and how many the server has got.
    async fn sent(gate: &Gate, answer: impl Future<Output = ()> + Send + 'static) -> (bool, usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let (counted, answer) = (count.clone(), answer.boxed().shared());
        let server = service_fn(move |()| {
            counted.fetch_add(1, Ordering::SeqCst);
            answer.clone().map(Ok::<_, BoxError>)
        });
        let answered = gate.layer(server).oneshot(()).await;
        let refused = answered.is_err_and(|error| error.is::<NotLeading>());
        (!refused, count.load(Ordering::SeqCst))
    }

    #[tokio::test]
    async fn nothing_passes_a_shut_gate() {
        assert_eq!(sent(&Gate::shut(), async {}).await, (false, 0));
        let gate = open_for(Duration::from_mins(1));
        assert_eq!(sent(&gate, async {}).await, (true, 1));
        gate.close();
        assert_eq!(sent(&gate, async {}).await, (false, 0));
        let gate = open_for(SHORT);
        std::thread::sleep(SHORT);
        assert_eq!(sent(&gate, async {}).await, (false, 0));
    }

    #[tokio::test]
    async fn nothing_is_waited_for_longer_than_the_term() {
        let start = clock::now();
        let answered = sent(&open_for(SHORT), future::pending()).await;
        assert_eq!(answered, (false, 1));
        assert!(clock::now() >= start + SHORT);

        // A term that is renewed meanwhile is a longer one.
        let gate = open_for(SHORT);
        let longer = gate.clone();
        let renew = async move {
            tokio::time::sleep(SHORT / 2).await;
            longer.open_until(clock::now() + 100 * SHORT);
        };
        let later = tokio::time::sleep(4 * SHORT);
        let (answered, ()) = futures::join!(sent(&gate, later), renew);
        assert_eq!(answered, (true, 1));
    }
}
