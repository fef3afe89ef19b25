//! Keeps the CustomResourceDefinitions of MXNet's roles in this folder as the role table says.

fn main() -> std::io::Result<()> {
    mxjob_build::write_crds_of::<mxjob_core::MxRole>(
        ".",
        &["kubeflow.org", "fioravanzo.org", "mxnet.mlkube.io"],
    )
}
