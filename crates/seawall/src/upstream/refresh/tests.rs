use super::*;
use crate::crank::CrankedClock;
use std::collections::VecDeque;
use std::future::{pending, poll_fn, ready};
use std::sync::atomic::AtomicU64;

/// A refresh that is written down.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Waits to be let go on, and then brings this.
    Brings(&'static str),
    /// The same, and fails.
    Fails,
    Panics,
    Hangs,
}

/// An identity server that does as it is told, one refresh after the other.
#[derive(Clone)]
struct Desk {
    clock: CrankedClock,
    asked: Arc<AtomicU64>,
    state: Arc<Mutex<Gate>>,
}

#[derive(Default)]
struct Gate {
    does: VecDeque<Does>,
    open: bool,
    waker: Option<Waker>,
    /// Refreshes that are alive.
    alive: u64,
}

/// Counts a refresh for as long as it is there.
struct Alive(Arc<Mutex<Gate>>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.lock().unwrap().alive -= 1;
    }
}

impl Desk {
    fn new(does: &[Does]) -> Self {
        let gate = Gate {
            does: does.iter().copied().collect(),
            ..Gate::default()
        };
        Self {
            clock: CrankedClock::new(),
            asked: Arc::default(),
            state: Arc::new(Mutex::new(gate)),
        }
    }

    fn refresher(&self, first: Option<&str>) -> Refresher {
        let desk = self.clone();
        let ask = move || -> Asking { Box::pin(desk.clone().refresh()) };
        let first = first.map(|token| Secret::bearer(token).unwrap());
        Refresher::new(Arc::new(ask), first, Arc::new(self.clock.clone()))
    }

