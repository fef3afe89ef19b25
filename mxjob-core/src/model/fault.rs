//! Requests that fail.

use super::api::ApiError;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It is refused with a server error, and not carried out.
    Refused,
    /// It is carried out and answered with a server error.
    Lost,
}

/// Sends a request; what goes wrong is told.
pub(super) fn send<T>(
    fault: Fault,
    request: impl FnOnce() -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    match fault {
        Fault::None => request(),
        Fault::Refused => Err(ApiError::Internal),
        Fault::Lost => {
            // Whoever asked never hears the answer.
            let _unheard = request();
            Err(ApiError::Internal)
        }
    }
}
