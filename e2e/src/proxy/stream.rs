//! Bodies of answers, and watches that end before their time or say nothing more.

use std::fmt;

use futures::stream::unfold;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::client::Body;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// What becomes of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It stays open and nothing comes any more, until the next cut.
    Silent,
    /// It ends between two events.
    Clean,
    /// The connection breaks in the middle of an event.
    HalfLine,
    /// With an event that says that the version is too old.
    Gone,
}

/// The connection is to break here.
#[derive(Debug)]
pub(super) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection breaks")
    }
}

impl std::error::Error for Broken {}

/// A body that may break.
pub(super) type Bodies = UnsyncBoxBody<Bytes, Broken>;

/// The body as it is.
pub(super) fn whole(body: Body) -> Bodies {
    body.map_err(|_| Broken).boxed_unsync()
}

/// The body until the watches of `resource` are cut.
pub(super) fn until_cut(body: Body, resource: String, cuts: Receiver<(String, Cut)>) -> Bodies {
    let watch = Watch {
        body,
        resource,
        cuts,
    };
    let frames = unfold(State::Open(watch), |state| async move {
        match state {
            State::Open(watch) => watch.next().await,
            State::Breaking => Some((Err(Broken), State::Over)),
            State::Over => None,
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

struct Watch {
    body: Body,
    resource: String,
    cuts: Receiver<(String, Cut)>,
}

enum State {
    Open(Watch),
    Breaking,
    Over,
}

impl Watch {
    async fn next(mut self) -> Option<(Result<Frame<Bytes>, Broken>, State)> {
        let cut = tokio::select! {
            frame = self.body.frame() => {
                let frame = frame?.map_err(|_| Broken);
                return Some((frame, State::Open(self)));
            }
            cut = next_cut(&mut self.cuts, &self.resource) => cut,
        };
        self.end(cut).await
    }

    async fn end(mut self, mut cut: Cut) -> Option<(Result<Frame<Bytes>, Broken>, State)> {
        while cut == Cut::Silent {
            cut = next_cut(&mut self.cuts, &self.resource).await;
        }
        match cut {
            Cut::Silent | Cut::Clean => None,
            Cut::HalfLine => Some((Ok(line(HALF)), State::Breaking)),
            Cut::Gone => Some((Ok(line(GONE)), State::Over)),
        }
    }
}

const HALF: &str = r#"{"type":"MODIFIED","object":{"metadata":{"name":"#;
const GONE: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
    r#""message":"too old resource version","reason":"Expired","code":410}}"#,
    "\n"
);

fn line(text: &'static str) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(text.as_bytes()))
}

/// Waits for a cut of that resource's watches.
async fn next_cut(cuts: &mut Receiver<(String, Cut)>, resource: &str) -> Cut {
    loop {
        match cuts.recv().await {
            Ok((cut, how)) if cut == resource => return how,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            // The proxy goes.
            Err(RecvError::Closed) => return Cut::Clean,
        }
    }
}
