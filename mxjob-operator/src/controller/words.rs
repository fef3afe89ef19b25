//! Errors as a person reads them: an answer's own words, without the rest of it.

use kube::runtime::watcher;

/// What the server said, or why it said nothing.
pub(crate) fn failure(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        error => error.to_string(),
    }
}

/// The same of a watch.
pub(crate) fn watch_failure(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => failure(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        error @ watcher::Error::NoResourceVersion => error.to_string(),
    }
}