    async fn refresh(self) -> Result<Secret, String> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let does = {
            let mut gate = self.state.lock().unwrap();
            gate.alive += 1;
            gate.does.pop_front().unwrap()
        };
        let _alive = Alive(Arc::clone(&self.state));
        if let Does::Hangs = does {
            pending::<()>().await;
        }
        poll_fn(|context| {
            let mut gate = self.state.lock().unwrap();
            if gate.open {
                return Poll::Ready(());
            }
            gate.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        match does {
            Does::Brings(token) => Ok(Secret::bearer(token).unwrap()),
            Does::Panics => panic!("on purpose"),
            Does::Fails | Does::Hangs => Err("no answer".to_owned()),
        }
    }

    fn open(&self) {
        let waker = {
            let mut gate = self.state.lock().unwrap();
            gate.open = true;
            gate.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn alive(&self) -> u64 {
        self.state.lock().unwrap().alive
    }
}

type Told = Result<Version, Arc<str>>;

/// The version of this number, as it was sent just now.
fn sent(number: u32) -> Version {
    Version {
        number,
        secret: Secret::bearer("sent").unwrap(),
        failed_before: u64::MAX,
    }
}

/// A caller, polled only when it was woken, as a runtime does.
struct Caller<'a> {
    wait: Option<Pin<Box<dyn Future<Output = Told> + Send + 'a>>>,
    told: Option<Told>,
    bell: Arc<Bell>,
}

struct Bell(std::sync::atomic::AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<'a> Caller<'a> {
    fn of(wait: impl Future<Output = Told> + Send + 'a) -> Self {
        Self {
            wait: Some(Box::pin(wait)),
            told: None,
            bell: Arc::new(Bell(true.into())),
        }
    }

    /// A caller whose version of this number was denied.
    fn denied(refresher: &'a Refresher, number: u32) -> Self {
        Self::of(async move { refresher.newer_than(&sent(number), Instant::NEVER).await })
    }

    fn turn(&mut self) {
        if !self.bell.0.swap(false, Ordering::SeqCst) {
            return;
        }
        let Some(wait) = &mut self.wait else { return };
        let waker = Waker::from(Arc::clone(&self.bell));
        if let Poll::Ready(told) = wait.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.told = Some(told);
            self.wait = None;
        }
    }

    fn leave(&mut self) {
        self.wait = None;
    }

    /// The version's number and token, or why there is none.
    #[track_caller]
    fn told(&self) -> Result<(u32, String), String> {
        match self.told.as_ref().expect("it still waits") {
            Ok(version) => Ok((version.number, token(version))),
            Err(why) => Err(why.to_string()),
        }
    }
}

fn token(version: &Version) -> String {
    let value = version.secret.to_value();
    value.to_str().unwrap().trim_start_matches("Bearer ").to_owned()
}

/// Gives turns until nobody was woken any more.
fn settle(callers: &mut [Caller<'_>]) {
    while callers
        .iter()
        .any(|caller| caller.wait.is_some() && caller.bell.0.load(Ordering::SeqCst))
    {
        callers.iter_mut().for_each(Caller::turn);
    }
}

fn new(number: u32, token: &str) -> Result<(u32, String), String> {
    Ok((number, token.to_owned()))
}

#[test]
fn a_hundred_denials_are_one_refresh() {
    // Breaks when each denied attempt asks: an expired token takes the identity server down with it.
    let desk = Desk::new(&[Does::Brings("two")]);
    let refresher = desk.refresher(Some("one"));
    let mut callers: Vec<_> = (0..100).map(|_| Caller::denied(&refresher, 1)).collect();
    settle(&mut callers);
    desk.open();
    settle(&mut callers);
    for caller in &callers {
        assert_eq!(caller.told(), new(2, "two"));
    }
    assert_eq!((desk.asked(), desk.alive(), refresher.newest()), (1, 0, 2));
}

#[test]
fn whoever_leaves_takes_nothing_from_those_who_stay() {
    // Breaks when the refresh belongs to the caller that began it, or when a wake that came to one who left is lost:
    // the others would wait to their ends. Every caller leaves here, at every point, in every order.
    for leaves in 0..3_usize {
        for after_the_wake in [false, true] {
            let desk = Desk::new(&[Does::Brings("two")]);
            let refresher = desk.refresher(Some("one"));
            let mut callers: Vec<_> = (0..3).map(|_| Caller::denied(&refresher, 1)).collect();
            settle(&mut callers);
            // Only this one is polled between the wake and its end, so the refresh is in its hands.
            if after_the_wake {
                desk.open();
                callers[leaves].leave();
            } else {
                callers[leaves].leave();
                desk.open();
            }
            settle(&mut callers);
            for (nth, caller) in callers.iter().enumerate().filter(|(nth, _)| *nth != leaves) {
                assert_eq!(caller.told(), new(2, "two"), "{nth} after {leaves} left");
            }
            assert_eq!((desk.asked(), desk.alive()), (1, 0));
        }
    }
}

#[test]
fn a_wake_dies_with_nobody_who_leaves() {
    // Breaks when a wake that comes while one caller polls the refresh is that caller's alone: it leaves, and the other,
    // who has found nothing to poll, waits for ever. Threads do this; here the refresh lets the other in itself.
    type Other = Arc<Mutex<Option<Caller<'static>>>>;
    let other: Other = Arc::default();
    let (inside, polled) = (Arc::clone(&other), Arc::new(AtomicU64::new(0)));
    let ask = move || -> Asking {
        let (inside, polled) = (Arc::clone(&inside), Arc::clone(&polled));
        Box::pin(poll_fn(move |context| {
            if polled.fetch_add(1, Ordering::Relaxed) > 0 {
                return Poll::Ready(Ok(Secret::bearer("two").unwrap()));
            }
            context.waker().wake_by_ref();
            inside.lock().unwrap().as_mut().unwrap().turn();
            Poll::Pending
        }))
    };
    let first = Some(Secret::bearer("one").unwrap());
    let refresher = Arc::new(Refresher::new(
        Arc::new(ask),
        first,
        Arc::new(CrankedClock::new()),
    ));
    let shared = Arc::clone(&refresher);
    let waits = async move { shared.newer_than(&sent(1), Instant::NEVER).await };
    *other.lock().unwrap() = Some(Caller::of(waits));
    let mut polls = Caller::denied(&refresher, 1);
    polls.turn();
    assert!(polls.told.is_none());
    polls.leave();
    let mut left = [other.lock().unwrap().take().unwrap()];
    settle(&mut left);
    assert_eq!(left[0].told(), new(2, "two"));
}

#[test]
fn a_refresh_is_dropped_with_the_last_who_waits_and_the_next_begins_another() {
    // Breaks when a refresh that nobody waits for is left behind, or when nobody may begin one after it.
    let desk = Desk::new(&[Does::Hangs, Does::Brings("two")]);
    let refresher = desk.refresher(None);
    let mut callers: Vec<_> = (0..2).map(|_| Caller::denied(&refresher, 0)).collect();
    settle(&mut callers);
    callers[0].leave();
    assert_eq!(desk.alive(), 1);
    callers[1].leave();
    assert_eq!(desk.alive(), 0);
    desk.open();
    let mut next = [Caller::denied(&refresher, 0)];
    settle(&mut next);
    assert_eq!((next[0].told(), desk.asked()), (new(1, "two"), 2));
}

#[test]
fn a_refresh_that_fails_or_panics_or_hangs_is_told_to_all_and_the_next_caller_asks_again() {
    // Breaks when a failed refresh is the last one, when its panic is a caller's, or when a hung one holds for ever.
    let limit = REFRESH_MAX.up_to_millis();
    for (does, why) in [
        (Does::Fails, "a new one could not be had: no answer".to_owned()),
        (
            Does::Panics,
            "a new one could not be had: asking for it panicked".to_owned(),
        ),
        (
            Does::Hangs,
            format!("a new one could not be had: it took longer than {limit}"),
        ),
    ] {
        let desk = Desk::new(&[does, Does::Brings("two")]);
        let refresher = desk.refresher(Some("one"));
        let mut callers: Vec<_> = (0..3).map(|_| Caller::denied(&refresher, 1)).collect();
        settle(&mut callers);
        desk.open();
        settle(&mut callers);
        desk.clock.advance(REFRESH_MAX);
        settle(&mut callers);
        for caller in &callers {
            assert_eq!(caller.told(), Err(why.clone()), "{does:?}");
        }
        assert_eq!((desk.asked(), desk.alive()), (1, 0), "{does:?}");
        let mut next = [Caller::denied(&refresher, 1)];
        settle(&mut next);
        assert_eq!((next[0].told(), desk.asked()), (new(2, "two"), 2), "{does:?}");
    }
}

#[test]
fn nobody_waits_beyond_the_own_time() {
    // Breaks when a waiter's own limit is not looked at, or ends the refresh for those who have more time.
    let desk = Desk::new(&[Does::Brings("two")]);
    let refresher = desk.refresher(Some("one"));
    let by = desk.clock.now().after(Duration::from_secs(2));
    let one = sent(1);
    let mut callers = [
        Caller::of(refresher.newer_than(&one, by)),
        Caller::denied(&refresher, 1),
    ];
    settle(&mut callers);
    desk.clock.advance(Duration::from_secs(2));
    settle(&mut callers);
    let late = "waiting for a new one took longer than 2s".to_owned();
    assert_eq!(callers[0].told(), Err(late));
    desk.open();
    settle(&mut callers);
    assert_eq!((callers[1].told(), desk.asked()), (new(2, "two"), 1));
}

#[test]
fn a_late_denial_of_an_old_version_asks_nobody() {
    // Breaks when a 401 is held against the version in hand instead of the one that was sent.
    let desk = Desk::new(&[Does::Brings("two")]);
    let refresher = desk.refresher(Some("one"));
    desk.open();
    let mut callers = [Caller::denied(&refresher, 1)];
    settle(&mut callers);
    let mut late = [Caller::denied(&refresher, 1)];
    settle(&mut late);
    assert_eq!((late[0].told(), desk.asked()), (new(2, "two"), 1));
}

#[test]
fn a_version_that_no_server_took_is_not_replaced_at_once() {
    // Breaks when a server that takes no token is sent every call twice, with a refresh between: the identity server
    // would be asked as often as the API is called.
    let desk = Desk::new(&[Does::Brings("two"), Does::Brings("three"), Does::Brings("four")]);
    let refresher = desk.refresher(Some("one"));
    desk.open();
    let ask = |number| {
        let mut callers = [Caller::denied(&refresher, number)];
        settle(&mut callers);
        callers[0].told()
    };
    // What came with the upstream may have ended long ago.
    assert_eq!(ask(1), new(2, "two"));
    desk.clock.advance(Duration::from_secs(3));
    let young = "it was made 3s ago and was never accepted; no new one was asked for".to_owned();
    assert_eq!((ask(2), desk.asked()), (Err(young), 1));
    desk.clock.advance(CREDENTIAL_LATCH);
    assert_eq!((ask(2), desk.asked()), (new(3, "three"), 2));
    // A token that lives for seconds is replaced as often as it ends, for it was taken in between.
    refresher.accepted(3);
    assert_eq!((ask(3), desk.asked()), (new(4, "four"), 3));
}

#[test]
fn the_same_token_again_is_no_new_version() {
    // Breaks when a cached token counts as a new one: its denials would never be two in a row for one version.
    let desk = Desk::new(&[Does::Brings("one")]);
    let refresher = desk.refresher(Some("one"));
    desk.open();
    let mut callers = [Caller::denied(&refresher, 1)];
    settle(&mut callers);
    let same = "the new one is the same as before".to_owned();
    assert_eq!((callers[0].told(), refresher.newest()), (Err(same), 1));
}

#[test]
fn threads_that_are_denied_together_share_one_refresh() {
    // Breaks when two threads can both find no refresh under way, or when one waits for a wake that another took.
    for round in 0..200 {
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        let ask = move || -> Asking {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut turns = round % 5;
            let turned = poll_fn(move |context| {
                if turns == 0 {
                    return Poll::Ready(());
                }
                turns -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            });
            Box::pin(async move {
                turned.await;
                ready(Ok(Secret::bearer("two").unwrap())).await
            })
        };
        let clock = crate::blocking::StdClock::new();
        let first = Some(Secret::bearer("one").unwrap());
        let refresher = Refresher::new(Arc::new(ask), first, Arc::new(clock));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let one = sent(1);
                    let newer = refresher.newer_than(&one, Instant::NEVER);
                    let told = crate::blocking::block_on(&clock, newer);
                    assert_eq!(told.unwrap().number, 2);
                });
            }
        });
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn a_refresh_that_failed_has_failed_for_all_that_had_left() {
    // Breaks when each denial that comes after a refresh has failed begins another: two hundred calls that are denied one
    // after the other ask an identity server two hundred times that is down already. Breaks, too, when it has failed for
    // good, and the next attempt asks nobody.
    for does in [Does::Fails, Does::Panics, Does::Brings("one")] {
        let desk = Desk::new(&[does, Does::Brings("two")]);
        let refresher = desk.refresher(Some("one"));
        desk.open();
        let sends = || {
            let mut caller = Caller::of(refresher.version(Instant::NEVER));
            caller.turn();
            caller.told.unwrap().unwrap()
        };
        let versions: Vec<_> = (0..200).map(|_| sends()).collect();
        let mut told = Vec::new();
        for version in &versions {
            // One after the other: nobody waits with anybody.
            let mut caller = [Caller::of(refresher.newer_than(version, Instant::NEVER))];
            settle(&mut caller);
            told.push(caller[0].told().unwrap_err());
        }
        told.dedup();
        assert_eq!((told.len(), desk.asked()), (1, 1), "{told:?}");
        let next = sends();
        let mut caller = [Caller::of(refresher.newer_than(&next, Instant::NEVER))];
        settle(&mut caller);
        assert_eq!((caller[0].told(), desk.asked()), (new(2, "two"), 2));
    }
}
