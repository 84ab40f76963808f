//! What servers say, and what presets make of it (rules C6, H9, J1 and the presets).

use super::*;
use crate::call::Met;
use crate::latch::CredentialId;
use crate::outcome::Refusal;
use crate::policy::LongHint;

#[test]
fn a_cool_down_holds_for_every_gate_of_its_quota_and_for_no_other() {
    // Trap B13.
    // Could break if the gate that was throttled cooled, and not the quota that it was throttled for (C6).
    let mut desk = Desk::new(plain());
    let quota = desk.gate(plain(), &[]);
    let [one, two] = [(); 2].map(|()| [Candidate::at(desk.gate_of_quota(plain(), &[], Some(quota)))]);
    let other = [Candidate::at(desk.gate(plain(), &[]))];
    let call = desk.begin(&one);
    let permit = desk.sent(call);
    desk.settle(permit, throttled(ms(500)));
    for route in [&one, &two] {
        let call = desk.begin(route);
        assert_eq!(desk.told(call), "cooling-down");
    }
    let call = desk.begin(&other);
    drop(desk.sent(call));
    desk.pass(ms(500));
    assert_eq!(desk.serve().len(), 1, "half of one, and at least one");
}

#[test]
fn a_throttle_halves_once_and_each_answer_gives_one_back() {
    // Could break if every throttle of one burst halved again, or one answer opened the gate (C6).
    let mut desk = Desk::new(plain().retries(0));
    let main = [Candidate::at(desk.gate(plain(), &[]))];
    let mut out: Vec<Permit> = (0..8)
        .map(|_| {
            let call = desk.begin(&main);
            desk.sent(call)
        })
        .collect();
    // Three throttles of one burst: eight were in flight at the first, so four may be.
    for _ in 0..3 {
        desk.settle(out.pop().expect("eight are out"), throttled(ms(100)));
    }
    let calls: Vec<CallId> = (0..9).map(|_| desk.begin(&main)).collect();
    for call in &calls {
        assert_eq!(desk.told(*call), "cooling-down");
    }
    desk.pass(ms(100));
    assert_eq!(desk.serve().len(), 0, "five are still out");
    let mut sent = Vec::new();
    let mut in_flight = Vec::new();
    for report in [
        Report::of(Outcome::Answer),
        Report::of(Outcome::Refused(Refusal::Caller)),
        failed(500, Sent::No),
    ] {
        desk.settle(out.pop().expect("five are out"), report);
        let permits = desk.serve();
        sent.extend(permits.iter().map(Permit::call));
        out.splice(0..0, permits);
        in_flight.push(out.len());
    }
    assert_eq!(
        in_flight,
        [5, 6, 6],
        "an answer and a refusal add one, a failure none"
    );
    assert_eq!(sent, calls[..sent.len()], "in order");
}

#[test]
fn a_clamped_hint_cools_no_longer_than_it_is_waited_for() {
    // Could break if the call came back to find its own gate closed for the whole of what was asked (C6).
    let mut desk = Desk::new(
        plain()
            .backoff_base(ms(100))
            .hints_long(LongHint::Clamp)
            .hints_max(ms(200)),
    );
    let main = [Candidate::at(desk.gate(plain(), &[]))];
    let call = desk.begin(&main);
    let permit = desk.sent(call);
    desk.settle(permit, throttled(Duration::from_secs(3_600)));
    assert_eq!(desk.told(call), "server-asked");
    desk.pass(ms(199));
    assert_eq!(desk.told(call), "server-asked");
    desk.pass(ms(1));
    drop(desk.sent(call));
}

#[test]
fn three_silent_throttles_in_a_row_cool_and_an_answer_between_begins_anew() {
    // Could break if throttles of a whole day added up (C6).
    let mut desk = Desk::new(plain().retries(0));
    let gate = desk.gate(plain(), &[]);
    let silent = Report::of(Outcome::Throttled { hint: None });
    for (report, cools) in [
        (silent, false),
        (silent, false),
        (Report::of(Outcome::Answer), false),
        (silent, false),
        (silent, false),
        (silent, true),
    ] {
        let call = desk.begin(&[Candidate::at(gate)]);
        let permit = desk.sent(call);
        desk.settle(permit, report);
        assert_eq!(desk.engine.load(gate).not_before > desk.now, cools);
        desk.pass(ms(1));
    }
}

