//! Which requests go wrong, and how.

use std::time::Duration;

use super::Asked;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is not passed on and answered with that code.
    Before {
        /// The status code.
        code: u16,
        /// The header `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// The request is passed on, and answered with that code whatever the server says.
    After(u16),
    /// The request is passed on later.
    Delay(Duration),
}

/// Some of the requests that match go wrong.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Empty: every one.
    verb: &'static str,
    /// Empty: every one.
    resource: &'static str,
    name: String,
    skip: usize,
    times: usize,
    fault: Fault,
}

impl Rule {
    /// All requests with that verb and resource (see [`Asked`]) fail with code 500.
    pub fn on(verb: &'static str, resource: &'static str) -> Self {
        Self {
            verb,
            resource,
            name: String::new(),
            skip: 0,
            times: usize::MAX,
            fault: Fault::Before {
                code: 500,
                retry_after: None,
            },
        }
    }

    /// All requests fail with code 500.
    pub fn all() -> Self {
        Self::on("", "")
    }

    /// Only those about objects whose name begins so.
    #[must_use]
    pub fn named(self, prefix: &str) -> Self {
        Self {
            name: prefix.to_owned(),
            ..self
        }
    }

    /// Not the first `skip`.
    #[must_use]
    pub fn after(self, skip: usize) -> Self {
        Self { skip, ..self }
    }

    /// Only so many, one after the other.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// What goes wrong.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    fn matches(&self, asked: &Asked) -> bool {
        let is = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        is(self.verb, asked.verb)
            && is(self.resource, &asked.resource)
            && asked.name.starts_with(&self.name)
    }

    /// Counts the request; what goes wrong with it.
    fn strike(&mut self) -> Option<Fault> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.times = self.times.checked_sub(1)?;
        Some(self.fault)
    }
}

/// What the first rule that is about the request makes of it.
pub(super) fn first(rules: &mut [Rule], asked: &Asked) -> Option<Fault> {
    let mut matching = rules.iter_mut().filter(|rule| rule.matches(asked));
    matching.find_map(Rule::strike)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_rule_strikes_after_some_and_so_many_times() {
        let fault = Fault::After(500);
        let rule = Rule::on("create", "pods").named("a-").after(1).times(2);
        let mut rules = [rule.fault(fault)];
        let mut strike = |verb, name: &str| {
            let (resource, name) = ("pods".to_owned(), name.to_owned());
            let at = Instant::now();
            first(
                &mut rules,
                &Asked {
                    verb,
                    resource,
                    name,
                    at,
                },
            )
        };
        assert_eq!(
            (strike("delete", "a-1"), strike("create", "b-1")),
            (None, None)
        );
        let strikes = [(); 4].map(|()| strike("create", "a-1"));
        assert_eq!(strikes, [None, Some(fault), Some(fault), None]);
    }
}
