//! The rows of the table: a fault, and what is right.

use crate::ask::{Able, Ask, Cell, Client, Ended, Kind, Peer, Settings, USUAL};
use futures_util::future::join_all;
use seawall_lab::file::MockFile;
use seawall_lab::net::{Attempt, Mock};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// One row.
pub struct Check {
    /// Its name, for `compare NAME`.
    pub id: &'static str,
    /// What it says on the page, as something that a client does.
    pub promise: &'static str,
    needs: &'static [Able],
    settings: Settings,
    /// What the mock's route answers.
    script: &'static str,
    see: See,
}

/// How a check looks at a client.
enum See {
    /// One call, then what the mock saw of it.
    One(Kind, fn(&Seen) -> Cell),
    /// So many calls at once.
    AtOnce(usize, Kind, fn(&Seen) -> Cell),
    /// So many calls one after another, this far apart, and at the end so many at once.
    Then(Series, fn(&Seen) -> Cell),
    /// A call that its caller leaves, and then another.
    Left(fn(&Seen) -> Cell),
}

#[derive(Clone, Copy)]
struct Series {
    calls: usize,
    apart: Duration,
    /// After this long.
    later: Duration,
    at_once: usize,
    /// What the mock answers then.
    script: Option<&'static str>,
}

/// What happened.
struct Seen {
    ended: Vec<Ended>,
    attempts: Vec<Attempt>,
    /// How many of the attempts were there when a series had ended.
    before: usize,
    took: Duration,
    effects: usize,
}

/// Nobody waits longer than this for a contestant.
const PATIENCE: Duration = Duration::from_secs(8);
/// What is at once is over by then, on a machine of any speed, and what waits for `PATIENCE` or an answer is not.
const AT_ONCE_MAX: Duration = Duration::from_secs(6);
/// A call's deadline, where that is looked at.
const DEADLINE: Duration = Duration::from_secs(3);
/// The longest wait, where that is looked at.
const CAP: Duration = ms(250);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub const CHECKS: &[Check] = &[
    Check {
        id: "hint",
        promise: "waits as long as `Retry-After` says",
        needs: &[Able::Retries],
        settings: USUAL,
        script: "429 retry-after=1, 200",
        see: See::One(Kind::Read, waits_for_the_hint),
    },
    Check {
        id: "junk",
        promise: "takes a `Retry-After` that is no time for absent",
        needs: &[Able::Retries],
        settings: USUAL,
        script: "503 header.retry-after=soon, 200",
        see: See::One(Kind::Read, goes_on),
    },
    Check {
        id: "day",
        promise: "gives up at once where the server asks for a day",
        needs: &[Able::Retries],
        settings: USUAL,
        script: "429 retry-after=86400, 200",
        see: See::One(Kind::Read, gives_up),
    },
    Check {
        id: "spread",
        promise: "spreads the waits of calls that failed together",
        needs: &[Able::Retries],
        settings: Settings {
            base: ms(500),
            cap: ms(2_000),
            ..USUAL
        },
        script: "503",
        see: See::AtOnce(20, Kind::Read, spreads),
    },
    Check {
        id: "cap",
        promise: "never waits longer than its longest wait",
        needs: &[Able::Retries],
        settings: Settings {
            base: CAP,
            cap: CAP,
            ..USUAL
        },
        script: "503",
        see: See::AtOnce(20, Kind::Read, stays_below_the_cap),
    },
    Check {
        id: "deadline",
        promise: "ends within the call's deadline, attempts and waits together",
        needs: &[Able::Retries],
        settings: Settings {
            retries: 10,
            // One that ends by itself after the deadline ends far after it.
            attempt: ms(2_100),
            deadline: DEADLINE,
            ..USUAL
        },
        script: "hang",
        see: See::One(Kind::Read, keeps_its_deadline),
    },
    Check {
        id: "reset",
        promise: "reads again after a reset",
        needs: &[Able::Retries],
        settings: USUAL,
        script: "reset, 200",
        see: See::One(Kind::Read, ends_well),
    },
    Check {
        id: "cut",
        promise: "reads again after a cut answer",
        needs: &[Able::Retries],
        settings: USUAL,
        script: "truncate at=50%, 200",
        see: See::One(Kind::Read, ends_well),
    },
    Check {
        id: "write",
        promise: "never repeats a write that may have acted",
        needs: &[Able::Retries, Able::Writes],
        settings: USUAL,
        script: "apply then reset, 200",
        see: See::One(Kind::Write, acts_once),
    },
    Check {
        id: "refusal",
        promise: "never repeats what was refused (400)",
        needs: &[Able::Retries],
        settings: USUAL,
        script: "400",
        see: See::One(Kind::Read, sends_once),
    },
    Check {
        id: "quota",
        promise: "tells a spent quota from a rate limit (429 `insufficient_quota`)",
        needs: &[Able::Retries],
        settings: USUAL,
        script: "429 code=insufficient_quota",
        see: See::One(Kind::Read, sends_once),
    },
    Check {
        id: "budget",
        promise: "adds at most 40 % of load to the beginning of an outage",
        needs: &[Able::Retries],
        settings: Settings {
            base: ms(1),
            cap: ms(5),
            ..USUAL
        },
        script: "503",
        see: See::AtOnce(200, Kind::Read, adds_little),
    },
    Check {
        id: "breaker",
        promise: "fails fast while an upstream is down",
        needs: &[Able::Breaks],
        settings: Settings {
            base: ms(1),
            cap: ms(5),
            retries: 0,
            open_for: Duration::from_secs(30),
            ..USUAL
        },
        script: "503",
        see: See::Then(
            Series {
                calls: 120,
                apart: ms(10),
                later: ms(0),
                at_once: 20,
                script: None,
            },
            fails_fast,
        ),
    },
    Check {
        id: "half-open",
        promise: "lets a few through to see whether it is back, and not all",
        needs: &[Able::Breaks],
        settings: Settings {
            base: ms(1),
            cap: ms(5),
            retries: 0,
            ..USUAL
        },
        script: "503",
        see: See::Then(
            Series {
                calls: 120,
                apart: ms(10),
                // Longer than a breaker that opened twice stays open.
                later: ms(3_000),
                at_once: 40,
                script: Some("200 delay=1500ms"),
            },
            lets_a_few_through,
        ),
    },
    Check {
        id: "limit",
        promise: "holds how many are out at once",
        needs: &[Able::Limits],
        settings: Settings { at_once: 4, ..USUAL },
        script: "200 delay=50ms",
        see: See::AtOnce(24, Kind::Read, holds_the_limit),
    },
    Check {
        id: "left",
        promise: "gives a place back when its caller leaves",
        needs: &[Able::Limits],
        settings: Settings { at_once: 1, ..USUAL },
        script: "200 delay=7s, 200",
        see: See::Left(frees_the_place),
    },
];