#[test]
fn a_renewed_credential_is_tried_at_once_and_one_stray_denial_latches_nothing() {
    // Could break if the latch held for a name, and not for one version of the secret behind it (H9).
    let mut desk = Desk::new(plain());
    let gate = desk.gate(plain(), &[]);
    let with = |version| {
        let credential = (CredentialId(1), version);
        [Candidate {
            credential,
            ..Candidate::at(gate)
        }]
    };
    let denied = Report::of(Outcome::Denied { latches: true });
    let forbidden = Report::of(Outcome::Denied { latches: false });
    for report in [denied, Report::of(Outcome::Answer), denied, forbidden, denied] {
        let call = desk.begin(&with(1));
        let permit = desk.sent(call);
        desk.settle(permit, report);
    }
    let call = desk.begin(&with(1));
    assert_eq!(desk.told(call), "denied-latched");
    let call = desk.begin(&with(2));
    let permit = desk.sent(call);
    desk.settle(permit, denied);
    let call = desk.begin(&with(2));
    drop(desk.sent(call));
    desk.pass(Duration::from_secs(60));
    let call = desk.begin(&with(1));
    drop(desk.sent(call));
}

#[test]
fn an_attempt_that_goes_out_with_a_newer_credential_speaks_of_that_one() {
    // Could break if a denial after a renewal counted against the version that the call began with: the new one would
    // never latch, or a call that began before it would be held to the old one's latch (D6, H9).
    let mut desk = Desk::new(plain());
    let gate = desk.gate(plain(), &[]);
    let with = |version| {
        let credential = (CredentialId(1), version);
        [Candidate {
            credential,
            ..Candidate::at(gate)
        }]
    };
    let denied = Report::of(Outcome::Denied { latches: true });
    for _ in 0..2 {
        let call = desk.begin(&with(1));
        let permit = desk.sent(call);
        desk.settle(permit, denied);
    }
    let call = desk.begin(&with(1));
    assert_eq!(desk.told(call), "denied-latched");
    let renewed = desk.begin(&with(2));
    let permit = desk.sent(renewed);
    let now = desk.now;
    desk.engine.renew(now, &permit, 2);
    let old = desk.begin(&with(1));
    let old = desk.sent(old);
    desk.settle(permit, denied);
    // Begun with the first version and sent with the second: its denial is the second of the second.
    desk.engine.renew(now, &old, 2);
    desk.engine.renew(now, &old, 1);
    desk.settle(old, denied);
    let call = desk.begin(&with(2));
    assert_eq!(desk.told(call), "denied-latched");
}

#[test]
fn of_two_attempts_the_more_definite_decides_and_the_worst_of_the_rest_holds() {
    // Could break if the later of two attempts won, or if its certainty hid that the other may have acted (J1).
    let now = Instant::START;
    let hinted = |wait| Report {
        status: 503,
        ..throttled(wait)
    };
    let rows = [
        (
            Report::of(Outcome::Refused(Refusal::Caller)),
            failed(500, Sent::Maybe),
            "refused",
        ),
        (
            Report::of(Outcome::Denied { latches: true }),
            throttled(ms(5)),
            "denied",
        ),
        (throttled(ms(5)), failed(500, Sent::Maybe), "throttled"),
        (hinted(ms(9)), hinted(ms(3)), "throttled"),
    ];
    for (more, less, wins) in rows {
        let (more, less) = (Met::of(now, &more), Met::of(now, &less));
        for merged in [more.merged(less), less.merged(more)] {
            assert_eq!(merged.outcome.name(), wins);
            let longest = [more.hint, less.hint]
                .into_iter()
                .flatten()
                .map(|hint| hint.wait)
                .max();
            assert_eq!(merged.hint.map(|hint| hint.wait), longest);
            assert!(merged.sent >= less.sent.min(Sent::Maybe));
        }
    }
}

