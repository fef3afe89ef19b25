//! Rules about the policies of a job.

use super::roles::unknown_role;
use super::{Validation, cel};
use crate::api::v1::{FailureRule, JobSpec, RunPolicy};
use crate::exit_codes::ExitCodes;
use crate::problem::Problem;
use crate::role::RoleTable;
use crate::schema::Place;

/// A policy that is accepted both under `spec.runPolicy` and, the older v1 layout, under `spec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flat {
    /// `cleanPodPolicy`
    CleanPodPolicy,
    /// `ttlSecondsAfterFinished`
    TtlSecondsAfterFinished,
    /// `activeDeadlineSeconds`
    ActiveDeadlineSeconds,
    /// `backoffLimit`
    BackoffLimit,
    /// `schedulingPolicy`
    SchedulingPolicy,
}

impl Flat {
    /// All five.
    pub const ALL: [Self; 5] = [
        Self::CleanPodPolicy,
        Self::TtlSecondsAfterFinished,
        Self::ActiveDeadlineSeconds,
        Self::BackoffLimit,
        Self::SchedulingPolicy,
    ];

    /// The field's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CleanPodPolicy => "cleanPodPolicy",
            Self::TtlSecondsAfterFinished => "ttlSecondsAfterFinished",
            Self::ActiveDeadlineSeconds => "activeDeadlineSeconds",
            Self::BackoffLimit => "backoffLimit",
            Self::SchedulingPolicy => "schedulingPolicy",
        }
    }

    /// False when it is given in both places with different values.
    fn agrees(self, spec: &JobSpec, run: &RunPolicy) -> bool {
        match self {
            Self::CleanPodPolicy => agree(
                spec.clean_pod_policy.as_ref(),
                run.clean_pod_policy.as_ref(),
            ),
            Self::TtlSecondsAfterFinished => agree(
                spec.ttl_seconds_after_finished.as_ref(),
                run.ttl_seconds_after_finished.as_ref(),
            ),
            Self::ActiveDeadlineSeconds => agree(
                spec.active_deadline_seconds.as_ref(),
                run.active_deadline_seconds.as_ref(),
            ),
            Self::BackoffLimit => agree(spec.backoff_limit.as_ref(), run.backoff_limit.as_ref()),
            Self::SchedulingPolicy => agree(
                spec.scheduling_policy.as_ref(),
                run.scheduling_policy.as_ref(),
            ),
        }
    }

    fn message(self) -> String {
        let name = self.name();
        format!("{name} and runPolicy.{name} differ: set one of them")
    }
}

fn agree<T: PartialEq>(flat: Option<&T>, nested: Option<&T>) -> bool {
    flat.zip(nested).is_none_or(|(flat, nested)| flat == nested)
}

pub(super) fn agrees_cel(flat: Flat) -> Validation {
    let name = flat.name();
    let (one, other) = (format!("self.{name}"), format!("self.runPolicy.{name}"));
    let same = match flat {
        // Two objects of separately declared types cannot be compared otherwise.
        Flat::SchedulingPolicy => format!("dyn({one}) == dyn({other})"),
        _ => format!("{one} == {other}"),
    };
    let rule = format!("!has({one}) || !has(self.runPolicy) || !has({other}) || {same}");
    Validation::new(Place::Spec, rule, flat.message()).about(format!(".{name}"))
}

pub(super) fn agrees(flat: Flat, spec: &JobSpec) -> Vec<Problem> {
    let broken = spec
        .run_policy
        .as_ref()
        .is_some_and(|run| !flat.agrees(spec, run));
    broken
        .then(|| Problem::error(format!("spec.{}", flat.name()), flat.message()))
        .into_iter()
        .collect()
}

const EXIT_CODE: &str = "must be \"N\" or \"N-M\" with 1 <= N <= M <= 255";

pub(super) fn exit_code_cel() -> Validation {
    let code = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[1-9])";
    let rule = format!(
        "self.matches('^{code}(-{code})?$') && \
         (!self.contains('-') || int(self.split('-')[0]) <= int(self.split('-')[1]))"
    );
    Validation::new(Place::ExitCode, rule, EXIT_CODE)
}

pub(super) fn exit_code(spec: &JobSpec) -> Vec<Problem> {
    let retryable = spec.run_policy.iter().filter_map(|run| {
        Some((
            "spec.runPolicy.retryableExitCodes".to_owned(),
            run.retryable_exit_codes.as_ref()?,
        ))
    });
    let of_rules = failure_rules(spec)
        .filter_map(|(path, rule)| Some((format!("{path}.exitCodes"), rule.exit_codes.as_ref()?)));
    let entries = retryable.chain(of_rules).flat_map(|(path, codes)| {
        codes
            .iter()
            .enumerate()
            .map(move |(at, code)| (format!("{path}[{at}]"), code))
    });
    let bad = entries.filter(|(_, code)| ExitCodes::parse(std::slice::from_ref(*code)).is_err());
    bad.map(|(path, code)| Problem::error(path, format!("{code:?} {EXIT_CODE}")))
        .collect()
}

/// The rules of the failure policy with their paths.
pub(crate) fn failure_rules(spec: &JobSpec) -> impl Iterator<Item = (String, &FailureRule)> {
    let rules = spec
        .failure_policy
        .iter()
        .filter_map(|policy| policy.rules.as_ref())
        .flatten();
    rules
        .enumerate()
        .map(|(at, rule)| (format!("spec.failurePolicy.rules[{at}]"), rule))
}

pub(super) fn failure_role_cel(table: &RoleTable) -> Validation {
    let names = || table.roles.iter().map(|role| role.name);
    let allowed = format!("allowed are {}", cel::list(names()));
    Validation::new(
        Place::FailureRole,
        cel::is_one_of("self", names()),
        format!("unknown replica type: {allowed}"),
    )
    .saying(format!(
        r#"'unknown replica type "' + self + '": {allowed}'"#
    ))
}

pub(super) fn failure_role(table: &RoleTable, spec: &JobSpec) -> Vec<Problem> {
    let named = failure_rules(spec).flat_map(|(path, rule)| {
        let roles = rule.roles.iter().flatten().enumerate();
        roles.map(move |(at, role)| (format!("{path}.roles[{at}]"), role))
    });
    let unknown = named.filter(|(_, role)| table.find(role).is_none());
    unknown
        .map(|(path, role)| Problem::error(path, unknown_role(table, role)))
        .collect()
}
