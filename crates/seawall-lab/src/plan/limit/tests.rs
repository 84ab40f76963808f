use super::tell::{rfc3339, secs_up};
use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use seawall_core::classify::classify;
use seawall_core::facts::{BodyFacts, Facts};
use seawall_core::hint;
use seawall_core::learned::Kind;
use seawall_core::outcome::Outcome;
use seawall_core::profile::Provider;
use seawall_core::time::Wall;

/// 2026-11-30T02:00:00.100Z: dates that are told in whole seconds have something to round.
const WALL: Wall = Wall::from_unix_ms(1_796_004_000_100);

fn some(number: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(number)
}

fn rpm(requests: u32) -> Limit {
    Limit::per_minute(some(requests).unwrap())
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn secs(secs: u64) -> Instant {
    Instant::START.after(Duration::from_secs(secs))
}

/// Whether it was let in; the seat is given back at once.
fn admits(meter: &mut Meter, limit: &Limit, now: Instant, tokens: u64) -> bool {
    match meter.ask(limit, now, b"", tokens) {
        Admission::Admitted(..) => true,
        Admission::Refused(_) => false,
        Admission::Full => panic!("one key fits"),
    }
}

fn refusal(admission: Admission) -> Refusal {
    match admission {
        Admission::Refused(refusal) => refusal,
        other @ (Admission::Admitted(..) | Admission::Full) => panic!("{other:?}"),
    }
}

fn standing(admission: Admission) -> (Standing, Seat) {
    match admission {
        Admission::Admitted(standing, seat) => (standing, seat),
        other @ (Admission::Refused(_) | Admission::Full) => panic!("{other:?}"),
    }
}

/// The same law by other means: the cell rate algorithm's theoretical arrival time as a fraction, whose denominator is
/// the rate. It keeps no level and runs nothing off.
struct Model {
    rate: Rate,
    arrives: u128,
}

impl Model {
    fn new(rate: Rate) -> Self {
        Self { rate, arrives: 0 }
    }

    fn now(&self, now: Instant) -> u128 {
        u128::from(now.as_nanos()) * u128::from(self.rate.units.get())
    }

    fn weight(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.rate.time.as_nanos())
    }

    fn has_room(&self, now: Instant, needs: u64) -> bool {
        let holds = u64::from(self.rate.holds.get());
        needs <= holds && self.arrives <= self.now(now) + self.weight(holds - needs)
    }

    fn take(&mut self, now: Instant, needs: u64) {
        self.arrives = self.arrives.max(self.now(now)) + self.weight(needs);
    }
}

fn limits() -> impl Strategy<Value = Limit> {
    let most = || prop::option::of(1_u32..200);
    (1_u32..5_000, most(), prop::option::of(1_u32..50_000), most()).prop_map(|(rpm, rps, tpm, burst)| Limit {
        requests_per_second: rps.and_then(NonZeroU32::new),
        tokens_per_minute: tpm.and_then(NonZeroU32::new),
        burst: burst.and_then(NonZeroU32::new),
        ..self::rpm(rpm)
    })
}

/// How long after the one before, and with how many tokens.
fn loads() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![
        Just(0),
        1_u64..1_000_000_000,
        Just(1_000_000_000),
        1_u64..100_000_000_000
    ];
    prop::collection::vec((gap, 0_u64..400), 1..400)
}

