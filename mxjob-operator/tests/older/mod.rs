//! Manifests of the older versions, and what is said of them.

use serde_json::Value;

use crate::command::mxjob;

pub(crate) const LIST: &str = "\
apiVersion: kubeflow.org/v1alpha1
kind: MXJob
metadata: {name: digits}
spec:
  jobMode: dist
  replicaSpecs:
  - mxReplicaType: SCHEDULER
    PsRootPort: 9000
    template: {spec: {containers: [{name: mxnet, image: mxnet}]}}
  - mxReplicaType: SERVER
    template: {spec: {containers: [{name: mxnet, image: mxnet}]}}
  - replicas: 2
    template: {spec: {containers: [{name: mxnet}]}}
";

pub(crate) const MAP: &str = "\
apiVersion: kubeflow.org/v1beta1
kind: MXJob
metadata: {name: digits}
spec:
  cleanPodPolicy: None
  mxReplicaSpecs:
    Worker:
      template: {spec: {containers: [{name: mxnet, image: mxnet}]}}
";

pub(crate) fn lint(manifest: &str) -> (i32, String) {
    let (code, out, err) = mxjob(&["lint", "job.yaml"], manifest);
    (code, out + &err)
}

pub(crate) fn converted(to: &str, manifest: &str) -> Value {
    let (code, out, err) = mxjob(&["convert", "job.yaml", "--to", to], manifest);
    assert_eq!(code, 0, "{err}");
    serde_saphyr::from_str(&out).unwrap()
}

/// What lint says beside the version.
#[track_caller]
pub(crate) fn assert_refused(manifest: &str, wanted: &str) {
    let (code, text) = lint(manifest);
    let errors: Vec<_> = text
        .lines()
        .filter(|line| line.contains(" error: "))
        .collect();
    assert_eq!((code, errors.join("\n")), (1, wanted.to_owned()));
}
