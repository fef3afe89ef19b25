//! Keeps crds/ as the roles say. They are compiled into this script too, as a package's own
//! library comes after its build script.

#[path = "src/roles.rs"]
mod roles;

fn main() -> std::io::Result<()> {
    mxjob_build::write_crds::<roles::RenderRole>("crds")
}