proptest! {
    #[test]
    fn a_limit_admits_exactly_what_its_buckets_admit(limit in limits(), load in loads()) {
        // Could break by one unit or one nanosecond anywhere: a level that is rounded, a bucket that is charged though
        // another refused.
        let mut meter = Meter::default();
        let rates: Vec<_> = Bound::BUCKETS.into_iter().filter_map(|bound| Some((bound, limit.rate(bound)?))).collect();
        let mut models: Vec<_> = rates.iter().map(|(bound, rate)| (*bound, Model::new(*rate))).collect();
        let mut now = Instant::START;
        for (gap, tokens) in load {
            now = now.after(Duration::from_nanos(gap));
            let has_room = models.iter().all(|(bound, model)| model.has_room(now, needs(*bound, tokens)));
            if has_room {
                models.iter_mut().for_each(|(bound, model)| model.take(now, needs(*bound, tokens)));
            }
            prop_assert_eq!(admits(&mut meter, &limit, now, tokens), has_room, "at {}", now);
        }
    }

    #[test]
    fn a_wait_is_true_to_the_nanosecond(limit in limits(), load in loads()) {
        // Could break if a wait were rounded down, or were that of one of two buckets that refuse.
        let mut meter = Meter::default();
        let mut now = Instant::START;
        for (gap, tokens) in load {
            now = now.after(Duration::from_nanos(gap));
            let Admission::Refused(refusal) = meter.ask(&limit, now, b"", tokens) else { continue };
            let Wait::For(wait) = refusal.wait else {
                prop_assert!(refusal.needs > refusal.limit);
                continue;
            };
            let early = now.after(wait).before(Duration::from_nanos(1));
            prop_assert!(!admits(&mut meter, &limit, early, tokens), "let in early");
            now = now.after(wait);
            prop_assert!(admits(&mut meter, &limit, now, tokens), "refused though it waited");
        }
    }

    #[test]
    fn a_standing_is_true(limit in limits(), load in loads()) {
        // Could break if a remainder counted a part of a unit, or a reset were when the next unit has room.
        let mut meter = Meter::default();
        let mut now = Instant::START;
        for (gap, tokens) in load {
            now = now.after(Duration::from_nanos(gap));
            let standing = match meter.ask(&limit, now, b"", tokens) {
                Admission::Admitted(standing, _) => standing,
                Admission::Refused(refusal) => refusal.standing,
                Admission::Full => unreachable!("one key fits"),
            };
            let account = meter.accounts.get_mut(&b""[..]).unwrap();
            for window in standing.windows() {
                let rate = limit.rate(window.bound).unwrap();
                let bucket = account.buckets[window.bound as usize];
                prop_assert_eq!(bucket.room(rate, window.remaining), Room::Now);
                prop_assert_ne!(bucket.room(rate, window.remaining + 1), Room::Now);
                let level_in = |length: Duration| {
                    let mut later = bucket;
                    later.advance(now.after(length), rate);
                    later.full_in(rate)
                };
                prop_assert!(level_in(window.full_in).is_zero());
                if !window.full_in.is_zero() {
                    prop_assert!(!level_in(window.full_in.minus(Duration::from_nanos(1))).is_zero());
                }
            }
        }
    }
}

#[test]
fn five_minutes_of_load_admit_a_bucket_and_what_ran_off_it() {
    // Could break if the rate drifted: less than one in five minutes would show. Whoever comes, a bucket that is never
    // empty has let in what it holds and what ran off.
    const FIVE_MINUTES: u64 = 300_000_000_000;
    for per_minute in [1, 7, 13, 60, 997] {
        for burst in [None, some(1), some(3), some(10_000)] {
            let limit = Limit {
                burst,
                ..rpm(per_minute)
            };
            let holds = u64::from(burst.map_or(per_minute, NonZeroU32::get));
            let due = holds + 5 * u64::from(per_minute);
            assert_eq!(obedient(&limit, FIVE_MINUTES), due, "{limit:?}, obeyed");
            // Between two of these a bucket of one would be empty for a moment, and let in less.
            if holds > 1 {
                let step = 60_000_000_000 / (u64::from(per_minute) * 4);
                assert_eq!(stubborn(&limit, FIVE_MINUTES, step), due, "{limit:?}, hammered");
            }
        }
    }
}

/// What is let in of a client that comes again as soon as it may, and once a nanosecond before.
fn obedient(limit: &Limit, until: u64) -> u64 {
    let (mut meter, mut admitted, mut now) = (Meter::default(), 0, Instant::START);
    // A wait that is no whole number of nanoseconds is rounded up, each time: at most one for each that is let in.
    while now <= at(until + 100_000) {
        match meter.ask(limit, now, b"", 0) {
            Admission::Admitted(..) => admitted += 1,
            Admission::Refused(refusal) => {
                let Wait::For(wait) = refusal.wait else {
                    panic!("a wait")
                };
                now = now.after(wait);
                let early = now.before(Duration::from_nanos(1));
                assert!(!admits(&mut meter, limit, early, 0), "a nanosecond early");
            }
            Admission::Full => panic!("one key fits"),
        }
    }
    admitted
}

