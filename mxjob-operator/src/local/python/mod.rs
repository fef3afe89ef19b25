//! The Python of a run: a virtual environment with what the manifest's requirements file asks for,
//! made once and kept in the user's cache directory.

mod cache;
mod error;
mod find;
mod pip;
mod tool;
mod venv;

use std::path::PathBuf;

pub(super) use error::PythonError;

use super::guard::Guard;
use super::screen::Screen;
use cache::Slot;
use find::Search;
use tool::Tool;

/// Annotation of a job that names its requirements file, relative to the manifest.
pub(super) const ANNOTATION: &str = "mxjob.kubeflow.org/requirements";

/// What a run needs.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The requirements file.
    pub(super) requirements: PathBuf,
    /// The Python that the user names; `None`: the first usable one.
    pub(super) python: Option<PathBuf>,
}

/// The virtual environment's folder, when it is there and complete. Starts no process.
pub(super) fn ready(request: &Request) -> Result<Option<PathBuf>, PythonError> {
    let slot = Slot::of(request)?;
    Ok(slot.is_ready().then(|| slot.folder().to_owned()))
}

/// Makes the virtual environment, or waits for another run that is making it; gives its folder.
pub(super) async fn prepare(
    request: &Request,
    screen: &mut Screen,
    guard: &Guard,
) -> Result<PathBuf, PythonError> {
    let slot = Slot::of(request)?;
    let mut tool = Tool::new(screen, guard);
    let _lock = slot.lock(&mut tool).await?;
    if !slot.is_ready() {
        make(request, &slot, &mut tool).await?;
    }
    tool.done();
    Ok(slot.folder().to_owned())
}

/// Goes through the Pythons of this machine until one makes a virtual environment.
async fn make(request: &Request, slot: &Slot, tool: &mut Tool<'_>) -> Result<(), PythonError> {
    let mut search = Search::new(request.python.as_deref());
    while let Some(python) = search.next(tool).await? {
        slot.clear()?;
        match venv::create(&python, slot.folder(), tool).await? {
            Ok(()) => {
                venv::install(&python, slot.folder(), &request.requirements, tool).await?;
                slot.complete(&python.version, &request.requirements)?;
                tool.say(&format!(
                    "Python {} is ready in {}",
                    python.version,
                    slot.folder().display()
                ));
                return Ok(());
            }
            Err(why) => search.reject(&python, why),
        }
    }
    Err(search.failure())
}
