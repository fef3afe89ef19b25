//! While another operator leads, this one keeps up with what happens, so that it can go on at once.

use super::key::JobKey;
use super::lead::{Leadership, Loss};
use super::shared::Shared;
use super::stop::Stop;

/// Waits until it leads; `false`: it is time to stop. It is an error if it has led already and does
/// no longer.
pub(super) async fn stand_by(
    shared: &Shared,
    leadership: &Leadership,
    stop: &Stop,
) -> Result<bool, Loss> {
    let mut synced = false;
    while !leadership.leads() {
        if !synced && shared.world().is_synced() {
            synced = true;
            tracing::info!("caches are complete, standing by");
        }
        tokio::select! {
            () = stop.due() => return Ok(false),
            loss = leadership.ends() => return Err(loss),
            () = leadership.comes() => {}
            // It is what the leader is to look at.
            () = shared.news() => shared.queue().clear(),
        }
    }
    let jobs: Vec<_> = {
        let world = shared.world();
        let key =
            |job: &mxjob_core::Job| JobKey::new(job.table, &job.meta.namespace, &job.meta.name);
        world.jobs().map(key).collect()
    };
    shared.push(&jobs);
    Ok(true)
}
