//! What another operator has written of a job, before this one looks at it for the first time.

use super::counts;
use super::draft::Draft;

/// Completes a status that somebody else has written: which generation it is about, how the job runs,
/// and why each condition is so. Written once it is stored in this operator's words, whatever the
/// phase was called before. When things happened nobody knows any more, and it is left out.
pub(super) fn complete(draft: &mut Draft<'_>) {
    let generation = Some(draft.job.meta.generation).filter(|generation| *generation > 0);
    let is_known = draft.status.conditions.is_empty() || draft.status.observed_generation.is_some();
    if is_known || generation.is_none() {
        return;
    }
    draft.status.observed_generation = generation;
    if let Ok(spec) = &draft.job.spec {
        let mode = || spec.mode.name.to_owned();
        draft.status.mode.get_or_insert_with(mode);
    }
    let kind = draft.job.table.crd.kind;
    for condition in &mut draft.status.conditions {
        let reason = || format!("{kind}{}", condition.kind);
        condition.reason.get_or_insert_with(reason);
    }
    counts::columns(draft);
}
