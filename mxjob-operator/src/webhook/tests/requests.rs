//! What clients may send, and what they may not.

use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};

use tokio::time::timeout;

use super::*;

#[tokio::test]
async fn a_review_is_answered_and_counted() {
    let bench = Bench::start(echo).await;
    let said = bench.send(&post("{\"objects\": [{\"a\": 1}]}")).await;
    assert_eq!(said.code, 200, "{said:?}");
    assert!(
        said.head.contains("content-type: application/json"),
        "{said:?}"
    );
    assert_eq!(said.json(), json!({"kind": "MXJob", "objects": [{"a": 1}]}));
    assert_eq!(bench.reviews.get(), 1);
    let kind = "Application/JSON; charset=utf-8";
    let said = bench.send(&request("POST /convert", kind, 2, "{}")).await;
    assert_eq!(said.code, 200, "{said:?}");
}

// contract: 12.11
#[tokio::test]
async fn a_request_that_is_none_is_told_why() {
    let bench = Bench::start(echo).await;
    let deep = "[".repeat(100_000);
    let json = "application/json";
    for (line, kind, body, code, why) in [
        ("GET /convert", json, "", 405, "/convert takes POST alone"),
        ("POST /", json, "{}", 404, "there is /convert alone"),
        (
            "POST /convert/more",
            json,
            "{}",
            404,
            "there is /convert alone",
        ),
        (
            "POST /convert",
            "text/plain",
            "{}",
            415,
            "sent as application/json",
        ),
        ("POST /convert", "", "{}", 415, "sent as application/json"),
        (
            "POST /convert",
            json,
            "",
            400,
            "not a ConversionReview in JSON: EOF",
        ),
        (
            "POST /convert",
            json,
            "{\"a\": [1,",
            400,
            "not a ConversionReview in JSON: EOF",
        ),
        (
            "POST /convert",
            json,
            "a: yaml",
            400,
            "not a ConversionReview in JSON: expected value",
        ),
        (
            "POST /convert",
            json,
            &deep,
            400,
            "not a ConversionReview in JSON: recursion limit",
        ),
    ] {
        let said = bench.send(&request(line, kind, body.len(), body)).await;
        assert_eq!(said.code, code, "{line} {kind} {}", said.text());
        assert!(said.text().contains(why), "{line} {kind}: {}", said.text());
    }
    assert_eq!(bench.reviews.get(), 0);
    bench.works().await;
}

#[tokio::test]
async fn half_a_body_is_told_so() {
    let bench = Bench::start(echo).await;
    let mut stream = bench.connect().await;
    let half = request("POST /convert", "application/json", 1000, "{\"objects\": [");
    stream.write_all(&half).await.unwrap();
    stream.shutdown().await.unwrap();
    let said = answer(&mut stream).await;
    assert_eq!(said.code, 400, "{said:?}");
    assert!(said.text().contains("body"), "{said:?}");
    bench.works().await;
}

#[tokio::test]
async fn more_than_memory_should_hold_is_refused() {
    let bench = Bench::start(echo).await;
    let mut stream = bench.connect().await;
    let more = server::LONGEST_BODY + 1;
    let head = request("POST /convert", "application/json", more, "");
    stream.write_all(&head).await.unwrap();
    let (mut reading, mut writing) = tokio::io::split(stream);
    let sending = tokio::spawn(async move {
        let piece = vec![b' '; 1 << 20];
        // The server hangs up when it has seen enough.
        while writing.write_all(&piece).await.is_ok() {}
    });
    let said = answer(&mut reading).await;
    assert_eq!(said.code, 413, "{said:?}");
    assert!(
        said.text().contains("more than 134217728 bytes"),
        "{said:?}"
    );
    sending.abort();
    bench.works().await;
}

#[tokio::test]
async fn ten_megabytes_of_objects_come_back_whole() {
    let bench = Bench::start(echo).await;
    let object = json!({"kind": "MXJob", "padding": "x".repeat(10_000)});
    let objects = json!(vec![object; 1000]);
    let body = json!({"objects": objects}).to_string();
    assert!(body.len() > 10_000_000);
    let said = bench.send(&post(&body)).await;
    assert_eq!(said.code, 200);
    assert!(said.json()["objects"] == objects);
}