/// What is let in of those that come all the time, after a crowd at the beginning.
fn stubborn(limit: &Limit, until: u64, step: u64) -> u64 {
    let mut meter = Meter::default();
    let crowd = (0..20_000)
        .filter(|_| admits(&mut meter, limit, at(0), 0))
        .count() as u64;
    let mut admitted = crowd;
    for now in (1..=(until + step) / step).map(|n| n * step) {
        admitted += u64::from(admits(&mut meter, limit, at(now), 0));
    }
    admitted
}

#[test]
fn sixty_a_minute_is_one_a_second_after_the_first_sixty() {
    // Explains the law: no window of the clock begins anew.
    let (limit, mut meter) = (rpm(60), Meter::default());
    let mut met = |now, times: usize| (0..times).filter(|_| admits(&mut meter, &limit, now, 0)).count();
    assert_eq!(met(secs(0), 100), 60);
    assert_eq!(met(secs(1).before(Duration::from_nanos(1)), 100), 0);
    assert_eq!(met(secs(1), 100), 1);
    assert_eq!(met(secs(11), 100), 10);
    assert_eq!(met(secs(60), 100), 49);
    assert_eq!(met(secs(600), 100), 60);
}

#[test]
fn a_refusal_takes_nothing_from_any_bucket() {
    // Could break if the buckets were asked and charged one after the other.
    let limit = Limit {
        tokens_per_minute: some(100),
        ..rpm(2)
    };
    let mut meter = Meter::default();
    assert!(admits(&mut meter, &limit, secs(0), 90));
    let refused = refusal(meter.ask(&limit, secs(0), b"", 20));
    assert_eq!(
        (refused.bound, refused.limit, refused.needs, refused.wait),
        (Bound::TokensPerMinute, 100, 20, Wait::For(Duration::from_secs(6)))
    );
    assert_eq!(refused.standing.requests().unwrap().remaining, 1);
    assert_eq!(refused.standing.tokens().unwrap().remaining, 10);
    assert!(admits(&mut meter, &limit, secs(0), 10));
    // Both refuse now: the longer wait holds, which is that of the attempts.
    let refused = refusal(meter.ask(&limit, secs(0), b"", 20));
    assert_eq!(
        (refused.bound, refused.wait),
        (Bound::RequestsPerMinute, Wait::For(Duration::from_secs(30)))
    );
}

#[test]
fn what_no_bucket_holds_is_told_no_wait() {
    // Could break if the wait were that of an empty bucket: a client that obeys it would come again for ever.
    let limit = Limit {
        tokens_per_minute: some(100),
        ..Limit::default()
    };
    let mut meter = Meter::default();
    let refused = refusal(meter.ask(&limit, secs(0), b"", 101));
    assert_eq!(refused.wait, Wait::Never);
    for form in Form::NAMED {
        let told = refusal_headers(form, &refused, WALL);
        assert!(
            !told.iter().any(|(name, _)| name.starts_with("retry-after")),
            "{told:?}"
        );
    }
    assert_eq!(
        (status(Form::Groq, &refused), status(Form::OpenAi, &refused)),
        (413, 429)
    );
    assert!(admits(&mut meter, &limit, secs(0), 100));
}

#[test]
fn a_burst_is_what_goes_at_once_and_the_rate_stays() {
    // Could break if a burst of 3 made 60 a minute 3 a minute.
    let met = |limit: &Limit| {
        let mut meter = Meter::default();
        let times = [0, 0, 0, 0, 0, 1, 1, 2, 10, 10, 10, 10];
        times.map(|now| u8::from(admits(&mut meter, limit, secs(now), 0)))
    };
    let three = Limit {
        burst: some(3),
        ..rpm(60)
    };
    assert_eq!(met(&three), [1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0]);
    let second = Limit {
        requests_per_second: some(1),
        burst: some(3),
        ..Limit::default()
    };
    assert_eq!(met(&second), [1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0]);
    // Beside a limit of a minute, the one of a second holds a second's worth.
    let both = Limit {
        requests_per_second: some(1),
        ..three
    };
    assert_eq!(met(&both), [1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0]);
}

