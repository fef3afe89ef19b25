//! Names of accelerators in resource lists, and what belongs to them on a node.

mod config;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

pub use config::Accelerators;

/// The name that NVIDIA's had before Kubernetes 1.10; nothing knows it any more.
pub const ALPHA_GPU: &str = "alpha.kubernetes.io/nvidia-gpu";

/// The name that they have now.
pub const NVIDIA_GPU: &str = "nvidia.com/gpu";

/// True for an extended resource that is some accelerator, by its vendor or its name.
pub fn is_accelerator(resource: &str) -> bool {
    let Some((vendor, name)) = resource.split_once('/') else {
        return false;
    };
    vendor == "nvidia.com"
        || ["gpu", "tpu", "npu", "neuron", "gaudi"]
            .iter()
            .any(|word| name.contains(word))
}

/// True when a container of the pod asks for accelerators by their old name.
pub fn asks_for_alpha(pod: &PodSpec) -> bool {
    let has = |list: Option<&Amounts>| list.is_some_and(|list| list.contains_key(ALPHA_GPU));
    let asks = |container: &Container| {
        let resources = container.resources.as_ref();
        resources.is_some_and(|all| has(all.limits.as_ref()) || has(all.requests.as_ref()))
    };
    pod.containers
        .iter()
        .chain(pod.init_containers.iter().flatten())
        .any(asks)
}

/// Gives accelerators the name that they have now. An amount under that name wins.
pub fn replace_alpha(pod: &mut PodSpec) {
    let init = pod.init_containers.iter_mut().flatten();
    for container in pod.containers.iter_mut().chain(init) {
        let Some(resources) = &mut container.resources else {
            continue;
        };
        for list in [&mut resources.limits, &mut resources.requests] {
            rename(list.as_mut());
        }
    }
}

type Amounts = BTreeMap<String, Quantity>;

fn rename(list: Option<&mut Amounts>) {
    if let Some(list) = list
        && let Some(amount) = list.remove(ALPHA_GPU)
    {
        list.entry(NVIDIA_GPU.to_owned()).or_insert(amount);
    }
}
