//! What the compiler says about a set that extends others: text put together in constants.

use super::Role;

/// An error message put together while compiling; what is too long is cut.
pub(super) struct Message {
    bytes: [u8; 1024],
    length: usize,
}

impl Message {
    pub(super) const fn new(start: &str, name: &str) -> Self {
        let empty = Self {
            bytes: [0; 1024],
            length: 0,
        };
        empty.and(start).and(name)
    }

    pub(super) const fn and(mut self, text: &str) -> Self {
        let (_, free) = self.bytes.split_at_mut(self.length);
        if text.len() <= free.len() {
            free.split_at_mut(text.len())
                .0
                .copy_from_slice(text.as_bytes());
            self.length += text.len();
        }
        self
    }

    /// The end of a sentence about a role of another mode.
    pub(super) const fn never(self, mode: &str) -> Self {
        self.and("`, which a job of mode `")
            .and(mode)
            .and("` never has: name a role of `")
            .and(mode)
            .and("`")
    }

    pub(super) const fn roles(mut self, mut roles: &[Role]) -> Self {
        let mut separator = "`";
        while let [role, later @ ..] = roles {
            self = self.and(separator).and(role.name).and("`");
            separator = ", `";
            roles = later;
        }
        self
    }

    #[track_caller]
    #[allow(
        clippy::panic,
        reason = "in a constant it is a compile error, the way to have one in own words"
    )]
    pub(super) const fn fail(self) -> ! {
        match str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => panic!("the declaration does not fit its base set"),
        }
    }
}

/// `==`, which constants do not have for text yet.
pub(super) const fn same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let ([first, one_later @ ..], [second, other_later @ ..]) = (one, other) {
        if *first != *second {
            return false;
        }
        (one, other) = (one_later, other_later);
    }
    one.is_empty() && other.is_empty()
}
