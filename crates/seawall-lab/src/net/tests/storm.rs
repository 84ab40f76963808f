//! Ten thousand callers with a thousand keys, and faults at random.

use super::*;
use crate::plan::{Answers, Idempotency, MethodPattern, Mix, PathPattern, Pattern};
use seawall_core::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const KEYS: usize = 1_000;
const CALLERS: usize = 10_000;
/// Callers whose attempt is on the wire at one time; the others wait for a connection. Both ends are in this process,
/// and a process may have 1 024 files.
const CONNECTIONS: usize = 400;
/// How long a caller waits for an answer. Too short for one is no harm: that is one more lost answer. Too short for most
/// would be a storm without an end: `CONNECTIONS` answers take a fast machine some ten milliseconds.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// A storm of some seconds; only one that would never end is stopped.
const STORM_MAX: Duration = Duration::from_secs(600);
/// What attempts meet, in thousandths: faults before the work, faults after it, and good answers, some of them late.
const WEATHER: [(&str, u64); 22] = [
    ("200", 360),
    ("200 delay=30ms", 60),
    ("201", 20),
    ("503", 60),
    ("429", 30),
    ("409", 20),
    ("error-in-200", 20),
    ("reset", 50),
    ("close", 30),
    ("hang", 10),
    ("garbage", 20),
    ("apply then reset", 70),
    ("apply then close", 30),
    ("apply then hang", 10),
    ("apply then 503", 40),
    ("apply then 500 delay=20ms", 20),
    ("truncate at=50%", 40),
    ("reset after=10", 30),
    ("wrong-length +3", 20),
    ("wrong-length -3", 20),
    ("bad-chunk", 20),
    ("half-close", 20),
];

/// What a caller made of an answer.
enum Heard {
    /// A good one, with this id; the connection goes on.
    Good(String),
    /// Not one to be content with; whether the connection goes on is not known, so it does not.
    Bad,
}

/// Sends the same payment on this connection and reads one answer.
async fn attempt(stream: &mut TcpStream, key: usize) -> Heard {
    let sent = format!("{{\"amount\":{key}}}");
    let request = format!(
        "POST /v1/payments HTTP/1.1\r\nhost: x\r\nidempotency-key: key-{key}\r\ncontent-length: {}\r\n\r\n{sent}",
        sent.len()
    );
    if stream.write_all(request.as_bytes()).await.is_err() {
        return Heard::Bad;
    }
    let mut bytes = Vec::new();
    loop {
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return Heard::Bad,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = header(head, "content-length").and_then(|length| length.parse().ok());
        if !matches!(head.get(9..12), Some("200" | "201")) {
            return Heard::Bad;
        }
        // The length is all that tells a whole answer from a cut one.
        if length.is_some_and(|length: usize| body.len() >= length) {
            let read: Option<Value> = length.and_then(|length| serde_json::from_str(&body[..length]).ok());
            let id = read.and_then(|object| object["id"].as_str().map(str::to_owned));
            return id.map_or(Heard::Bad, Heard::Good);
        }
    }
}

/// Connections that have ended well, for whoever comes next.
#[derive(Default)]
struct Pool(Mutex<Vec<TcpStream>>);

impl Pool {
    fn take(&self) -> Option<TcpStream> {
        self.0.lock().unwrap().pop()
    }

    fn give(&self, stream: TcpStream) {
        self.0.lock().unwrap().push(stream);
    }
}

/// A caller that sends one payment, with one key, until it has a good answer.
async fn caller(address: SocketAddr, key: usize, places: Arc<Semaphore>, pool: Arc<Pool>) -> (usize, String) {
    loop {
        let _place = places.acquire().await.expect("the places stay open");
        let mut stream = match pool.take() {
            Some(stream) => stream,
            None => match TcpStream::connect(address).await {
                Ok(stream) => stream,
                Err(_) => continue,
            },
        };
        let heard = tokio::time::timeout(ANSWER_MAX, attempt(&mut stream, key)).await;
        if let Ok(Heard::Good(id)) = heard {
            pool.give(stream);
            return (key, id);
        }
    }
}

