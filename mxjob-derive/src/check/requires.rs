//! `requires`: other roles of the same mode, and no circles.

use crate::errors::Errors;
use crate::model::{Role, RoleSet};

/// No role requires itself, a role of another mode, one twice, or in a circle.
pub(super) fn of_roles(set: &RoleSet, errors: &mut Errors) {
    for (position, role) in set.roles.iter().enumerate() {
        of_role(set, role, errors);
        circle(set, position, errors);
    }
}

fn of_role(set: &RoleSet, role: &Role, errors: &mut Errors) {
    let requires = &role.keys.requires;
    for (position, reference) in requires.iter().enumerate() {
        let text = reference.text();
        if reference.names(&role.ident) {
            errors.at(
                &reference.path,
                format!("`requires` of `{text}` names itself: remove it"),
            );
            continue;
        }
        let Some(target) = set.find(reference) else {
            continue;
        };
        if requires
            .iter()
            .take(position)
            .any(|other| other.names(&target.ident))
        {
            errors.at(
                &reference.path,
                format!("`{text}` is in `requires` twice: remove one"),
            );
        }
        let Some((own, other)) = set.mode_name(role).zip(set.mode_name(target)) else {
            continue;
        };
        if own != other {
            let message = format!(
                "`requires` names `{text}` of mode `{other}`, which a job of mode `{own}` never has: remove it"
            );
            errors.at(&reference.path, message);
        }
    }
}

/// Reports the first circle through the role at `start` and later ones, so that each is found once.
fn circle(set: &RoleSet, start: usize, errors: &mut Errors) {
    let Some(first) = set.roles.get(start) else {
        return;
    };
    let later = set.roles.get(start..).unwrap_or_default();
    let mut seen: Vec<&Role> = vec![first];
    let mut paths: Vec<Vec<&Role>> = vec![vec![first]];
    while let Some(path) = paths.pop() {
        let Some(last) = path.last() else { continue };
        for reference in last
            .keys
            .requires
            .iter()
            .rev()
            .filter(|reference| !reference.names(&last.ident))
        {
            if reference.names(&first.ident) {
                let names: Vec<_> = path
                    .iter()
                    .chain([&first])
                    .map(|role| role.ident.to_string())
                    .collect();
                let message = format!(
                    "`requires` goes in a circle, {}: remove one of them",
                    names.join(" -> ")
                );
                errors.at(&reference.path, message);
                return;
            }
            let next = later.iter().find(|role| reference.names(&role.ident));
            if let Some(next) = next.filter(|next| seen.iter().all(|role| role.ident != next.ident))
            {
                seen.push(next);
                paths.push(path.iter().copied().chain([next]).collect());
            }
        }
    }
}
