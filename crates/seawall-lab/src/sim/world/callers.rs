//! Calls and their attempts, driven as the live loops drive them.

use super::{Agenda, Event, Fate, Life, World};
use crate::sim::luck::Draws;
use crate::sim::model::Told;
use crate::sim::tally::CallEnd;
use seawall_core::engine::{Engine, Opened, Opening, Settled};
use seawall_core::outcome::{Cause, Hint, HintSource, Outcome, Report, Sent, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::Instant;
use seawall_core::verdict::{Action, CallId, Limits, Permit, Verdict};
use std::ops::{Index, IndexMut};

/// No attempt.
const NONE: u32 = u32::MAX;

/// How the engine knows a call.
#[derive(Debug)]
pub(super) enum Handle {
    /// It does not.
    Nothing,
    /// Its first attempt is out, and it has no seat.
    Opening(Opening),
    /// It has a seat.
    Seated(CallId),
}

/// One call, of a client or of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) layer: u8,
    pub(super) shard: u16,
    pub(super) process: u32,
    pub(super) client: u32,
    /// What chance is named by.
    pub(super) who: u64,
    pub(super) nth: u64,
    /// Read and written.
    pub(super) tokens: (u32, u32),
    /// When it was to begin: it may have stood in line for a connection.
    pub(super) due: Instant,
    pub(super) began: Instant,
    /// The attempt, and its life, that it is made for; `NONE` of a client's call.
    pub(super) made_for: (u32, u32),
    /// Its attempts that are out, an attempt and its hedge.
    pub(super) out: [u32; 2],
    pub(super) sends: u32,
    /// What its caller says its number is (rule G3).
    pub(super) told_nth: u32,
    /// Whether a layer above retried for it, told or not.
    pub(super) is_extra: bool,
}

impl Call {
    pub(super) const VACANT: Self = Self {
        layer: 0,
        shard: 0,
        process: 0,
        client: 0,
        who: 0,
        nth: 0,
        tokens: (0, 0),
        due: Instant::START,
        began: Instant::START,
        made_for: (NONE, 0),
        out: [NONE; 2],
        sends: 0,
        told_nth: 1,
        is_extra: false,
    };
}

/// Where a call is kept.
#[derive(Debug)]
struct Place {
    call: Call,
    handle: Handle,
    /// How often it was told what to do; never begins anew, so that what was told a call that was here before is stale.
    told: u32,
}

/// All calls that live.
#[derive(Debug, Default)]
pub(super) struct Calls {
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Calls {
    fn add(&mut self, call: Call) -> u32 {
        if let Some(number) = self.free.pop() {
            self.places[number as usize].call = call;
            return number;
        }
        self.places.push(Place {
            call,
            handle: Handle::Nothing,
            told: 0,
        });
        u32::try_from(self.places.len() - 1).expect("calls are counted in 32 bits")
    }

    /// A call is over, and its place free.
    fn remove(&mut self, number: u32) {
        let place = &mut self.places[number as usize];
        place.told += 1;
        // The rest is more than any one call is told.
        if place.told < Life::END / 2 {
            self.free.push(number);
        }
    }

    /// What they take, with a seat for each in an engine.
    pub(super) fn bytes(&self) -> u64 {
        const SEAT_BYTES: usize = 128;
        (self.places.len() * (size_of::<Place>() + SEAT_BYTES)) as u64
    }

    fn place(&mut self, number: u32) -> &mut Place {
        &mut self.places[number as usize]
    }

    /// Whether this is the last that the call was told.
    pub(super) fn is_told(&self, call: u32, told: u32) -> bool {
        self.places[call as usize].told == told
    }
}

impl Index<u32> for Calls {
    type Output = Call;

    fn index(&self, number: u32) -> &Call {
        &self.places[number as usize].call
    }
}

impl IndexMut<u32> for Calls {
    fn index_mut(&mut self, number: u32) -> &mut Call {
        &mut self.places[number as usize].call
    }
}

/// An attempt that is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) call: u32,
    /// Which of its call, from 1.
    pub(super) number: u32,
    pub(super) candidate: u16,
    /// When its caller stops waiting.
    pub(super) until: Instant,
    pub(super) fate: Fate,
}

