//! A server that queues, in virtual time, and as many callers as the limit lets in.

use super::*;
use alloc::collections::BTreeMap;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Serves so many at once, each for `service`, the others in line.
struct Server {
    free_at: BTreeMap<(Instant, u32), ()>,
    service: Duration,
}

impl Server {
    fn new(workers: u32, service: Duration) -> Self {
        let free_at = (0..workers)
            .map(|worker| ((Instant::START, worker), ()))
            .collect();
        Self { free_at, service }
    }

    /// When what comes at `now` is answered.
    fn serve(&mut self, now: Instant) -> Instant {
        let ((free_at, worker), ()) = self.free_at.pop_first().expect("it has workers");
        let done_at = free_at.max(now).after(self.service);
        self.free_at.insert((done_at, worker), ());
        done_at
    }
}

/// Callers that keep the gate as full as it may be, or `wanted` of them if that is less, for `length`.
struct World {
    gradient: Gradient,
    server: Server,
    rng: Rng,
    now: Instant,
    out: BTreeMap<(Instant, u64), Instant>,
    sent: u64,
}

impl World {
    fn new(workers: u32, service: Duration) -> Self {
        Self {
            gradient: Gradient::new(),
            server: Server::new(workers, service),
            rng: Rng::new(7, 0),
            now: Instant::START.after(ms(1)),
            out: BTreeMap::new(),
            sent: 0,
        }
    }

    fn run(&mut self, length: Duration, wanted: u32) {
        let until = self.now.after(length);
        while self.now < until {
            while self.out.len() < self.gradient.most().min(wanted) as usize {
                self.sent += 1;
                let done_at = self.server.serve(self.now);
                self.out.insert((done_at, self.sent), self.now);
            }
            let ((at, _), began) = self.out.pop_first().expect("somebody is out");
            self.now = at;
            let in_flight = u32::try_from(self.out.len() + 1).unwrap();
            self.gradient
                .came(at, began, at.since(began), in_flight, &mut self.rng);
        }
    }
}

#[test]
fn it_settles_within_a_step_of_the_knee_of_a_server_that_queues() {
    // Could break if the base drifted with the queue: the limit would follow its own delay up to its most. A server of
    // 20 workers is busy with 20; one step above is the queue that keeps it so.
    for workers in [2, 5, 20, 60, 200] {
        let mut world = World::new(workers, ms(100));
        world.run(Duration::from_secs(400), u32::MAX);
        let step = workers.isqrt() + 1;
        let (least, most) = (workers - step.min(workers), workers + step);
        for _ in 0..100 {
            world.run(ms(500), u32::MAX);
            let limit = world.gradient.limit;
            assert!((least..=most).contains(&limit), "{workers} workers: {limit}");
        }
    }
}

#[test]
fn a_server_that_becomes_slower_is_measured_anew() {
    // Trap 46. Could break if the first base held for ever: a model that takes twice as long from today on would look
    // crowded with one in flight.
    let mut world = World::new(20, ms(100));
    world.run(Duration::from_secs(100), u32::MAX);
    world.server.service = ms(300);
    world.run(Duration::from_secs(400), u32::MAX);
    let limit = world.gradient.limit;
    assert!((20..=26).contains(&limit), "{limit}");
}

#[test]
fn a_limit_by_times_that_nobody_uses_does_not_grow() {
    // Trap 47. Could break if quick answers counted whatever is in flight.
    let mut world = World::new(100, ms(100));
    world.run(Duration::from_secs(300), 3);
    assert!(
        world.gradient.limit <= AUTO_CONCURRENCY_START,
        "{}",
        world.gradient.limit
    );
}

#[test]
fn an_attempt_from_before_a_change_says_nothing_of_it() {
    // Trap 5. Could break if the slow answers of a limit that has been cut cut it again.
    let mut gradient = Gradient::new();
    let mut rng = Rng::new(7, 0);
    let mut now = Instant::START.after(ms(1_000));
    let land = |gradient: &mut Gradient, now, began, rng: &mut Rng| {
        for _ in 0..100 {
            gradient.came(now, began, now.since(began), 1_000, rng);
        }
    };
    land(&mut gradient, now, now.before(ms(100)), &mut rng);
    assert_eq!(gradient.base, ms(100));
    let before = now.after(ms(1));
    now = now.after(ms(2));
    gradient.overloaded(now, before);
    let cut = gradient.limit;
    now = now.after(ms(5_000));
    land(&mut gradient, now, before, &mut rng);
    gradient.overloaded(now, before);
    assert_eq!(gradient.limit, cut);
}

#[test]
fn it_is_cut_by_a_throttle_and_never_to_nothing() {
    // Could break if a limit by times heard of nothing but times: a server that refuses at once is a quick one.
    let mut gradient = Gradient::new();
    let mut now = Instant::START;
    for _ in 0..50 {
        now = now.after(ms(10));
        gradient.overloaded(now, now.before(ms(1)));
    }
    assert_eq!((gradient.limit, gradient.most()), (1, 1));
}

#[test]
fn two_limits_do_not_measure_at_the_same_moment() {
    // Could break without the draw: a thousand processes that were deployed together would all hold back at once.
    let probe_at = |seed| {
        let mut gradient = Gradient::new();
        let mut rng = Rng::new(seed, 0);
        for _ in 0..20 {
            gradient.came(
                Instant::START.after(ms(2)),
                Instant::START.after(ms(1)),
                ms(1),
                20,
                &mut rng,
            );
        }
        gradient.probe_at
    };
    assert_ne!(probe_at(1), probe_at(2));
}