#[tokio::test]
async fn who_does_not_encrypt_is_told_to() {
    let bench = Bench::start(echo).await;
    let mut stream = bench.plain().await;
    stream.write_all(&post("{}")).await.unwrap();
    let said = answer(&mut stream).await;
    assert_eq!(
        (said.code, said.text()),
        (400, "this address speaks HTTPS only\n")
    );
    assert!(is_closed(&mut stream).await);
    let mut noise = bench.plain().await;
    // As a handshake begins, and then none.
    noise.write_all(&[0x16; 1000]).await.unwrap();
    while !is_closed(&mut noise).await {}
    assert_eq!(bench.reviews.get(), 0);
    bench.works().await;
}

fn break_down(_: &'static RoleTable, _: &Value) -> Value {
    panic!("as a mistake in the conversion would");
}

// contract: 12.11
#[tokio::test]
async fn a_conversion_that_breaks_is_an_error_of_that_request_alone() {
    let bench = Bench::start(break_down).await;
    for _ in 0..3 {
        let said = bench.send(&post("{}")).await;
        assert_eq!(said.code, 500, "{said:?}");
        assert!(said.text().contains("see the operator's log"), "{said:?}");
    }
}

/// Clients that say nothing, half a header and half a body.
async fn silent(bench: &Bench) -> (TcpStream, TlsStream<TcpStream>, TlsStream<TcpStream>) {
    let nothing = bench.plain().await;
    let mut header = bench.connect().await;
    header.write_all(b"POST /convert HT").await.unwrap();
    let mut body = bench.connect().await;
    let half = request("POST /convert", "application/json", 1000, "{");
    body.write_all(&half).await.unwrap();
    (nothing, header, body)
}

#[tokio::test]
async fn clients_that_say_nothing_hold_up_nobody() {
    let bench = Bench::start(echo).await;
    let mut first = bench.plain().await;
    let crowd = async {
        let mut clients = Vec::new();
        for _ in 0..10 {
            clients.push(silent(&bench).await);
        }
        bench.works().await;
    };
    tokio::select! {
        () = crowd => {}
        _ = is_closed(&mut first) => panic!("the first was waited for, until it was given up"),
    }
}

#[tokio::test]
async fn clients_that_say_nothing_are_not_waited_for() {
    let bench = Bench::start(echo).await;
    let (mut nothing, mut header, mut body) = silent(&bench).await;
    // From here on time passes as soon as everybody only waits for it.
    tokio::time::pause();
    let end = async {
        assert!(is_closed(&mut nothing).await);
        let said = answer(&mut body).await;
        assert_eq!(
            (said.code, said.text()),
            (408, "the body did not come within 30 s\n")
        );
        assert!(is_closed(&mut header).await);
    };
    timeout(Duration::from_mins(3), end).await.unwrap();
}

/// Where a slow conversion says that it has begun, and waits for leave to go on.
static GATE: Mutex<Option<(Sender<()>, Receiver<()>)>> = Mutex::new(None);

fn slow(table: &'static RoleTable, request: &Value) -> Value {
    let (begun, leave) = GATE.lock().unwrap().take().unwrap();
    begun.send(()).unwrap();
    // A test that has failed gives none.
    let _ = leave.recv();
    echo(table, request)
}

#[tokio::test]
async fn a_stop_waits_for_the_answer_and_for_nobody_else() {
    let ((begins, begun), (allow, leave)) = (mpsc::channel(), mpsc::channel());
    *GATE.lock().unwrap() = Some((begins, leave));
    let bench = Bench::start(slow).await;
    let silent = bench.plain().await;
    let idle = bench.connect().await;
    let mut asking = bench.connect().await;
    asking.write_all(&post("{}")).await.unwrap();
    let begun = tokio::task::spawn_blocking(move || begun.recv());
    begun.await.unwrap().unwrap();
    bench.stop.send_replace(Some(Why::Told));
    // Whoever comes now finds nobody.
    while TcpStream::connect(bench.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!bench.answering.is_finished());
    allow.send(()).unwrap();
    assert_eq!(answer(&mut asking).await.code, 200);
    timeout(Duration::from_secs(5), bench.answering)
        .await
        .unwrap()
        .unwrap();
    drop((silent, idle));
}