/// Where an attempt is kept.
#[derive(Debug)]
pub(super) struct Berth {
    pub(super) attempt: Attempt,
    /// Odd while it is out.
    life: u32,
    /// When its caller stops waiting once the answer has begun.
    until_whole: Instant,
    permit: Option<Permit>,
    hops: Draws,
    /// Its neighbours among those of one limit: `NONE` at the ends, and of one that is not among them.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) in_line: bool,
}

/// All attempts that are out.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    berths: Vec<Berth>,
    free: Vec<u32>,
}

impl Attempts {
    fn add(&mut self, attempt: Attempt, permit: Option<Permit>, hops: Draws) -> u32 {
        if let Some(number) = self.free.pop() {
            let berth = &mut self.berths[number as usize];
            (berth.attempt, berth.permit, berth.hops) = (attempt, permit, hops);
            berth.life += 1;
            return number;
        }
        self.berths.push(Berth {
            attempt,
            life: 1,
            until_whole: Instant::NEVER,
            permit,
            hops,
            before: NONE,
            after: NONE,
            in_line: false,
        });
        u32::try_from(self.berths.len() - 1).expect("attempts are counted in 32 bits")
    }

    fn remove(&mut self, number: u32) -> (Attempt, Option<Permit>) {
        let berth = &mut self.berths[number as usize];
        berth.life += 1;
        if berth.life < Life::END {
            self.free.push(number);
        }
        (berth.attempt, berth.permit.take())
    }

    /// What they take.
    pub(super) fn bytes(&self) -> u64 {
        (self.berths.len() * size_of::<Berth>()) as u64
    }

    #[inline]
    pub(super) fn is_out(&self, number: u32, life: u32) -> bool {
        self.berths[number as usize].life == life
    }

    pub(super) fn get(&self, number: u32, life: u32) -> Option<&Attempt> {
        self.is_out(number, life)
            .then(|| &self.berths[number as usize].attempt)
    }

    pub(super) fn get_mut(&mut self, number: u32, life: u32) -> Option<&mut Attempt> {
        let is_out = self.is_out(number, life);
        is_out.then(|| &mut self.berths[number as usize].attempt)
    }

    pub(super) fn hops(&mut self, number: u32) -> &mut Draws {
        &mut self.berths[number as usize].hops
    }

    pub(super) fn berth(&mut self, number: u32) -> &mut Berth {
        &mut self.berths[number as usize]
    }
}