#[test]
fn a_seat_is_free_however_its_attempt_ends() {
    // Could break if a seat were given back by those ends alone that somebody thought of.
    let limit = Limit {
        concurrency: some(2),
        ..Limit::default()
    };
    let mut meter = Meter::default();
    let (_, first) = standing(meter.ask(&limit, secs(0), b"", 0));
    let (_, second) = standing(meter.ask(&limit, secs(0), b"", 0));
    let refused = refusal(meter.ask(&limit, secs(9), b"", 0));
    assert_eq!(
        (refused.bound, refused.limit, refused.wait),
        (Bound::Concurrency, 2, Wait::UntilOneEnds)
    );
    drop(first);
    let (_, third) = standing(meter.ask(&limit, secs(9), b"", 0));
    // A panic unwinds through it.
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _seat = second;
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(unwound.is_err());
    let (_, fourth) = standing(meter.ask(&limit, secs(9), b"", 0));
    // A meter that begins anew knows nothing of seats that are out, and they do not hurt it.
    let mut anew = Meter::default();
    drop(meter);
    drop((third, fourth));
    let (_, one) = standing(anew.ask(&limit, secs(9), b"", 0));
    let (_, two) = standing(anew.ask(&limit, secs(9), b"", 0));
    let _refused = refusal(anew.ask(&limit, secs(9), b"", 0));
    drop((one, two));
}

#[test]
fn a_refused_place_takes_no_seat_and_a_full_house_no_tokens() {
    // Could break if the two kinds of bounds were not taken together.
    let limit = Limit {
        concurrency: some(1),
        ..rpm(1)
    };
    let mut meter = Meter::default();
    let (_, seat) = standing(meter.ask(&limit, secs(0), b"", 0));
    assert_eq!(
        refusal(meter.ask(&limit, secs(60), b"", 0)).wait,
        Wait::UntilOneEnds
    );
    drop(seat);
    let (_, seat) = standing(meter.ask(&limit, secs(60), b"", 0));
    drop(seat);
    assert_eq!(
        refusal(meter.ask(&limit, secs(60), b"", 0)).wait,
        Wait::For(Duration::from_secs(60))
    );
    let (_, seat) = standing(meter.ask(&limit, secs(120), b"", 0));
    drop(seat);
}

#[test]
fn keys_do_not_share() {
    // Could break if the key were not part of the account.
    let (limit, mut meter) = (rpm(1), Meter::default());
    let mut meet = |key: &[u8]| matches!(meter.ask(&limit, secs(0), key, 0), Admission::Admitted(..));
    let met = [&b"a"[..], b"b", b"a", b"", b"b", b""].map(&mut meet);
    assert_eq!(met, [true, true, false, true, false, false]);
}

#[test]
fn a_full_meter_forgets_only_what_is_as_new() {
    // Could break if a key that is in use were forgotten, and had its whole limit again, or if one that is as new kept
    // its place for ever: a client with a new key each time would end the test of everybody.
    let limit = Limit {
        concurrency: some(9),
        ..rpm(60)
    };
    let mut meter = Meter::default();
    let big = |name: u8| vec![name; STATE_BYTES_MAX / 3];
    let (_, seat) = standing(meter.ask(&limit, secs(0), &big(1), 0));
    let (_, other) = standing(meter.ask(&limit, secs(0), &big(2), 0));
    drop(other);
    assert!(matches!(meter.ask(&limit, secs(0), &big(3), 0), Admission::Full));
    // A second later the second one is full again; it was looked at just before.
    let early = secs(1).before(Duration::from_nanos(1));
    assert!(matches!(meter.ask(&limit, early, &big(3), 0), Admission::Full));
    let (standing_of_new, _) = standing(meter.ask(&limit, secs(1), &big(3), 0));
    assert_eq!(standing_of_new.requests().unwrap().remaining, 59);
    // The first has a seat out still.
    let (standing_of_first, _) = standing(meter.ask(&limit, secs(1), &big(1), 0));
    assert_eq!(standing_of_first.requests().unwrap().remaining, 59);
    assert_eq!(meter.keys(), 2);
    drop(seat);
}

