//! What is written by hand beside the derive.

use crate::support::MX;
use k8s_openapi::api::core::v1::{Pod, PodSpec, Toleration};
use mxjob_core::role::Peers;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Custom, Customized, Job, MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
enum MyRole {
    #[role(extend)]
    Mx(MxRole),
}

impl Custom for MyRole {
    fn edit_pod(self, pod: &mut PodSpec, peers: &dyn Peers) {
        if self != Self::Mx(MxRole::Worker) {
            return;
        }
        let server = Self::Mx(MxRole::Server).id();
        let next = peers.index() % peers.count(server);
        let (host, port) = peers.address(server, next).unwrap();
        assert_eq!(peers.address(server, peers.count(server)), None);
        let nearest = format!("{}: {host}:{port}", peers.job());
        pod.containers[0].args = Some(vec![nearest]);
        pod.tolerations = Some(vec![Toleration::default()]);
        // Not for it to say.
        pod.restart_policy = Some("Always".to_owned());
    }
}

/// A set that holds the other; its own role comes first, so that ids differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
enum Outer {
    #[role(mode = MXTrain, mode_env = false, replicas = 0..=1, default = 0, optional)]
    Watcher,
    #[role(extend)]
    Mine(Customized<MyRole>),
}

impl Custom for Outer {
    fn edit_pod(self, pod: &mut PodSpec, _: &dyn Peers) {
        pod.containers[0].command = pod.containers[0].args.clone();
    }
}

fn pods<R: ReplicaRole>() -> Vec<Pod> {
    let job = Job::read(R::TABLE, &MX.job(1, 2, 3));
    let wiring = Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster);
    wiring.pods().collect()
}

#[test]
fn the_pods_of_a_role_are_edited_before_the_operator_adds_its_own() {
    let (plain, edited) = (pods::<MyRole>(), pods::<Customized<MyRole>>());
    let args = |pod: &Pod| pod.spec.clone().unwrap().containers[0].args.clone();
    let last = edited[5].spec.clone().unwrap();
    assert_eq!(
        args(&edited[3]),
        Some(vec!["demo: demo-server-0:9091".to_owned()])
    );
    assert_eq!(
        args(&edited[4]),
        Some(vec!["demo: demo-server-1:9091".to_owned()])
    );
    assert_eq!(
        args(&edited[5]),
        Some(vec!["demo: demo-server-0:9091".to_owned()])
    );
    assert_eq!(last.restart_policy.as_deref(), Some("Never"));
    assert_eq!(
        last.containers[0].env,
        plain[5].spec.clone().unwrap().containers[0].env
    );
    assert_eq!(plain[..3], edited[..3], "other roles are as they were");
}

#[test]
fn the_set_is_the_same_but_for_that() {
    assert_eq!(
        Customized::<MyRole>::parse("worker").map(|role| role.0),
        MyRole::parse("worker")
    );
    assert_eq!(
        mxjob_core::schema::crd(Customized::<MyRole>::TABLE),
        mxjob_core::schema::crd(MyRole::TABLE)
    );
}

#[test]
fn an_extension_keeps_what_its_base_does_and_comes_after_it() {
    let base = pods::<Customized<MyRole>>();
    assert_eq!(pods::<Outer>(), base);
    let worker = |pods: Vec<Pod>| pods[5].spec.clone().unwrap().containers[0].clone();
    let (base, outer) = (worker(base), worker(pods::<Customized<Outer>>()));
    assert!(base.args.is_some());
    assert_eq!((outer.command, outer.args), (base.args.clone(), base.args));
}
