//! Profiles over sockets.

use super::*;
use crate::plan::Profile;
use seawall::crank::CrankedClock;
use seawall_core::time::{Duration, Instant};
use tokio::task::JoinSet;

async fn mock(profile: Profile, clock: &CrankedClock) -> Arc<Mock> {
    let builder = Mock::builder().profile(profile).clock(Arc::new(clock.clone()));
    Arc::new(builder.start().await.unwrap())
}

const GET: &str = "GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

async fn met(mock: &Arc<Mock>, clock: &CrankedClock) -> (String, End) {
    answered(mock, clock, GET).await
}

/// One answer to its end, while the clock is turned as far as it takes.
async fn answered(mock: &Arc<Mock>, clock: &CrankedClock, request: &'static str) -> (String, End) {
    let mut asked = tokio::spawn({
        let mock = Arc::clone(mock);
        async move { raw(&mock, request).await }
    });
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return answer.unwrap(),
            () = clock.awaited() => { clock.step(); }
        }
    }
}

/// One request on this connection, and how its answer ends. The clock is turned only for an answer that is kept back.
async fn on(stream: &mut TcpStream, mock: &Mock, clock: &CrankedClock) -> String {
    stream.write_all(GET.as_bytes()).await.unwrap();
    let mut read = Box::pin(read_out(stream));
    let (answer, end) = loop {
        tokio::select! {
            biased;
            read = &mut read => break read,
            () = tokio::task::yield_now() => {}
        }
        if mock.kept_waiting() > 0 {
            clock.step();
        }
    };
    match end {
        End::Rst => "reset".to_owned(),
        End::Fin => status(&answer).to_string(),
    }
}

#[tokio::test]
async fn an_outage_comes_and_goes_by_the_clock() {
    // Could break if attempts drew their luck (an outage is one for everybody, and over when it is over), or if the mock
    // went on listening and reset what it should refuse.
    let clock = CrankedClock::new();
    let mock = mock(Profile::Outage, &clock).await;
    let mut open_before = TcpStream::connect(mock.address()).await.unwrap();
    for (second, expected) in [
        (0, "200"),
        (10, "refused"),
        (14, "refused"),
        (15, "503"),
        (19, "503"),
        (20, "refused"),
        (25, "503"),
        (29, "503"),
        (30, "200"),
        (59, "200"),
        (70, "refused"),
        (75, "503"),
        (90, "200"),
    ] {
        let due = Instant::START.after(Duration::from_secs(second));
        clock.advance(due.since(clock.now()));
        // The port opens and closes a moment after the clock was turned; what it does not become it never is.
        let connected = async {
            loop {
                match TcpStream::connect(mock.address()).await {
                    Ok(stream) if expected != "refused" => return Some(stream),
                    Err(error)
                        if expected == "refused" && error.kind() == io::ErrorKind::ConnectionRefused =>
                    {
                        return None;
                    }
                    Ok(_) | Err(_) => tokio::task::yield_now().await,
                }
            }
        };
        let connected = tokio::time::timeout(PATIENCE, connected).await;
        let met = match connected.unwrap_or_else(|_| panic!("{second}: not {expected}")) {
            None => "refused".to_owned(),
            Some(mut stream) => on(&mut stream, &mock, &clock).await,
        };
        assert_eq!(met, expected, "{second}");
        if second == 10 {
            assert_eq!(on(&mut open_before, &mock, &clock).await, "reset");
        }
    }
}

#[tokio::test]
async fn what_a_flaky_stream_has_begun_to_say_it_says_to_its_end() {
    // Could break on the wire where the plan is right: a stream that is cut after content cannot be saved by any client.
    const CHAT: &str = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 28\r\n\r\n\
                        {\"stream\":true,\"messages\":0}";
    let clock = CrankedClock::new();
    let mock = mock(Profile::Flaky, &clock).await;
    let (mut whole, mut cut, mut ended) = (0, 0, 0);
    for _ in 0..800 {
        let (answer, end) = answered(&mock, &clock, CHAT).await;
        let has_content = answer.contains(r#""content":"mock"#);
        let is_whole = answer.contains("[DONE]") && answer.ends_with("0\r\n\r\n");
        assert_eq!(
            (has_content, is_whole && end == End::Fin),
            (is_whole, has_content),
            "{answer}"
        );
        whole += u32::from(is_whole);
        let chunks_end = answer.ends_with("0\r\n\r\n");
        match header(&answer, "x-seawall-fault") {
            Some("stream then=cut") => {
                assert!(answer.contains("data: ") && !chunks_end, "{answer}");
                cut += 1;
            }
            Some("stream then=no-done") => {
                assert!(answer.contains("data: ") && chunks_end, "{answer}");
                ended += 1;
            }
            Some(_) | None => {}
        }
    }
    assert!(
        whole > 700 && cut > 0 && ended > 0,
        "{whole} whole, {cut} cut, {ended} ended"
    );
}

#[tokio::test]
async fn sixty_a_minute_and_no_more() {
    // Could break if the limit of the profile were one for each path, key or connection.
    let clock = CrankedClock::new();
    let mock = mock(Profile::RateLimited, &clock).await;
    let mut asked = JoinSet::new();
    for count in 0..62 {
        let mock_of_task = Arc::clone(&mock);
        let path = format!("/{count}");
        asked.spawn(async move { status(&ask(&mock_of_task, "GET", &path, "").await) });
    }
    // No time has passed yet: sixty are being answered, and the two whom nobody keeps waiting are refused.
    let refused = [asked.join_next().await, asked.join_next().await];
    assert!(
        refused.iter().flatten().all(|status| matches!(status, Ok(429))),
        "{refused:?}"
    );
    let mut met_all = Vec::new();
    while !asked.is_empty() {
        tokio::select! {
            biased;
            Some(status) = asked.join_next() => met_all.push(status.unwrap()),
            () = clock.awaited() => { clock.step(); }
        }
    }
    assert_eq!(met_all, [200; 60]);
    let refused = mock
        .journal()
        .attempts
        .into_iter()
        .filter(|attempt| attempt.status == Some(429));
    assert!(
        refused
            .map(|attempt| attempt.fault)
            .all(|fault| fault.as_deref() == Some("limit"))
    );
}

#[tokio::test]
async fn a_storm_answers_fifty_and_fails_who_comes_after() {
    // Could break if those that wait were not in flight, or those that failed never left.
    let clock = CrankedClock::new();
    let mock = mock(Profile::Storm, &clock).await;
    let mut asked = JoinSet::new();
    for count in 1..=52 {
        let mock_of_task = Arc::clone(&mock);
        asked.spawn(async move { ask(&mock_of_task, "GET", "/x", "").await });
        // One after the other: what each meets depends on who is there.
        while mock.kept_waiting() < count {
            tokio::task::yield_now().await;
        }
    }
    while !asked.is_empty() {
        tokio::select! {
            biased;
            Some(_) = asked.join_next() => {}
            () = clock.awaited() => { clock.step(); }
        }
    }
    let attempts = mock.journal().attempts;
    let statuses: Vec<_> = attempts.iter().map(|attempt| attempt.status.unwrap()).collect();
    assert_eq!(statuses[..50], [200; 50]);
    assert_eq!(statuses[50..], [503, 503]);
    let took: Vec<_> = attempts.iter().map(|attempt| attempt.took().unwrap()).collect();
    assert!(took[50] >= Duration::from_secs(10), "{}", took[50]);
    // The storm is over: the server is as quick as an idle one.
    let before = clock.now();
    assert_eq!(status(&met(&mock, &clock).await.0), 200);
    assert!(clock.now().since(before) < Duration::from_secs(3));
}
