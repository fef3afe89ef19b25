//! Taking a job up: the first condition, the start time, what it is.

use super::draft::Draft;
use super::{conditions, warnings};
use crate::api::v1::ConditionType;
use crate::job::Spec;

/// Notes that the job was seen.
pub(super) fn accept(draft: &mut Draft<'_>, spec: &Spec) {
    draft.status.observed_generation =
        Some(draft.job.meta.generation).filter(|generation| *generation > 0);
    draft.status.mode = Some(spec.mode.name.to_owned());
    if draft.status.condition(ConditionType::Created).is_none() {
        let message = format!(
            "{} {} is created.",
            draft.job.table.crd.kind, draft.job.meta.name
        );
        let reason = draft.reason("Created");
        conditions::set_true(draft, ConditionType::Created, reason, message);
        warnings::template_restart_policy(draft, spec);
        warnings::alpha_gpu(draft, spec);
    }
}

/// Notes when the job started.
pub(super) fn start(draft: &mut Draft<'_>) {
    if draft.status.start_time.is_none() {
        draft.status.start_time = Some(draft.stamp());
    }
}