impl<A: Agenda<Event> + Default> World<'_, A> {
    /// A call begins. `nth` is what its caller says its number is.
    pub(super) fn begin(&mut self, call: Call, nth: u32) {
        let number = self.calls.add(Call {
            told_nth: nth,
            ..call
        });
        let (layer, process) = (usize::from(call.layer), call.process);
        let (engine, spec) = self.layers[layer].fleet.engine_and_spec(self.now, &call, nth);
        match engine.open(self.now, &spec) {
            Opened::Sent(opening, limits) => {
                self.calls.place(number).handle = Handle::Opening(opening);
                self.send(number, None, limits);
            }
            Opened::Seated(id, verdict) => {
                self.layers[layer].fleet.seat(process, id, number);
                self.calls.place(number).handle = Handle::Seated(id);
                self.follow(number, verdict);
            }
        }
        self.pass_on(layer, process);
    }

    /// The time that a call was told to wait for has come. Whose turn that makes it is the engine's to say, in its own
    /// order, as it is for those who wait live.
    pub(super) fn turn_comes(&mut self, number: u32, told: u32) {
        let (layer, process) = (usize::from(self.calls[number].layer), self.calls[number].process);
        self.pass_on(layer, process);
        if self.calls.is_told(number, told) {
            self.ask(number);
            self.pass_on(layer, process);
        }
    }

    /// Asks what to do with a call now, and does it.
    fn ask(&mut self, number: u32) {
        let Handle::Seated(id) = self.calls.place(number).handle else {
            unreachable!("a call that is told to wait has a seat")
        };
        let call = self.calls[number];
        let verdict = self.poll(&call, id);
        self.follow(number, verdict);
    }

    /// Does what a verdict says.
    fn follow(&mut self, number: u32, verdict: Verdict) {
        let Verdict {
            mut action,
            mut reason,
        } = verdict;
        loop {
            let place = self.calls.place(number);
            place.told += 1;
            let told = Life::of(place.told);
            match action {
                Action::Send(permit) => {
                    let (call, limits) = (permit.call(), *permit.limits());
                    self.send(number, Some(permit), limits);
                    if !self.layers[usize::from(self.calls[number].layer)].fleet.hedges() {
                        return;
                    }
                    let layer_call = self.calls[number];
                    Verdict { action, reason } = self.poll(&layer_call, call);
                }
                Action::Wait(at) => {
                    self.count_reason(number, &reason);
                    self.agenda.push(at, Event::Asks { call: number, told });
                    return;
                }
                Action::Park { until } => {
                    self.count_reason(number, &reason);
                    self.agenda.push(until, Event::Asks { call: number, told });
                    return;
                }
                Action::InFlight { lost: Some(lost), .. } => {
                    let out = self.calls[number].out;
                    let loser = out.into_iter().find(|attempt| {
                        *attempt != NONE && self.attempts.berth(*attempt).attempt.number == lost
                    });
                    let loser = loser.expect("what lost is out");
                    let permit = self
                        .take_down(loser)
                        .expect("a call with two attempts has a seat");
                    let layer_call = self.calls[number];
                    let call = permit.call();
                    self.abandon(&layer_call, permit);
                    Verdict { action, reason } = self.poll(&layer_call, call);
                }
                Action::InFlight { hedge_at, lost: None } => {
                    if let Some(at) = hedge_at {
                        self.agenda.push(at, Event::Asks { call: number, told });
                    }
                    return;
                }
                Action::Finish { .. } => return self.finish(number, reason),
            }
        }
    }

    /// One attempt leaves.
    fn send(&mut self, number: u32, permit: Option<Permit>, limits: Limits) {
        let call = &mut self.calls[number];
        call.sends += 1;
        let (nth_send, candidate) = match &permit {
            Some(permit) => (permit.attempt(), permit.candidate()),
            None => (1, 0),
        };
        let call = *call;
        let lasts = limits
            .first_byte
            .min(limits.total)
            .min(limits.deadline.since(self.now));
        let until = self.now.after(lasts);
        let attempt = Attempt {
            call: number,
            number: nth_send,
            candidate: u16::try_from(candidate).expect("few candidates"),
            until,
            fate: Fate::Failed,
        };
        let hops = self.hops_of(&call, nth_send);
        let attempt = self.attempts.add(attempt, permit, hops);
        let berth = self.attempts.berth(attempt);
        berth.until_whole = self.now.after(limits.total);
        let life = berth.life;
        let out = &mut self.calls[number].out;
        let free = out.iter_mut().find(|place| **place == NONE);
        *free.expect("an attempt and its hedge at the most") = attempt;
        self.wait_for(call.layer, attempt, life, lasts);
        let hop = self.hop(attempt);
        if hop.is_zero() {
            self.reaches(attempt, life);
        } else {
            let life = Life::of(life);
            self.agenda
                .push(self.now.after(hop), Event::Reaches { attempt, life });
        }
    }

    /// An attempt becomes a call of the next layer.
    pub(super) fn pass_down(&mut self, attempt: u32, life: u32, out: &Attempt, above: &Call) {
        let layer = above.layer + 1;
        let told = self.layers[usize::from(above.layer)].told;
        let nth = match told {
            Told::Attempts => out.number.max(above.told_nth),
            Told::Nothing => 1,
        };
        self.count_reached(above);
        let (who, name) = (
            above.who ^ (u64::from(layer) << 56),
            crate::sim::luck::name_of_attempt(above.nth, out.number),
        );
        let call = Call {
            layer,
            process: self.layers[usize::from(layer)].fleet.drawn(self.luck, who, name),
            client: above.client,
            who,
            nth: name,
            shard: above.shard,
            tokens: above.tokens,
            due: above.due,
            began: self.now,
            made_for: (attempt, life),
            is_extra: above.is_extra || out.number > 1,
            ..Call::VACANT
        };
        self.begin(call, nth);
    }

    /// The first byte of an attempt's answer has reached its caller, who accepts it: the call is committed, and waits for
    /// the rest as long as a whole attempt may take.
    #[inline(never)]
    pub(super) fn hears(&mut self, attempt: u32, life: Life) {
        let Some(out) = self.attempts.get(attempt, life.number()).copied() else {
            return;
        };
        self.tally.events += 1;
        self.wait_no_more(attempt);
        let berth = self.attempts.berth(attempt);
        let at = berth.until_whole;
        berth.attempt.until = at;
        if at != Instant::NEVER {
            self.agenda.push(at, Event::LimitPasses { attempt, life });
        }
        let call = self.calls[out.call];
        let (layer, process) = (usize::from(call.layer), call.process);
        let engine = self.layers[layer].fleet.engine(process);
        let permit = self.attempts.berth(attempt).permit.as_ref();
        match (&self.calls.place(out.call).handle, permit) {
            (Handle::Opening(opening), _) => engine.commit_opening(self.now, opening),
            (Handle::Seated(_), Some(permit)) => engine.commit(self.now, permit),
            (Handle::Seated(_), None) | (Handle::Nothing, _) => {
                unreachable!("an attempt of a call with a seat has a permit")
            }
        }
        let (above, life) = call.made_for;
        if above != NONE && self.attempts.is_out(above, life) {
            let at = self.now.after(self.hop(above));
            let life = Life::of(life);
            self.agenda.push(at, Event::Hears { attempt: above, life });
        }
        // Who has lost to this one is told.
        self.pass_on(layer, process);
    }

    /// What an attempt came to has reached its caller.
    pub(super) fn lands(&mut self, attempt: u32, life: u32) {
        if let Some(out) = self.attempts.get(attempt, life) {
            let report = report_of(out.fate, self.calls[out.call].tokens);
            self.tally.events += 1;
            self.land(attempt, report);
        }
    }

    /// An attempt's limit has passed.
    pub(super) fn limit_passes(&mut self, attempt: u32) {
        self.tally.events += 1;
        self.land(
            attempt,
            Report::of(Outcome::Failed {
                cause: Cause::Timeout,
                sent: Sent::Maybe,
                hint: None,
            }),
        );
    }

    fn land(&mut self, attempt: u32, report: Report) {
        let number = self.attempts.berth(attempt).attempt.call;
        let permit = self.take_down(attempt);
        let call = self.calls[number];
        let (layer, process) = (usize::from(call.layer), call.process);
        match (
            std::mem::replace(&mut self.calls.place(number).handle, Handle::Nothing),
            permit,
        ) {
            (Handle::Opening(opening), _) => {
                let began = call.began;
                let (engine, spec) = self.layers[layer]
                    .fleet
                    .engine_and_spec(began, &call, call.told_nth);
                match engine.settle_opening(self.now, opening, report, |_| spec) {
                    Settled::Answered(_) => self.over(number, Reason::Succeeded),
                    Settled::Seated(id, verdict) => {
                        self.layers[layer].fleet.seat(process, id, number);
                        self.calls.place(number).handle = Handle::Seated(id);
                        self.follow(number, verdict);
                    }
                }
            }
            (Handle::Seated(id), Some(permit)) => {
                self.calls.place(number).handle = Handle::Seated(id);
                let now = self.now;
                let engine = self.engine_of(&call);
                engine.settle(now, permit, report);
                let verdict = engine.poll(now, id);
                self.follow(number, verdict);
            }
            (Handle::Seated(_), None) | (Handle::Nothing, _) => {
                unreachable!("an attempt of a call with a seat has a permit")
            }
        }
        self.pass_on(layer, process);
    }

    /// The engine has said that a call is over.
    fn finish(&mut self, number: u32, reason: Reason) {
        for attempt in self.calls[number].out {
            if attempt != NONE {
                let permit = self.take_down(attempt).expect("a call that is judged has a seat");
                let call = self.calls[number];
                self.abandon(&call, permit);
            }
        }
        let call = self.calls[number];
        let handle = std::mem::replace(&mut self.calls.place(number).handle, Handle::Nothing);
        let Handle::Seated(id) = handle else {
            unreachable!("a call that is judged has a seat")
        };
        let now = self.now;
        self.engine_of(&call).end(now, id);
        self.over(number, reason);
    }

    /// A call is over, and the engine knows it no more.
    fn over(&mut self, number: u32, reason: Reason) {
        let call = self.calls[number];
        self.calls.remove(number);
        let answered = reason == Reason::Succeeded;
        let (above, life) = call.made_for;
        if above != NONE {
            let told = self.layers[usize::from(call.layer) - 1].told;
            let fate = match (answered, told) {
                (true, _) => Fate::Answered,
                (false, Told::Nothing) => Fate::Failed,
                (false, Told::Attempts) => Fate::GivenUp,
            };
            if let Some(out) = self.attempts.get_mut(above, life) {
                out.fate = fate;
                let at = self.now.after(self.hop(above));
                let life = Life::of(life);
                self.agenda.push(at, Event::Lands { attempt: above, life });
            }
            return;
        }
        let end = CallEnd {
            due: call.due,
            at: self.now,
            reason: &reason,
            sends: call.sends,
        };
        self.tally.call_ends(&end, self.model.warmup);
        self.tally.ended_at = self.now;
        if let Some((nth, at)) = self.source.ended(call.client, call.nth, self.now) {
            let client = call.client;
            self.agenda.push(at, Event::Calls { client, nth });
        }
        if let Some(waiting) = self.source.next_in_line() {
            // Not from here: it may end at once, as all do behind an open breaker, and so may everybody in line.
            self.next.push_back((call.client, waiting));
        }
    }

    /// An attempt is out no more: whoever waits for it is told no more.
    fn take_down(&mut self, attempt: u32) -> Option<Permit> {
        self.wait_no_more(attempt);
        let (out, permit) = self.attempts.remove(attempt);
        for place in &mut self.calls[out.call].out {
            if *place == attempt {
                *place = NONE;
            }
        }
        permit
    }

    fn count_reason(&mut self, number: u32, reason: &Reason) {
        let call = self.calls[number];
        if call.layer == 0 && self.counts(&call) {
            self.tally.told(reason);
        }
    }

    fn engine_of(&mut self, call: &Call) -> &mut Engine {
        self.layers[usize::from(call.layer)].fleet.engine(call.process)
    }

    fn poll(&mut self, call: &Call, id: CallId) -> Verdict {
        let now = self.now;
        self.engine_of(call).poll(now, id)
    }

    fn abandon(&mut self, call: &Call, permit: Permit) {
        let now = self.now;
        self.engine_of(call)
            .abandon(now, permit, Sent::Maybe, Usage::NONE);
    }

    /// Those that were woken ask, each when its turn comes: all are told before the first of them asks.
    fn pass_on(&mut self, layer: usize, process: u32) {
        self.tell_woken(layer, process);
        // Whoever asks may send, and where no time is on the way a call of the next layer begins within that: whom that
        // wakes stands behind those here.
        if self.passing_on {
            return;
        }
        self.passing_on = true;
        while let Some((number, told)) = self.woken.pop_front() {
            // One that was woken twice has asked.
            if self.calls.is_told(number, told) {
                let call = self.calls[number];
                self.ask(number);
                self.tell_woken(usize::from(call.layer), call.process);
            }
        }
        self.passing_on = false;
    }

    #[inline]
    fn tell_woken(&mut self, layer: usize, process: u32) {
        while let Some(number) = self.layers[layer].fleet.woken(process, self.now) {
            self.woken.push_back((number, self.calls.place(number).told));
        }
    }
}

