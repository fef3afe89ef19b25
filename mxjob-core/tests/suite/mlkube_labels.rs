//! Labels of Jobs of the oldest group, of their pods, and what texts call such a replica.

use mxjob_core::api::v1::ConditionType;
use mxjob_core::plan::Action;
use mxjob_core::wiring::labels;
use serde_json::json;

use crate::mlkube_batch::{Life, ended, pod};

/// The Jobs whose pods are to get labels.
fn bare(life: &mut Life) -> Vec<String> {
    let actions = life.plan().actions;
    let jobs = actions.iter().map(|action| match action {
        Action::LabelPodOfJob(_, target) => target.name.clone(),
        other => panic!("{other:?}"),
    });
    jobs.collect()
}

// contract: 12.29
#[test]
fn the_pod_of_a_job_gets_the_labels_by_which_its_service_finds_it() {
    let last = "example-worker-e9c9-2";
    for label in [labels::OPERATOR, labels::JOB, labels::ROLE, labels::INDEX] {
        let mut life = Life::running();
        let all = life.pods[4].metadata.labels.as_mut().unwrap();
        all.remove(label);
        assert_eq!(bare(&mut life), [last], "{label}");
        // One that has ended needs none.
        let own = life.pods[4].metadata.labels.clone();
        life.pods[4] = pod(&life.batch[4], 0, &ended(0, ""));
        life.pods[4].metadata.labels = own;
        assert_eq!(bare(&mut life), [""; 0], "{label}");
    }
    // One without the mark is in no watch: its Job tells that it is there.
    let mut life = Life::running();
    life.pods.remove(4);
    assert_eq!(bare(&mut life), [last]);
    life.batch[4].status = serde_json::from_value(json!({"active": 1, "ready": 0})).unwrap();
    assert_eq!(bare(&mut life), [""; 0]);
}

#[test]
fn texts_call_it_a_job() {
    let mut life = Life::running();
    life.pods[4] = pod(&life.batch[4], 0, &ended(0, ""));
    life.batch[4].status =
        serde_json::from_value(json!({"conditions": [{"type": "Complete", "status": "True"}]}))
            .unwrap();
    let said = life.plan().events;
    let said = said.iter().map(|event| event.message.as_str());
    let wanted = ["Job: lab.example-worker-e9c9-2 exited with code 0"];
    assert_eq!(said.collect::<Vec<_>>(), wanted);

    let mut life = Life::running();
    let waiting = json!({"waiting": {"reason": "ImagePullBackOff"}});
    life.pods[4] = pod(&life.batch[4], 0, &waiting);
    life.plan();
    let stalled = life.job.status.condition(ConditionType::Stalled).unwrap();
    let message = stalled.message.clone().unwrap();
    let wanted = "Worker/2 waits: ImagePullBackOff, job example-worker-e9c9-2 created at ";
    assert!(message.starts_with(wanted), "{message}");

    let mut life = Life::running();
    let again = json!({"active": 1, "ready": 1, "failed": 1});
    life.batch[4].status = serde_json::from_value(again).unwrap();
    let said = life.plan().events;
    let message = &said.iter().find(|event| event.reason == "RestartedInPlace");
    let message = &message.unwrap().message;
    let wanted = "Job example-worker-e9c9-2 made its pod anew, and a job of mode MXTrain goes on \
                  without it: ps-lite does not take a member back, the others wait for ever. Delete \
                  the job and create it again";
    assert_eq!(message, wanted);
}
