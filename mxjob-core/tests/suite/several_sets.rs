//! Sets put together from others, and what their roles bring along.

use mxjob_core::role::Port;
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    crd(group = "example.org", kind = "FilmJob", singular = "film"),
    container = "render",
    port(name = "tiles", number = 7000),
    mode(Render, chief = [Renderer]),
)]
enum Film {
    #[role(mode = Render, replicas = 1)]
    Renderer,
    #[role(mode = Render, replicas = 1, container = "cut", port(name = "scenes", number = 7001))]
    Cutter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
enum Both {
    #[role(extend)]
    Mx(MxRole),
    #[role(extend)]
    Film(Film),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(container = "work")]
enum Renamed {
    #[role(extend)]
    Mx(MxRole),
    #[role(extend)]
    Film(Film),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(port(name = "door", number = 7002))]
enum Moved {
    #[role(extend)]
    Mx(MxRole),
    #[role(extend)]
    Film(Film),
}

/// Container and port of a role, where they are not the set's.
fn own<R: ReplicaRole>(role: R) -> (Option<&'static str>, Option<Port>) {
    let role = R::TABLE.role(role.id());
    (role.container, role.port)
}

#[test]
fn the_roles_of_a_later_base_set_keep_its_container_and_port() {
    let (tiles, scenes) = (Port::new("tiles", 7000), Port::new("scenes", 7001));
    assert_eq!(Both::TABLE.container, MxRole::TABLE.container);
    assert_eq!(own(Both::Mx(MxRole::Tuner)), (None, None));
    assert_eq!(
        own(Both::Film(Film::Renderer)),
        (Some("render"), Some(tiles))
    );
    assert_eq!(own(Both::Film(Film::Cutter)), (Some("cut"), Some(scenes)));
}

#[test]
fn what_the_extension_says_itself_is_for_the_roles_of_all_its_base_sets() {
    let (tiles, scenes) = (Port::new("tiles", 7000), Port::new("scenes", 7001));
    assert_eq!(Renamed::TABLE.container, "work");
    assert_eq!(own(Renamed::Film(Film::Renderer)), (None, Some(tiles)));
    assert_eq!(
        own(Renamed::Film(Film::Cutter)),
        (Some("cut"), Some(scenes))
    );
    assert_eq!(Moved::TABLE.port, Port::new("door", 7002));
    assert_eq!(own(Moved::Film(Film::Renderer)), (Some("render"), None));
}

#[test]
fn the_plural_comes_from_the_singular() {
    assert_eq!(Film::TABLE.crd.plural, "films");
}
