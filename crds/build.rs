//! Keeps the CustomResourceDefinition of MXNet's roles in this folder as the role table says.

fn main() -> std::io::Result<()> {
    mxjob_build::write_crds::<mxjob_core::MxRole>(".")
}
