//! What the watches and the workers share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::key::JobKey;
use super::queue::Queue;
use super::unsaid::AllUnsaid;
use super::world::World;

/// What is known, and what is to be looked at because of it.
#[derive(Debug)]
pub(super) struct Shared {
    world: Mutex<World>,
    queue: Mutex<Queue>,
    unsaid: Mutex<AllUnsaid>,
    news: Notify,
}

impl Shared {
    /// Nothing known yet.
    pub(super) fn new(world: World) -> Self {
        Self {
            world: Mutex::new(world),
            queue: Mutex::default(),
            unsaid: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// What is known. Never held over an await.
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be looked at. Never held over an await.
    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is still to be said. Never held over an await.
    pub(super) fn unsaid(&self) -> MutexGuard<'_, AllUnsaid> {
        self.unsaid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened to these jobs.
    pub(super) fn push<'a>(&self, jobs: impl IntoIterator<Item = &'a JobKey>) {
        let mut queue = self.queue();
        jobs.into_iter().for_each(|job| queue.push(job));
        drop(queue);
        self.news.notify_one();
    }

    /// Waits until something has happened.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }
}