#[test]
fn a_batch_does_not_count_throttles_and_writes_do_not_take_declared_for_safe() {
    // Could break if a preset's word were read by one of the checks only.
    let batch = PolicyBuilder::from_preset(Preset::Batch)
        .jitter(Jitter::None)
        .retries(1)
        .breaker(None)
        .budget(None);
    let mut desk = Desk::new(batch);
    let main = [Candidate::at(desk.gate(batch, &[]))];
    let call = desk.begin(&main);
    for _ in 0..5 {
        let permit = desk.sent(call);
        desk.settle(permit, throttled(ms(900)));
        assert_eq!(desk.told(call), "server-asked");
        desk.pass(Duration::from_secs(30));
    }
    for told in ["backing-off", "attempts-spent"] {
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        assert_eq!(desk.told(call), told);
        desk.pass(Duration::from_secs(30));
    }
    for (preset, told) in [
        (Preset::Default, "backing-off"),
        (Preset::Writes, "may-have-acted"),
    ] {
        let mut desk = Desk::new(PolicyBuilder::from_preset(preset));
        let main = [Candidate::at(desk.gate(plain(), &[]))];
        let call = desk.begin_as(&main, |spec| spec.replay = Replay::Declared);
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        assert_eq!(desk.told(call), told);
    }
}

#[test]
fn whoever_forces_a_gate_is_obeyed_and_auto_ends_its_cool_down() {
    // Could break if a latch forgot those who wait at the gate already, or a cool-down outlived the word that ends it.
    let mut desk = Desk::new(plain().hints_max(Duration::from_secs(60)));
    let main = desk.gate(Policy::builder().budget(None), &[]);
    let route = [Candidate::at(main)];
    let first = desk.begin(&route);
    let permit = desk.sent(first);
    desk.settle(permit, throttled(Duration::from_secs(30)));
    let waits = desk.begin(&route);
    assert_eq!(desk.told(waits), "cooling-down");
    desk.engine.force(desk.now, main, Mode::Auto);
    assert_eq!(desk.engine.woken(desk.now), Some(waits));
    let permit = desk.sent(waits);
    desk.answer(permit);
    desk.engine.force(desk.now, main, Mode::Open);
    let refused = desk.begin(&route);
    assert_eq!(desk.told(refused), "breaker-open");
    desk.engine.force(desk.now, main, Mode::Auto);
    let sends = desk.begin(&route);
    let permit = desk.sent(sends);
    desk.answer(permit);
}

#[test]
fn of_a_hint_that_was_given_earlier_only_the_rest_is_waited_for() {
    // Could break if the hint of the first of two attempts counted anew from the end of the second.
    let now = Instant::START;
    let earlier = Met::of(now, &throttled(ms(900)));
    for (passed, left) in [(300, Some(ms(600))), (900, None), (5_000, None)] {
        let later = Met::of(now + ms(passed), &failed(500, Sent::Maybe));
        let hint = earlier.merged(later).hint;
        assert_eq!(hint.map(|hint| hint.wait), left, "after {passed} ms");
    }
}

#[test]
fn what_never_left_says_nothing_of_an_upstreams_health() {
    // Broken if a URL that cannot be sent, or a credential that could not be had, counted: our own mistakes would open
    // the breaker of a sound upstream, and an attempt that went nowhere would close that of a broken one.
    use crate::outcome::Cause;
    let policy = || plain().edit_breaker(|b| b.consecutive(1).probes(1));
    let mut desk = Desk::new(plain().retries(0));
    let gate = desk.gate(policy(), &[]);
    let route = [Candidate::at(gate)];
    let unsendable = Report::of(Outcome::Failed {
        cause: Cause::Request,
        sent: Sent::No,
        hint: None,
    });
    let without_credential = Report::of(Outcome::Denied { latches: false });
    let meets = |desk: &mut Desk, report| {
        let call = desk.begin(&route);
        let permit = desk.sent(call);
        desk.settle(permit, report);
        desk.told(call);
        desk.engine.end(desk.now, call);
    };
    let state = |desk: &Desk| desk.engine.state(desk.now, gate).unwrap().breaker.unwrap().state;
    for report in [unsendable, without_credential] {
        for _ in 0..3 {
            meets(&mut desk, report);
            desk.pass(ms(600));
        }
        assert_eq!(state(&desk), "closed", "{report:?}");
    }
    for _ in 0..2 {
        meets(&mut desk, failed(500, Sent::Maybe));
        desk.pass(ms(600));
    }
    assert_eq!(state(&desk), "open");
    desk.pass(Duration::from_secs(6));
    for report in [unsendable, without_credential] {
        // Each is a probe, frees its slot, and after a whole open time there is no verdict still.
        meets(&mut desk, report);
        desk.pass(Duration::from_secs(20));
        meets(&mut desk, report);
        assert_eq!(state(&desk), "half-open", "{report:?}");
    }
    meets(&mut desk, Report::of(Outcome::Answer));
    assert_eq!(state(&desk), "closed");
}