#[test]
fn a_meter_prints_no_key() {
    // Could break if `Debug` were derived: the keys are credentials.
    let (limit, mut meter) = (rpm(1), Meter::default());
    let _seat = meter.ask(&limit, secs(0), b"Bearer sk-secret", 0);
    assert_eq!(format!("{meter:?}"), "Meter { keys: 1, .. }");
}

#[test]
fn a_clock_that_steps_back_gives_nothing() {
    // Could break if the length from an earlier time wrapped around.
    let (limit, mut meter) = (rpm(1), Meter::default());
    assert!(admits(&mut meter, &limit, secs(100), 0));
    assert!(!admits(&mut meter, &limit, secs(0), 0));
    assert!(!admits(&mut meter, &limit, secs(159), 0));
    assert!(admits(&mut meter, &limit, secs(160), 0));
}

/// 60 attempts and 1 000 tokens a minute, after 60 attempts with 16 tokens each: 1.25 s later a 61st is let in, and a 62nd
/// refused, by the attempts or by the tokens.
fn told(form: Form, tokens: u64) -> (Standing, Refusal) {
    let limit = Limit {
        tokens_per_minute: some(1_000),
        form,
        ..rpm(60)
    };
    let mut meter = Meter::default();
    for _ in 0..60 {
        assert!(admits(&mut meter, &limit, secs(0), 16));
    }
    let later = at(1_250_000_000);
    let (standing, seat) = standing(meter.ask(&limit, later, b"", 16));
    drop(seat);
    (standing, refusal(meter.ask(&limit, later, b"", tokens)))
}

fn lines(told: &Told) -> String {
    told.iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect()
}

fn check(form: Form, expected: Expect) {
    let (standing, refusal) = told(form, 500);
    let admitted = lines(&headers(form, &standing, WALL));
    let refused = lines(&refusal_headers(form, &refusal, WALL));
    let message = message(form, &refusal);
    expected.assert_eq(&format!("200\n{admitted}429\n{refused}{message}\n"));
}