impl Check {
    /// Runs it with this contestant.
    pub async fn see(&self, peer: &Peer) -> Cell {
        self.judge(self.begin(peer).await).await
    }

    /// Runs it with these contestants side by side.
    ///
    /// All are ready before the first makes a call: an interpreter takes its time to begin, and nobody else would get on.
    pub async fn see_all(&self, peers: &[Peer]) -> Vec<Cell> {
        let mut begun = Vec::new();
        for peer in peers {
            begun.push(self.begin(peer).await);
        }
        join_all(begun.into_iter().map(|begun| self.judge(begun))).await
    }

    /// The contestant and a mock of its own, or the cell where there is nothing to run.
    async fn begin(&self, peer: &Peer) -> Result<(Box<dyn Client>, Mock), Cell> {
        if self.needs.iter().any(|need| !peer.able.contains(need)) {
            return Err(Cell::NotItsJob);
        }
        let client = (peer.client)(&self.settings).map_err(Cell::NotRun)?;
        let file = MockFile::parse("compare.toml", &file(self.script))
            .expect("the check's own routes are a mock file");
        let mock = Mock::builder()
            .file(file)
            .start()
            .await
            .expect("a port of the loopback is free");
        Ok((client, mock))
    }

    async fn judge(&self, begun: Result<(Box<dyn Client>, Mock), Cell>) -> Cell {
        let (client, mock) = match begun {
            Ok(begun) => begun,
            Err(cell) => return cell,
        };
        match self.see {
            See::One(kind, judge) => judge(&run(&mock, &*client, 1, kind).await),
            See::AtOnce(calls, kind, judge) => judge(&run(&mock, &*client, calls, kind).await),
            See::Then(series, judge) => judge(&run_series(&mock, &*client, series).await),
            See::Left(judge) => judge(&run_left(&mock, &*client).await),
        }
    }
}