// contract: 11.33
#[tokio::test]
async fn who_still_comes_when_it_is_time_to_stop_is_answered_and_goes_elsewhere_then() {
    let farewell = Farewell {
        unnoticed: Duration::ZERO,
        quiet: Duration::from_secs(4),
        open: HOUR,
        silence: HOUR,
        new: Duration::ZERO,
        answers: Duration::ZERO,
    };
    let rotation = rotation(here().names(), Duration::ZERO);
    let bench = Bench::start_to_go(echo, rotation, farewell).await;
    let mut old = bench.connect().await;
    old.write_all(&post("{}")).await.unwrap();
    let said = answer(&mut old).await;
    assert_eq!((said.code, said.head.contains("connection")), (200, false));
    let mut pool = Vec::new();
    for _ in 0..8 {
        pool.push(bench.connect().await);
    }

    let told = Instant::now();
    bench.stop.send_replace(Some(Why::Told));
    let mut new = bench.connect().await;
    for stream in [&mut old, &mut new] {
        stream.write_all(&post("{}")).await.unwrap();
        let said = answer(stream).await;
        assert_eq!(said.code, 200);
        assert!(said.head.contains("connection: close"), "{}", said.head);
        assert!(is_closed(stream).await);
    }
    // As long as somebody comes it does not close.
    for mut stream in pool {
        tokio::time::sleep(farewell.quiet / 4).await;
        stream.write_all(&post("{}")).await.unwrap();
        assert_eq!(answer(&mut stream).await.code, 200);
    }
    assert!(told.elapsed() >= farewell.quiet * 2);
    new = bench.connect().await;
    while TcpStream::connect(bench.address).await.is_ok() {
        // Each of these is somebody who comes.
        tokio::time::sleep(farewell.quiet * 2).await;
    }
    assert!(!bench.answering.is_finished());
    // One that has come and not asked yet may.
    new.write_all(&post("{}")).await.unwrap();
    assert_eq!(answer(&mut new).await.code, 200);
    let all_answered = timeout(Duration::from_secs(5), bench.answering).await;
    assert!(all_answered.unwrap().unwrap());
}

#[tokio::test]
async fn it_closes_although_somebody_comes_all_the_time() {
    let farewell = Farewell {
        quiet: HOUR,
        open: Duration::from_millis(100),
        ..AT_ONCE
    };
    let rotation = rotation(here().names(), Duration::ZERO);
    let bench = Bench::start_to_go(echo, rotation, farewell).await;
    bench.stop.send_replace(Some(Why::Told));
    while let Ok(stream) = TcpStream::connect(bench.address).await {
        drop(stream);
        tokio::task::yield_now().await;
    }
    assert!(bench.answering.await.unwrap());
}

// contract: 11.33
#[tokio::test]
async fn who_came_just_before_it_closed_may_still_ask() {
    let farewell = Farewell {
        new: HOUR,
        answers: HOUR,
        ..AT_ONCE
    };
    let rotation = rotation(here().names(), Duration::ZERO);
    let bench = Bench::start_to_go(echo, rotation, farewell).await;
    let mut silent = TcpStream::connect(bench.address).await.unwrap();
    let mut new = bench.connect().await;
    bench.stop.send_replace(Some(Why::Told));
    while TcpStream::connect(bench.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    new.write_all(&post("{}")).await.unwrap();
    assert_eq!(answer(&mut new).await.code, 200);
    assert!(is_closed(&mut new).await);
    assert!(!bench.answering.is_finished());
    silent.shutdown().await.unwrap();
    assert!(bench.answering.await.unwrap());
}

// contract: 11.33
#[tokio::test]
async fn one_that_ends_by_itself_answers_until_that_is_known() {
    let farewell = Farewell {
        unnoticed: HOUR,
        ..AT_ONCE
    };
    let rotation = rotation(here().names(), Duration::ZERO);
    let bench = Bench::start_to_go(echo, rotation, farewell).await;
    bench.stop.send_replace(Some(Why::Fails));
    for _ in 0..3 {
        let mut stream = bench.connect().await;
        stream.write_all(&post("{}")).await.unwrap();
        let said = answer(&mut stream).await;
        assert_eq!(said.code, 200);
        assert!(said.head.contains("connection: close"), "{}", said.head);
    }
    assert!(!bench.answering.is_finished());
    // Who tells it now knows.
    bench.stop.send_replace(Some(Why::Told));
    assert!(bench.answering.await.unwrap());
}
