//! Keeps crds/ as the roles say.

fn main() -> std::io::Result<()> {
    mxjob_build::write_crds::<roles::MyRole>("crds")
}