/// What an adapter would tell the engine of this.
fn report_of(fate: Fate, (read, written): (u32, u32)) -> Report {
    let failed = |cause, sent| Outcome::Failed {
        cause,
        sent,
        hint: None,
    };
    let (outcome, status) = match fate {
        Fate::Answered => (Outcome::Answer, 200),
        Fate::GivenUp => (failed(Cause::Status, Sent::Maybe), 500),
        Fate::Failed | Fate::Shed => (failed(Cause::Status, Sent::Maybe), 503),
        Fate::Refused => (failed(Cause::Connect, Sent::No), 0),
        Fate::Truncated => (failed(Cause::Cut, Sent::Maybe), 200),
        Fate::Conflict => (failed(Cause::Status, Sent::NotDone), 409),
        Fate::Throttled { retry_after } => {
            let hint = retry_after.map(|wait| Hint {
                wait,
                cools: true,
                source: HintSource::RetryAfter,
            });
            (Outcome::Throttled { hint }, 429)
        }
    };
    Report {
        status,
        usage: match fate {
            Fate::Answered => Usage {
                tokens_in: u64::from(read),
                tokens_out: u64::from(written),
            },
            Fate::Failed
            | Fate::GivenUp
            | Fate::Shed
            | Fate::Refused
            | Fate::Truncated
            | Fate::Conflict
            | Fate::Throttled { .. } => Usage::NONE,
        },
        should_retry: (fate == Fate::GivenUp).then_some(false),
        ..Report::of(outcome)
    }
}

#[cfg(test)]
mod tests;