/// Reads in the form of the API that AI clients know, writes that leave something behind.
fn file(script: &str) -> String {
    format!(
        "[[route]]\nmatch = 'GET /*'\ndialect = 'openai'\nscript = '{script}'\n\
         [[route]]\nmatch = 'POST /*'\nresource = 'payments'\nscript = '{script}'\n"
    )
}

fn ask(mock: &Mock, number: usize, kind: Kind) -> Ask {
    Ask {
        kind,
        base: format!("{}/c{number}/v1", mock.url()),
    }
}

async fn call(client: &dyn Client, ask: Ask) -> Ended {
    match tokio::time::timeout(PATIENCE, client.call(ask)).await {
        Ok(ended) => ended,
        Err(_) => Err(format!("still at it after {} s", PATIENCE.as_secs())),
    }
}

async fn run(mock: &Mock, client: &dyn Client, calls: usize, kind: Kind) -> Seen {
    let began = Instant::now();
    let all = (0..calls).map(|number| call(client, ask(mock, number, kind)));
    let ended = join_all(all).await;
    seen(mock, ended, began, 0)
}

async fn run_series(mock: &Mock, client: &dyn Client, series: Series) -> Seen {
    let began = Instant::now();
    for number in 0..series.calls {
        let _ = call(client, ask(mock, number, Kind::Read)).await;
        tokio::time::sleep(series.apart).await;
    }
    tokio::time::sleep(series.later).await;
    let before = mock.journal().attempts.len();
    if let Some(script) = series.script {
        mock.route(&format!("GET /* = {script}"))
            .expect("the check's own route is a script");
    }
    let all = (0..series.at_once).map(|number| call(client, ask(mock, series.calls + number, Kind::Read)));
    let ended = join_all(all).await;
    seen(mock, ended, began, before)
}

async fn run_left(mock: &Mock, client: &dyn Client) -> Seen {
    let began = Instant::now();
    let first = client.call(ask(mock, 0, Kind::Read));
    let reached = async {
        while mock.journal().attempts.is_empty() {
            tokio::time::sleep(ms(10)).await;
        }
    };
    tokio::select! {
        _ = first => {}
        () = reached => {}
    }
    let second = call(client, ask(mock, 1, Kind::Read)).await;
    seen(mock, vec![second], began, 0)
}

fn seen(mock: &Mock, ended: Vec<Ended>, began: Instant, before: usize) -> Seen {
    let attempts = mock.journal().attempts;
    let effects = attempts
        .iter()
        .filter(|attempt| attempt.work == Some("created"))
        .count();
    Seen {
        ended,
        attempts,
        before,
        took: began.elapsed(),
        effects,
    }
}

impl Seen {
    /// How the only call ended.
    fn end(&self) -> &Ended {
        self.ended.first().expect("each check makes a call")
    }

    fn how(&self) -> String {
        match self.end() {
            Ok(status) => format!("{} attempts, ended with {status}", self.attempts.len()),
            Err(error) => format!("{} attempts, ended with: {error}", self.attempts.len()),
        }
    }

    /// The waits of each call, from the end of an answer to the next attempt, in milliseconds.
    fn waits_ms(&self) -> Vec<Vec<f64>> {
        let mut calls: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
        for attempt in &self.attempts {
            calls.entry(&attempt.path).or_default().push(attempt);
        }
        let gap = |pair: &[&Attempt]| {
            let from = pair[0].ended.unwrap_or(pair[0].at);
            pair[1].at.since(from).as_nanos() as f64 / 1e6
        };
        calls
            .values()
            .map(|of_one| of_one.windows(2).map(gap).collect())
            .collect()
    }
}

fn waits_for_the_hint(seen: &Seen) -> Cell {
    match seen.waits_ms().concat().first() {
        Some(wait) => Cell::of(
            *wait >= 995.0,
            if *wait >= 995.0 {
                "waited 1 s".to_owned()
            } else {
                format!("asked again after {wait:.0} ms of 1000")
            },
        ),
        None => Cell::No(seen.how()),
    }
}

fn goes_on(seen: &Seen) -> Cell {
    let wait = seen.waits_ms().concat().first().copied();
    let holds = seen.end().is_ok() && wait.is_some_and(|wait| wait < 2_000.0);
    Cell::of(holds, seen.how())
}

