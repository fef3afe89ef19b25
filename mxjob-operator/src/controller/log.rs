//! What the log says about an action: one line, with the same fields whatever became of it.

use mxjob_core::Job;
use mxjob_core::plan::Action;
use mxjob_core::role::Children;
use mxjob_core::wiring::names;

use super::execute::Outcome;
use super::key::JobKey;

/// The fields of a line.
struct Fields<'a> {
    role: Option<&'static str>,
    index: Option<u32>,
    attempt: Option<String>,
    object: &'a str,
}

impl<'a> Fields<'a> {
    fn of(job: &Job, action: &Action, object: &'a str) -> Self {
        let (replica, attempt) = match action {
            Action::CreatePod(replica, attempt) => (Some(*replica), Some(attempt.render())),
            Action::CreateService(replica)
            | Action::LabelPod(replica, _)
            | Action::LabelPodOfJob(replica, _)
            | Action::AdoptPod(replica, _)
            | Action::AdoptService(replica, _) => (Some(*replica), None),
            Action::StopPod(_) | Action::DeletePod(_) => {
                let parsed = names::of_pod(job.table, &job.meta.name, object);
                (parsed.map(|(replica, _)| replica), None)
            }
            Action::DeleteService(_) => (names::of_service(job, object), None),
            Action::CreateJobService
            | Action::CreateConfigMap
            | Action::DeleteConfigMap(_)
            | Action::DeleteJob => (None, None),
        };
        Self {
            role: replica.map(|replica| job.table.role(replica.role).name),
            index: replica.map(|replica| replica.index),
            attempt,
            object,
        }
    }
}

/// A line of that level about an action of a job.
macro_rules! line {
    ($level:ident, $key:expr, $fields:expr, { $($more:tt)* }, $($message:tt)+) => {
        tracing::$level!(
            namespace = %$key.namespace,
            job = %$key.name,
            role = $fields.role,
            index = $fields.index,
            attempt = $fields.attempt,
            object = $fields.object,
            $($more)*
            $($message)+
        )
    };
}

/// Says what became of an action; of a refusal that was told before, no more than who asks for
/// everything hears.
pub(super) fn tell(key: &JobKey, job: &Job, action: &Action, outcome: &Outcome, is_news: bool) {
    let object = action.object(job);
    let fields = Fields::of(job, action, &object);
    let what = words(action, job);
    match outcome {
        Outcome::Already => {}
        // Whether there was anything to do is told where it was done.
        Outcome::Done if is_mark(action) => line!(debug, key, fields, {}, "{what}"),
        Outcome::Done => line!(info, key, fields, {}, "{what}"),
        Outcome::Taken(why) => line!(warn, key, fields, {}, "{what}: {why}"),
        Outcome::Failed(error) if is_news => {
            line!(warn, key, fields, { %error, }, "{what}: refused");
        }
        Outcome::Failed(error) => line!(debug, key, fields, { %error, }, "{what}: refused"),
    }
}

fn is_mark(action: &Action) -> bool {
    matches!(
        action,
        Action::LabelPod(..)
            | Action::LabelPodOfJob(..)
            | Action::AdoptPod(..)
            | Action::AdoptService(..)
    )
}

fn words(action: &Action, job: &Job) -> &'static str {
    let is_batch = job.table.children() == Children::Jobs;
    match action {
        Action::CreatePod(..) if is_batch => "create job",
        Action::DeletePod(_) if is_batch => "delete job",
        Action::StopPod(_) => "suspend job",
        Action::CreateService(_) | Action::CreateJobService => "create service",
        Action::CreateConfigMap => "create config map",
        Action::CreatePod(..) => "create pod",
        Action::LabelPod(..) => "label pod",
        Action::LabelPodOfJob(..) => "label the pod of job",
        Action::AdoptPod(..) => "adopt pod",
        Action::AdoptService(..) => "adopt service",
        Action::DeletePod(_) => "delete pod",
        Action::DeleteService(_) => "delete service",
        Action::DeleteConfigMap(_) => "delete config map",
        Action::DeleteJob => "delete job",
    }
}

#[cfg(test)]
mod tests {
    use mxjob_core::plan::Target;
    use mxjob_core::{MxRole, ReplicaRole as _};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_has_its_replica_also_where_an_older_operator_has_cut_its_name() {
        let name = "a-job-whose-name-was-too-long-for-its-first-operator";
        let job = json!({
            "apiVersion": "kubeflow.org/v1alpha1", "kind": "MXJob",
            "metadata": {"name": name, "namespace": "lab", "uid": "u"},
            "spec": {"RuntimeId": "ab12", "replicaSpecs": [
                {"mxReplicaType": "WORKER", "template": {"spec": {
                    "containers": [{"name": "mxnet", "image": "i"}]}}},
            ]},
        });
        let v1 = mxjob_core::conversion::convert(MxRole::TABLE, job, mxjob_core::api::Version::V1);
        let job = Job::read(MxRole::TABLE, &v1.unwrap());
        for front in [name, &name[..40]] {
            let object = format!("{front}-worker-ab12-1");
            let target = Target {
                name: object.clone(),
                uid: "s".to_owned(),
            };
            let fields = Fields::of(&job, &Action::DeleteService(target), &object);
            assert_eq!(
                (fields.role, fields.index),
                (Some("Worker"), Some(1)),
                "{object}"
            );
        }
    }
}