fn weather() -> Rule {
    let part = |(text, share): (&str, u64)| (text.parse().unwrap(), share * (Mix::WHOLE / 1_000));
    let mix = Mix::new(WEATHER.into_iter().map(part).collect()).unwrap();
    let pattern = Pattern {
        method: MethodPattern::Is("POST".to_owned()),
        path: PathPattern::Is("/v1/payments".to_owned()),
    };
    let mut rule = Rule::new(pattern, Answers::Mix(mix));
    rule.resource = Some("payments".to_owned());
    rule.idempotency = Some(Idempotency::default());
    rule
}

/// Every key ten times, in an order of chance; two callers of one key stand side by side, so that they meet.
fn deck(seed: u64) -> Vec<usize> {
    let mut rng = Rng::new(seed, 0);
    let mut pairs: Vec<usize> = (0..CALLERS / 2).map(|pair| pair % KEYS).collect();
    for last in (1..pairs.len()).rev() {
        let other = usize::try_from(rng.up_to(last as u64)).unwrap();
        pairs.swap(last, other);
    }
    pairs.into_iter().flat_map(|key| [key, key]).collect()
}

#[expect(clippy::print_stdout, reason = "a test's own words, shown when it fails")]
fn report(seed: u64, figures: &[(&str, usize)]) {
    println!("seed {seed}: {figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_callers_with_a_thousand_keys_make_a_thousand_payments() {
    // Could break by any order of faults, repeats and racing callers in which one key does the work twice, never, or
    // is answered with another's payment. `SEAWALL_STORM=seed cargo test storm` plays another one.
    let given = std::env::var("SEAWALL_STORM").ok();
    let seed: u64 = given.map_or(7, |seed| seed.parse().expect("SEAWALL_STORM is a number"));
    let mock = Mock::builder().rule(weather()).seed(seed).start().await.unwrap();
    let (places, pool) = (Arc::new(Semaphore::new(CONNECTIONS)), Arc::new(Pool::default()));
    let mut callers = JoinSet::new();
    for key in deck(seed) {
        callers.spawn(caller(
            mock.address(),
            key,
            Arc::clone(&places),
            Arc::clone(&pool),
        ));
    }
    let mut ids: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let storm = async {
        while let Some(ended) = callers.join_next().await {
            let (key, id) = ended.unwrap();
            ids.entry(key).or_default().insert(id);
        }
    };
    let over = tokio::time::timeout(STORM_MAX, storm).await;
    assert!(over.is_ok(), "seed {seed}: some callers never get a good answer");
    drop(pool);
    assert_eq!(ids.len(), KEYS, "seed {seed}: keys that were answered");
    let torn: Vec<_> = ids.iter().filter(|(_, ids)| ids.len() != 1).collect();
    assert!(torn.is_empty(), "seed {seed}: keys with two payments: {torn:?}");
    let objects = mock.resources("payments");
    assert_eq!(objects.len(), KEYS, "seed {seed}: payments");
    for object in &objects {
        let key: usize = object.field("amount").unwrap().parse().unwrap();
        assert!(
            ids[&key].contains(object.id()),
            "seed {seed}: {} is not key {key}'s",
            object.id()
        );
    }
    let attempts = tokio::time::timeout(PATIENCE, mock.quiet())
        .await
        .map(|()| mock.journal().attempts)
        .expect("everything ends");
    let did = |word: &str| {
        attempts
            .iter()
            .filter(|attempt| attempt.work == Some(word))
            .count()
    };
    assert_eq!(did("created"), KEYS, "seed {seed}");
    // A storm in which nothing was lost after it was done, and nobody met a key in flight, would prove nothing.
    let lost = attempts
        .iter()
        .filter(|attempt| {
            attempt.work == Some("created") && attempt.fault.as_deref().is_some_and(|fault| fault != "delay")
        })
        .count();
    assert!(
        lost > KEYS / 5,
        "seed {seed}: {lost} payments were done and not answered"
    );
    assert!(
        did("key-in-flight") > 0,
        "seed {seed}: no caller met another's attempt"
    );
    assert!(did("replayed") >= CALLERS - KEYS, "seed {seed}");
    assert_eq!(did("key-reused"), 0, "seed {seed}");
    report(
        seed,
        &[
            ("attempts", attempts.len()),
            ("lost", lost),
            ("in flight", did("key-in-flight")),
        ],
    );
}
