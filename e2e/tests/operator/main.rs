//! The operator as a process, on a real control plane.
//!
//! One program with all of them: they share a control plane, wait most of their time, and run side
//! by side. Those of `real_node` make real pods and want the feature of that name.

#![allow(
    clippy::indexing_slicing,
    reason = "of JSON, where a missing key is null, and of what a test knows"
)]

mod accelerators;
mod adopted;
mod adopted_v1;
mod away;
mod bench;
mod certificates;
mod contract;
mod converted;
mod crash;
mod custom_role;
mod deploy;
#[cfg(feature = "real-node")]
mod example;
mod facts;
mod faults;
mod install;
mod labels;
mod large;
mod leader;
mod life;
mod log_lines;
mod metrics;
mod mlkube;
mod mlkube_left;
mod mlkube_life;
mod nonsense;
mod older_defects;
mod older_group;
mod oldest;
mod overload;
mod pages;
#[cfg(feature = "real-node")]
mod real_node;
#[cfg(feature = "real-node")]
mod real_node_chart;
#[cfg(feature = "real-node")]
mod real_node_clock;
#[cfg(feature = "real-node")]
mod real_node_older;
#[cfg(feature = "real-node")]
mod real_node_tune;
mod refused;
mod releases;
mod restarts;
mod rights;
mod start;
mod states;
mod switches;
mod taken;
mod taken_over;
mod takeover;
mod templates;
#[cfg(feature = "otel")]
mod traces;
mod troubles;
mod upgrade;
mod v1alpha1;
mod versions;
mod versions_patched;
mod watch;
mod wiped;
