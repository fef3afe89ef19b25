//! How long a program lasts that only holds something for somebody else.

use std::io;

use tokio::sync::oneshot;

/// Waits until standard input closes, or Ctrl-C.
pub async fn end() {
    let (closed, input_closed) = oneshot::channel::<()>();
    // No task of the runtime, whose end would wait for it.
    std::thread::spawn(move || {
        // Closed or unreadable, both are the end; so is a receiver that has gone.
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        drop(closed);
    });
    tokio::select! {
        _ = input_closed => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