#[test]
fn each_form_tells_its_limits_in_its_own_words() {
    check(
        Form::OpenAi,
        expect![[r#"
        200
        x-ratelimit-limit-requests: 60
        x-ratelimit-remaining-requests: 0
        x-ratelimit-reset-requests: 59.75s
        x-ratelimit-limit-tokens: 1000
        x-ratelimit-remaining-tokens: 44
        x-ratelimit-reset-tokens: 57.31s
        429
        x-ratelimit-limit-requests: 60
        x-ratelimit-remaining-requests: 0
        x-ratelimit-reset-requests: 59.75s
        x-ratelimit-limit-tokens: 1000
        x-ratelimit-remaining-tokens: 44
        x-ratelimit-reset-tokens: 57.31s
        retry-after: 28
        retry-after-ms: 27310
        mock: rate limit reached on tokens per min (TPM): Limit 1000, Used 956, Requested 500. Please try again in 27.31s.
    "#]],
    );
    check(
        Form::Groq,
        expect![[r#"
        200
        x-ratelimit-limit-requests: 60
        x-ratelimit-remaining-requests: 0
        x-ratelimit-reset-requests: 59.75s
        x-ratelimit-limit-tokens: 1000
        x-ratelimit-remaining-tokens: 44
        x-ratelimit-reset-tokens: 57.31s
        429
        x-ratelimit-limit-requests: 60
        x-ratelimit-remaining-requests: 0
        x-ratelimit-reset-requests: 59.75s
        x-ratelimit-limit-tokens: 1000
        x-ratelimit-remaining-tokens: 44
        x-ratelimit-reset-tokens: 57.31s
        retry-after: 28
        mock: rate limit reached on tokens per min (TPM): Limit 1000, Used 956, Requested 500. Please try again in 27.31s.
    "#]],
    );
    check(
        Form::Azure,
        expect![[r#"
        200
        x-ratelimit-limit-requests: 60
        x-ratelimit-remaining-requests: 0
        x-ratelimit-reset-requests: 60
        x-ratelimit-limit-tokens: 1000
        x-ratelimit-remaining-tokens: 44
        x-ratelimit-reset-tokens: 58
        429
        x-ratelimit-limit-requests: 60
        x-ratelimit-remaining-requests: 0
        x-ratelimit-reset-requests: 60
        x-ratelimit-limit-tokens: 1000
        x-ratelimit-remaining-tokens: 44
        x-ratelimit-reset-tokens: 58
        retry-after: 28
        retry-after-ms: 27310
        mock: rate limit reached on tokens per min (TPM): Limit 1000, Used 956, Requested 500. Please retry after 28 seconds.
    "#]],
    );
    check(
        Form::Anthropic,
        expect![[r#"
        200
        anthropic-ratelimit-requests-limit: 60
        anthropic-ratelimit-requests-remaining: 0
        anthropic-ratelimit-requests-reset: 2026-11-30T02:01:00Z
        anthropic-ratelimit-tokens-limit: 1000
        anthropic-ratelimit-tokens-remaining: 44
        anthropic-ratelimit-tokens-reset: 2026-11-30T02:00:58Z
        429
        anthropic-ratelimit-requests-limit: 60
        anthropic-ratelimit-requests-remaining: 0
        anthropic-ratelimit-requests-reset: 2026-11-30T02:01:00Z
        anthropic-ratelimit-tokens-limit: 1000
        anthropic-ratelimit-tokens-remaining: 44
        anthropic-ratelimit-tokens-reset: 2026-11-30T02:00:58Z
        retry-after: 28
        mock: rate limit reached on tokens per min (TPM): Limit 1000, Used 956, Requested 500. Try again in 28 seconds.
    "#]],
    );
    check(
        Form::Gemini,
        expect![[r#"
        200
        429
        mock: rate limit reached on tokens per min (TPM): Limit 1000, Used 956, Requested 500. Please retry in 27.31s.
    "#]],
    );
    check(
        Form::Generic,
        expect![[r#"
        200
        ratelimit-policy: "requests";q=60;w=60, "tokens";q=1000;qu="tokens";w=60
        ratelimit: "requests";r=0;t=60, "tokens";r=44;t=58
        x-ratelimit-limit: 60
        x-ratelimit-remaining: 0
        x-ratelimit-reset: 60
        429
        ratelimit-policy: "requests";q=60;w=60, "tokens";q=1000;qu="tokens";w=60
        ratelimit: "requests";r=0;t=60, "tokens";r=44;t=58
        x-ratelimit-limit: 60
        x-ratelimit-remaining: 0
        x-ratelimit-reset: 60
        retry-after: 28
        mock: rate limit reached on tokens per min (TPM): Limit 1000, Used 956, Requested 500. Try again in 28 seconds.
    "#]],
    );
}

struct Sent<'a>(&'a Told);

impl seawall_core::facts::Headers for Sent<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        let mut named = self.0.iter().filter(|(given, _)| *given == name);
        named.next().map(|(_, value)| value.as_bytes())
    }
}

#[test]
fn the_core_reads_of_every_form_the_wait_that_was_meant() {
    // Could break if a form were one that the core does not know, if two of its numbers were made apart, or if one were
    // rounded down: then who obeys it comes too early.
    for form in Form::NAMED {
        for tokens in [16, 500] {
            let (standing, refused) = told(form, tokens);
            let Wait::For(wait) = refused.wait else {
                panic!("a wait")
            };
            let profile = Provider::named(form.name()).unwrap().profile();
            let sent = refusal_headers(form, &refused, WALL);
            let (headers_sent, delay, message) = (Sent(&sent), retry_delay(wait), message(form, &refused));
            let facts = Facts {
                status: Some(status(form, &refused)),
                headers: &headers_sent,
                body: BodyFacts {
                    retry_delay: (form == Form::Gemini).then_some(&delay),
                    message: Some(&message),
                    ..BodyFacts::default()
                },
                broke: None,
                wall: WALL,
            };
            let Outcome::Throttled { hint: Some(hint) } = classify(profile, &[], &facts).report.outcome
            else {
                panic!("{form:?} is no throttle with a hint");
            };
            let step = match form {
                Form::Gemini => Duration::from_nanos(1),
                Form::OpenAi | Form::Azure => Duration::from_millis(1),
                Form::Anthropic | Form::Groq | Form::Generic | Form::ByDialect => SECOND,
            };
            assert!(hint.cools, "{form:?}");
            assert!(
                hint.wait >= wait && hint.wait.minus(wait) < step,
                "{form:?} {} {wait}",
                hint.wait
            );
            // The same of what an answer says before anything is refused.
            let sent = headers(form, &standing, WALL);
            let learned = hint::learned(&Facts {
                status: Some(200),
                headers: &Sent(&sent),
                body: BodyFacts::default(),
                ..facts
            });
            let knows = form != Form::Gemini;
            agrees(
                learned.word(Kind::Requests),
                standing.requests().filter(|_| knows),
            );
            let knows = knows && form != Form::Generic;
            agrees(learned.word(Kind::Tokens), standing.tokens().filter(|_| knows));
        }
    }
}

/// The core reads no tokens from the generic form; no header of it has a place for them that all servers agree on.
fn agrees(word: Option<seawall_core::learned::Word>, window: Option<Window>) {
    let Some(window) = window else {
        return assert_eq!(word, None);
    };
    let word = word.expect("the form tells of this window");
    assert_eq!(
        (word.limit, word.remaining),
        (Some(window.limit), window.remaining)
    );
    let resets_in = word.resets_in.expect("something was taken");
    // A date in whole seconds is up to a second late, and no form is early.
    assert!(
        resets_in >= window.full_in && resets_in.minus(window.full_in) < SECOND,
        "{resets_in} {}",
        window.full_in
    );
}

#[test]
fn dates_and_lengths_are_written_as_servers_write_them() {
    // Could break at the ends of months and years, and where a fraction is dropped instead of rounded up.
    for (unix_ms, length_ms, text) in [
        (0, 0, "1970-01-01T00:00:00Z"),
        (951_782_399_000, 1_000, "2000-02-29T00:00:00Z"),
        (951_868_799_001, 0, "2000-03-01T00:00:00Z"),
        (1_798_761_599_000, 1, "2027-01-01T00:00:00Z"),
        (4_107_542_399_000, 1_000, "2100-03-01T00:00:00Z"),
        (WALL.unix_ms, 60_000, "2026-11-30T02:01:01Z"),
    ] {
        let wall = Wall::from_unix_ms(unix_ms);
        let told = rfc3339(wall, Duration::from_millis(length_ms));
        assert_eq!(told, text);
        assert_eq!(
            hint::rfc3339(&told).unwrap().unix_ms,
            (unix_ms + i64::try_from(length_ms).unwrap() + 999) / 1_000 * 1_000
        );
    }
    // No date that a clock can say makes it panic.
    rfc3339(Wall::from_unix_ms(i64::MAX), Duration::MAX);
    assert_eq!(
        rfc3339(Wall::from_unix_ms(i64::MIN), Duration::ZERO),
        "1970-01-01T00:00:00Z"
    );
    for (nanos, go, whole, google) in [
        (0, "0s", 0, "0s"),
        (1, "1ms", 1, "0.000000001s"),
        (120_000_000, "120ms", 1, "0.12s"),
        (999_000_001, "1s", 1, "0.999000001s"),
        (7_060_000_000, "7.06s", 8, "7.06s"),
        (1_000_000_000, "1s", 1, "1s"),
        (60_000_000_000, "1m0s", 60, "60s"),
        (179_560_000_000, "2m59.56s", 180, "179.56s"),
        (3_723_500_000_000, "1h2m3.5s", 3_724, "3723.5s"),
    ] {
        let length = Duration::from_nanos(nanos);
        assert_eq!(
            (go_duration(length), secs_up(length), retry_delay(length)),
            (go.to_owned(), whole, google.to_owned())
        );
    }
}
