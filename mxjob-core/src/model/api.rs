//! What a request may ask for, and what the API server answers instead of doing it.

/// What an object must be for a request to be carried out; empty: whatever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// It has this uid.
    pub uid: Option<String>,
    /// It has this resourceVersion.
    pub version: Option<String>,
}

/// How an object is deleted; its dependants go after it, in the background.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Only if it is this one.
    pub only: Preconditions,
    /// Seconds that a pod has to stop; `None`: as the pod says.
    pub grace: Option<i64>,
}

impl Deletion {
    /// Deletes the object of that uid, however long it takes.
    pub fn of(uid: &str) -> Self {
        Self {
            only: Preconditions {
                uid: Some(uid.to_owned()),
                version: None,
            },
            grace: None,
        }
    }

    /// Deletes whatever is there, at once.
    pub fn now() -> Self {
        Self {
            grace: Some(0),
            ..Self::default()
        }
    }
}

/// Which part of an object an update writes; the rest stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the status.
    Main,
    /// The status.
    Status,
}

/// What the API server answers instead of doing something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// 409: an object of that name is there.
    #[error("{kind} \"{name}\" already exists")]
    AlreadyExists {
        /// Kind, plural.
        kind: &'static str,
        /// Name.
        name: String,
    },
    /// 404: no object of that name is there.
    #[error("{kind} \"{name}\" not found")]
    NotFound {
        /// Kind, plural.
        kind: &'static str,
        /// Name.
        name: String,
    },
    /// 409: it is another object than the one meant, or has changed.
    #[error("{kind} \"{name}\": the {what} in the precondition does not match")]
    Conflict {
        /// Kind, plural.
        kind: &'static str,
        /// Name.
        name: String,
        /// `uid` or `resourceVersion`.
        what: &'static str,
    },
    /// 422: such an object cannot be stored.
    #[error("{kind} \"{name}\" is invalid: {why}")]
    Invalid {
        /// Kind, plural.
        kind: &'static str,
        /// Name.
        name: String,
        /// The field and what is wrong with it.
        why: &'static str,
    },
    /// 500: something went wrong; the request may have been carried out all the same.
    #[error("internal error")]
    Internal,
}

impl ApiError {
    /// The HTTP status code.
    pub const fn code(&self) -> u16 {
        match self {
            Self::NotFound { .. } => 404,
            Self::AlreadyExists { .. } | Self::Conflict { .. } => 409,
            Self::Invalid { .. } => 422,
            Self::Internal => 500,
        }
    }

    /// `reason` of the answer.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "NotFound",
            Self::AlreadyExists { .. } => "AlreadyExists",
            Self::Conflict { .. } => "Conflict",
            Self::Invalid { .. } => "Invalid",
            Self::Internal => "InternalError",
        }
    }
}
