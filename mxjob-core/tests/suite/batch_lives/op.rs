//! What can happen to a job, its Jobs and its operator, and how often.

use mxjob_core::wiring::labels;
use proptest::prelude::*;
use proptest::sample::select;

use super::operator::Kind;

/// One thing that happens. Numbers pick one of what is there.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// The operator sends so many requests.
    Step(usize),
    /// It sends one, and never hears the answer.
    StepUnheard,
    /// A watch of its says all that it has to say.
    Hear(Kind),
    HearAll,
    /// It dies; the next one lists everything.
    Crash,
    Settle,
    /// The Job controller, and the node.
    Control,
    Start,
    Stop,
    Exit(usize, i32),
    Pass(i64),
    /// Somebody else deletes a Job, when its pods are gone or at once, or a pod.
    DeleteJob(usize, bool),
    DeletePod(usize),
    /// Somebody suspends a Job, or lets it go on.
    Suspend(usize, bool),
    /// It loses its owner and the labels of this operator.
    Orphan(usize),
    /// A Job, or a pod, loses a label.
    UnlabelJob(usize, &'static str),
    UnlabelPod(usize, &'static str),
    Pause(bool),
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let which = || any::<u8>().prop_map(usize::from);
    let kind = select(vec![Kind::Job, Kind::Batch, Kind::Pods, Kind::Services]);
    let label = || select(vec!["mxnet.mlkube.io", labels::OPERATOR, labels::INDEX]);
    prop_oneof![
        8 => (1..8_usize).prop_map(Op::Step),
        2 => Just(Op::StepUnheard),
        5 => kind.prop_map(Op::Hear),
        4 => Just(Op::HearAll),
        1 => Just(Op::Crash),
        3 => Just(Op::Settle),
        6 => Just(Op::Control),
        5 => Just(Op::Start),
        3 => Just(Op::Stop),
        5 => (which(), select(vec![0, 0, 0, 137, 137, 1])).prop_map(|(which, code)| Op::Exit(which, code)),
        3 => (1..700_i64).prop_map(Op::Pass),
        2 => (which(), any::<bool>()).prop_map(|(which, at_once)| Op::DeleteJob(which, at_once)),
        1 => which().prop_map(Op::DeletePod),
        2 => (which(), any::<bool>()).prop_map(|(which, suspend)| Op::Suspend(which, suspend)),
        1 => which().prop_map(Op::Orphan),
        1 => (which(), label()).prop_map(|(which, label)| Op::UnlabelJob(which, label)),
        1 => (which(), label()).prop_map(|(which, label)| Op::UnlabelPod(which, label)),
        1 => any::<bool>().prop_map(Op::Pause),
    ]
}
