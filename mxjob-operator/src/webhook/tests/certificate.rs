//! Whom a client trusts, and since when.

use mxjob_core::role::Crd;

use super::*;

const DAY: Duration = Duration::from_hours(24);

// contract: 12.12, 11.23
#[tokio::test]
async fn an_open_connection_outlives_a_renewal() {
    let (now, at) = (SystemTime::now(), Instant::now());
    let mut bench = Bench::start_with(echo, rotation(here().names(), DAY * 61)).await;
    let old = bench.rotation.authorities().join("\n");
    let mut open = bench.connect().await;
    open.write_all(&post("{}")).await.unwrap();
    assert_eq!(answer(&mut open).await.code, 200);

    // The new CA is told of before anything is shown that needs it.
    let turn = |rotation: &mut Rotation, now, at| {
        rotation.step_alone((now, at)).unwrap();
        rotation.show((now, at));
    };
    turn(&mut bench.rotation, now, at);
    let [first, new] = bench.rotation.authorities()[..] else {
        panic!("{:?}", bench.rotation)
    };
    assert_eq!(first, old);
    let new = new.to_owned();
    let minute = Duration::from_mins(1);
    turn(&mut bench.rotation, now + DAY, at + minute);
    bench.trusting(&old, HOST).await.unwrap();
    bench.trusting(&new, HOST).await.unwrap_err();
    bench.rotation.trusted(&[&old, &new], at);
    bench.rotation.trusted(&[&old, &new], at + minute);
    turn(&mut bench.rotation, now, at + minute / 2);
    bench.trusting(&old, HOST).await.unwrap();

    turn(&mut bench.rotation, now, at + minute);
    assert_eq!(bench.rotation.authorities(), [&new]);
    bench.trusting(&old, HOST).await.unwrap_err();
    bench.trusting(&new, HOST).await.unwrap();
    open.write_all(&post("{}")).await.unwrap();
    assert_eq!(answer(&mut open).await.code, 200);

    turn(&mut bench.rotation, now + DAY * 59, at);
    assert_eq!(bench.rotation.authorities(), [&new]);
    turn(&mut bench.rotation, now + DAY * 61, at);
    assert_eq!(bench.rotation.authorities().len(), 2);
}

#[tokio::test]
async fn the_certificate_is_for_its_names_and_no_longer_than_said() {
    let reach = Reach::Service("lab".to_owned());
    let new = |age| rotation(reach.names(), age);
    let bench = Bench::start_with(echo, new(Duration::ZERO)).await;
    let bundle = bench.rotation.authorities().join("\n");
    for name in reach.names() {
        bench.trusting(&bundle, &name).await.unwrap();
    }
    for name in ["mxjob-webhook.other.svc", HOST] {
        bench.trusting(&bundle, name).await.unwrap_err();
    }
    for (age, valid) in [(DAY * 89, true), (DAY * 91, false)] {
        let bench = Bench::start_with(echo, new(age)).await;
        let bundle = bench.rotation.authorities().join("\n");
        let shown = bench.trusting(&bundle, &reach.names()[0]).await;
        assert_eq!(shown.is_ok(), valid, "{age:?}");
    }
}

// contract: 12.12
#[tokio::test]
async fn a_definition_is_installed_with_its_conversion() {
    let crd = || conversion::tests::definition(&["v1alpha1", "v1beta1", "v1"]);
    let (_, stop) = Stop::by_hand();
    let cluster = cluster::Cluster::default();
    let start = async |reach| {
        let listener = TcpListener::bind((HOST, 0)).await.unwrap();
        let settings = Settings {
            table: MxRole::TABLE,
            reach,
            place: place(),
            lifetime: LIFETIME,
            review: echo,
            reviews: Counter::default(),
        };
        let started = Webhook::start(settings, &cluster.client(), listener, &stop).await;
        started.unwrap().0
    };
    let webhook = start(Some(here())).await;
    let mut installed = crd();
    webhook.pointer().inject(&mut installed);
    let authorities = webhook.rotation.authorities();
    let expected = conversion::wanted(None, &here(), &authorities);
    assert_eq!(installed.spec.conversion, Some(expected));

    let mut installed = crd();
    start(None).await.pointer().inject(&mut installed);
    assert_eq!(installed, crd());
    let mut old = conversion::tests::definition(&["v1"]);
    webhook.pointer().inject(&mut old);
    assert_eq!(old, conversion::tests::definition(&["v1"]));
}

#[test]
fn a_role_set_without_older_versions_has_no_webhook() {
    assert!(is_needed(MxRole::TABLE));
    let farm = Crd::new("example.org", "Farm", "farms", "farm", &[]);
    assert!(!is_needed(&RoleTable::new(&[], &[]).crd(farm)));
}