fn gives_up(seen: &Seen) -> Cell {
    let holds = seen.attempts.len() == 1 && seen.took < AT_ONCE_MAX;
    Cell::of(
        holds,
        format!("{}, after {} ms", seen.how(), seen.took.as_millis()),
    )
}

/// By where the middle half of the first waits lies: a machine's own noise is a few milliseconds of five hundred, and much
/// more in a few of them. Who comes back at once has nothing but that noise.
fn spreads(seen: &Seen) -> Cell {
    let mut waits: Vec<f64> = seen
        .waits_ms()
        .iter()
        .filter_map(|waits| waits.first().copied())
        .collect();
    if waits.is_empty() {
        return Cell::No("nothing was sent again".to_owned());
    }
    waits.sort_by(f64::total_cmp);
    let [early, middle, late] = [1, 2, 3].map(|quarter| waits[waits.len() * quarter / 4]);
    Cell::of(
        late - early > 0.2 * middle && middle > 100.0,
        format!("half of the first waits within {early:.0} and {late:.0} ms"),
    )
}

/// One in four may be late for reasons of the machine.
fn stays_below_the_cap(seen: &Seen) -> Cell {
    let mut waits = seen.waits_ms().concat();
    if waits.is_empty() {
        return Cell::No("nothing was sent again".to_owned());
    }
    waits.sort_by(f64::total_cmp);
    let (long, cap) = (waits[waits.len() * 3 / 4], CAP.as_secs_f64() * 1e3);
    Cell::of(
        long <= 1.5 * cap,
        format!("3 of 4 waits within {long:.0} ms of {cap:.0}"),
    )
}

fn keeps_its_deadline(seen: &Seen) -> Cell {
    let holds = seen.took <= DEADLINE + ms(750);
    Cell::of(
        holds,
        format!(
            "{} ms of {}, {} attempts",
            seen.took.as_millis(),
            DEADLINE.as_millis(),
            seen.attempts.len()
        ),
    )
}

fn ends_well(seen: &Seen) -> Cell {
    Cell::of(seen.end().is_ok() && seen.attempts.len() == 2, seen.how())
}

fn acts_once(seen: &Seen) -> Cell {
    Cell::of(
        seen.effects == 1,
        format!("{} payments; {}", seen.effects, seen.how()),
    )
}

fn sends_once(seen: &Seen) -> Cell {
    Cell::of(seen.attempts.len() == 1, seen.how())
}

fn adds_little(seen: &Seen) -> Cell {
    let (calls, attempts) = (seen.ended.len(), seen.attempts.len());
    Cell::of(
        attempts > calls && attempts * 5 <= calls * 7,
        format!("{attempts} attempts of {calls} calls"),
    )
}

fn fails_fast(seen: &Seen) -> Cell {
    let reached = seen.attempts.len() - seen.before;
    let calls = seen.ended.len();
    Cell::of(
        reached == 0,
        format!("{reached} of the last {calls} calls reached it"),
    )
}

/// Those that reached it before anybody could know that it is back.
fn lets_a_few_through(seen: &Seen) -> Cell {
    let reached: Vec<&Attempt> = seen.attempts[seen.before..].iter().collect();
    let Some(first) = reached.first() else {
        return Cell::No("nobody was let through".to_owned());
    };
    let blind = reached
        .iter()
        .filter(|attempt| attempt.at.since(first.at).as_millis() < 1_300)
        .count();
    Cell::of(
        blind <= 10,
        format!("{blind} of {} reached it at once", seen.ended.len()),
    )
}

fn holds_the_limit(seen: &Seen) -> Cell {
    let at_once = |moment: &Attempt| {
        let during =
            |other: &&Attempt| other.at <= moment.at && other.ended.is_none_or(|ended| ended > moment.at);
        seen.attempts.iter().filter(during).count()
    };
    let most = seen.attempts.iter().map(at_once).max().unwrap_or(0);
    let answered = seen.ended.iter().filter(|ended| ended.is_ok()).count();
    Cell::of(
        most <= 4 && answered == seen.ended.len(),
        format!(
            "{most} at once where 4 are allowed, {answered} of {} answered",
            seen.ended.len()
        ),
    )
}

fn frees_the_place(seen: &Seen) -> Cell {
    Cell::of(
        seen.end().is_ok() && seen.took < AT_ONCE_MAX,
        format!("the next call took {} ms", seen.took.as_millis()),
    )
}
