//! The run itself: rows begun in order, ended in any, written as they end.
//!
//! What can go wrong: a task per row of a million; one failed row that ends the rest; Ctrl-C that throws paid answers
//! away or tears a line; a refused key tried a million times; a full disk that swallows what was answered. So at most
//! [`Options::begun_max`] calls exist at once; a failure is a line like any other; a stop (Ctrl-C, a gate-wide
//! failure, the disk) ends the beginning of rows, never the writing of those that end; what cannot be written is held
//! and tried again, for a while even when nothing else is left to do. A kill is no special case: the files say which rows are done.

mod files;

use crate::caller::{Call, Caller, Ended, Failure, Line, Reach};
use crate::clock;
use crate::error::{BatchError, Skippable};
use crate::input::{self, Rows, Scan, Sendable, Warned, WarningCode};
use crate::interrupt::{Interrupts, Level};
use crate::options::{Invalid, Options};
use crate::output::{self, Extras};
use crate::progress::{self, Rate, SHOWN_EVERY, Snapshot, Ui};
use crate::sink::{FileSink, OpenSink};
use crate::state::{self, Held};
use crate::summary::{End, RowCounts, Summary, Tally};
use files::Files;
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

/// How long the first Ctrl-C waits for calls in flight: 10 s, what people wait before they press it again.
pub const GRACE: core::time::Duration = core::time::Duration::from_secs(10);

/// Runs a batch to its end, or as far as it can go.
///
/// Every row that ends is in exactly one file, as a whole line, before this returns; rows that did not end are in
/// none, and the same options go on with them. Never sends a row whose line is in a file already. Rows that failed are
/// no error: [`Summary::exit`] tells them.
///
/// # Errors
/// Before anything is sent: input that cannot be run, files that cannot be used so, a lock that another run holds, rows
/// of an earlier run that changed. Afterwards: an input that changed while it was read, answers that could not be
/// written, files that do not hold what they must.
pub async fn run<C: Caller>(
    options: Options,
    caller: C,
    interrupts: Interrupts,
    ui: &mut dyn Ui,
) -> Result<Summary, BatchError> {
    run_on(options, caller, interrupts, ui, &FileSink::open).await
}

/// [`run`], with files opened by `open`: for tests of a full or failing disk.
///
/// # Errors
/// As [`run`].
pub async fn run_on<C: Caller>(
    options: Options,
    caller: C,
    mut interrupts: Interrupts,
    ui: &mut dyn Ui,
    open: OpenSink<'_>,
) -> Result<Summary, BatchError> {
    let mut scan = judged_scan(&options)?;
    let held = state::hold(&options, &mut scan)?;
    for note in &held.notes {
        ui.note(note);
    }
    let rows = Rows::new(scan.inputs.clone(), options.rules());
    let files = Files::open(&held, open)?;
    let mut runner = Runner::new(&options, scan, files, Arc::new(caller), ui);
    let driven = runner.drive(rows, &mut interrupts).await;
    let finished = runner.finish(&held);
    // A row that could not be written outweighs an input that changed: it is money.
    finished.and_then(|summary| driven.map(|()| summary))
}

/// What a batch would run.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Rows that would be sent.
    pub rows: u64,
    /// Faulty rows that would be left out.
    pub skipped: u64,
    /// Bytes of input, unpacked.
    pub bytes: u64,
    /// What is odd.
    pub warnings: BTreeMap<WarningCode, Warned>,
}

/// Reads and judges the input as [`run`] would; sends and writes nothing.
///
/// # Errors
/// Those of [`run`] that are about the input.
pub fn judge(options: &Options) -> Result<Judged, BatchError> {
    let scan = judged_scan(options)?;
    Ok(Judged {
        rows: scan.rows.len() as u64,
        skipped: scan.rows_faulty,
        bytes: scan.inputs.iter().map(|input| input.bytes).sum(),
        warnings: scan.warnings,
    })
}

fn judged_scan(options: &Options) -> Result<Scan, BatchError> {
    for (at, path) in options.inputs.iter().enumerate() {
        state::check_input(path)?;
        if options.inputs[..at]
            .iter()
            .any(|other| state::same_file(path, other))
        {
            return Err(BatchError::Usage(format!(
                "{} is named twice; each row is sent once, so name it once",
                path.display()
            )));
        }
    }
    if options.inputs.is_empty() {
        return Err(BatchError::Usage(
            "no input; name one or more JSONL files".to_owned(),
        ));
    }
    let mut scan = input::scan(&options.inputs, &options.rules())?;
    let skippable = match (scan.files_faulty, scan.rows.is_empty()) {
        (0, false) => Skippable::Yes,
        (_, _) => Skippable::No,
    };
    let refused = match options.invalid {
        Invalid::Refuse => scan.files_faulty + scan.rows_faulty > 0,
        Invalid::Skip => skippable == Skippable::No,
    };
    if refused {
        return Err(BatchError::Input {
            count: scan.files_faulty + scan.rows_faulty,
            faults: std::mem::take(&mut scan.faults),
            skippable,
        });
    }
    Ok(scan)
}

/// Whether rows are begun.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    /// None are begun any more; those in flight are let go at `until`, where there is one.
    Draining {
        until: Option<Instant>,
    },
}

/// When more rows are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoesOn {
    /// Once the calls of those just begun have had a turn, and it shows who of them is sent and who stands in line.
    AtOnce,
    /// When something has changed.
    Later,
}

/// Whether ended rows find room on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// They do.
    Found,
    /// Some did not, and are tried again until then.
    AwaitedUntil(Instant),
    /// Nobody wants to wait for it any more.
    GivenUp,
}

/// A row in flight.
#[derive(Clone, Copy, Debug)]
struct Begun {
    at: Instant,
    bytes: u64,
    task: tokio::task::Id,
}

struct Runner<'r, C> {
    begun_max: usize,
    begun_bytes_max: u64,
    line_max: usize,
    extras: Extras,
    scan: Scan,
    files: Files,
    caller: Arc<C>,
    ui: &'r mut dyn Ui,
    calls: JoinSet<(usize, Ended)>,
    /// The rows in flight; they are begun in order, so the first is the oldest.
    begun: BTreeMap<usize, Begun>,
    begun_bytes: u64,
    phase: Phase,
    end: End,
    room: Room,
    tally: Tally,
    rate: Rate,
    started: Instant,
    resumed: RowCounts,
    /// Rows that ended in this run.
    ok: u64,
    failed: u64,
}

impl<'r, C: Caller> Runner<'r, C> {
    fn new(options: &Options, scan: Scan, files: Files, caller: Arc<C>, ui: &'r mut dyn Ui) -> Self {
        let resumed = RowCounts::of(&scan, 0);
        Self {
            begun_max: options.begun_max(),
            begun_bytes_max: options.begun_bytes_max,
            line_max: options.line_max.max(1),
            extras: options.extras,
            scan,
            files,
            caller,
            ui,
            calls: JoinSet::new(),
            begun: BTreeMap::new(),
            begun_bytes: 0,
            phase: Phase::Running,
            end: End::Complete,
            room: Room::Found,
            tally: Tally::default(),
            rate: Rate::default(),
            started: clock::now(),
            resumed,
            ok: 0,
            failed: 0,
        }
    }

    async fn drive(&mut self, mut rows: Rows, interrupts: &mut Interrupts) -> Result<(), BatchError> {
        let mut ticker = tokio::time::interval(SHOWN_EVERY);
        ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut input = Ok(());
        loop {
            let mut goes_on = GoesOn::Later;
            if input.is_ok() {
                match self.begin_rows(&mut rows) {
                    Ok(next) => goes_on = next,
                    Err(error) => {
                        input = Err(error);
                        self.drain(None);
                    }
                }
            }
            if self.calls.is_empty() && !self.waits_for_room() {
                return input;
            }
            tokio::select! {
                biased;
                level = interrupts.next() => match level {
                    Level::None => {}
                    Level::Drain => self.interrupted(),
                    Level::Abort => {
                        self.end = End::Interrupted;
                        self.room = Room::GivenUp;
                        self.let_go().await;
                    }
                },
                Some(joined) = self.calls.join_next() => {
                    self.take(joined);
                    while let Some(joined) = self.calls.try_join_next() {
                        self.take(joined);
                    }
                    self.write();
                }
                _ = ticker.tick() => {
                    let snapshot = self.snapshot();
                    self.ui.show(&snapshot);
                    match self.room {
                        Room::AwaitedUntil(_) => self.write(),
                        Room::Found | Room::GivenUp => {}
                    }
                    if self.grace_is_over() {
                        self.let_go().await;
                    }
                }
                () = tokio::task::yield_now(), if goes_on == GoesOn::AtOnce => {}
            }
        }
    }

    fn begin_rows(&mut self, rows: &mut Rows) -> Result<GoesOn, BatchError> {
        let mut room_in_line = self.room_in_line();
        let mut goes_on = GoesOn::Later;
        while matches!(self.phase, Phase::Running)
            && self.calls.len() < self.begun_max
            && self.begun_bytes < self.begun_bytes_max
        {
            if room_in_line == 0 {
                return Ok(goes_on);
            }
            match rows.read(&self.scan.rows)? {
                Some((at, row)) => self.begin(at, row),
                None => break,
            }
            room_in_line -= 1;
            goes_on = GoesOn::AtOnce;
        }
        Ok(GoesOn::Later)
    }

    /// How many rows may be begun before more than enough stand in line. One that was begun a moment ago may come to
    /// stand there.
    fn room_in_line(&self) -> usize {
        let Some(Line { begun, queued }) = self.caller.line() else {
            return usize::MAX;
        };
        let not_there_yet = (self.calls.len() as u64).saturating_sub(begun);
        let stand = usize::try_from(queued.saturating_add(not_there_yet)).unwrap_or(usize::MAX);
        self.line_max.saturating_sub(stand)
    }

    fn begin(&mut self, at: usize, row: Sendable) {
        let caller = Arc::clone(&self.caller);
        let call = Call {
            id: row.id,
            method: row.method,
            path: row.path,
            body: row.body,
        };
        let bytes = call.body.len() as u64;
        let task = self.calls.spawn(async move { (at, caller.call(call).await) });
        let begun = Begun {
            at: clock::now(),
            bytes,
            task: task.id(),
        };
        self.begun.insert(at, begun);
        self.begun_bytes += bytes;
    }

    fn take(&mut self, joined: Result<(usize, Ended), JoinError>) {
        let (at, ended) = match joined {
            Ok(ended) => ended,
            Err(error) if error.is_cancelled() => return,
            Err(error) => {
                self.end = End::Broken;
                let mut begun = self.begun.iter();
                if let Some((&at, _)) = begun.find(|(_, begun)| begun.task == error.id()) {
                    self.let_bytes_go(at);
                }
                return;
            }
        };
        self.let_bytes_go(at);
        self.tally.count(&ended);
        if let Err(failure) = &ended.result {
            self.look_at(failure);
            if self.stays_pending(failure) {
                return;
            }
            *self.tally.failures.entry(failure.reason.code()).or_default() += 1;
            if let Some(write) = &failure.unknown {
                self.tally.unknown_writes += 1;
                let row = &self.scan.rows[at];
                self.files.push_unknown(self.scan.id(at), row, failure, write);
            }
        }
        let rendered = output::render(self.scan.id(at), &ended, self.extras);
        self.files.push(at, rendered);
    }

    fn let_bytes_go(&mut self, at: usize) {
        if let Some(begun) = self.begun.remove(&at) {
            self.begun_bytes -= begun.bytes;
        }
    }

    fn look_at(&mut self, failure: &Failure) {
        match (failure.reach, self.end) {
            (Reach::Row, _) => {}
            (Reach::Run(stop), End::Complete) => {
                self.end = End::Stopped(stop);
                self.ui
                    .note(&format!("no more rows are begun: {}", failure.message));
                self.drain(None);
            }
            (Reach::Run(_), End::Interrupted | End::Stopped(_) | End::NoRoom | End::Broken) => {}
        }
    }

    /// A row that the stop itself ended is sent again by the next run; never one that may have acted.
    fn stays_pending(&self, failure: &Failure) -> bool {
        let by_the_stop = match (failure.reach, self.phase) {
            (Reach::Run(_), _) => true,
            (Reach::Row, Phase::Draining { .. }) => {
                matches!(failure.reason, Reason::Cancelled | Reason::Draining)
            }
            (Reach::Row, Phase::Running) => false,
        };
        by_the_stop && failure.unknown.is_none()
    }

    fn write(&mut self) {
        let written = self.files.flush();
        for (at, state) in written.rows {
            self.scan.rows[at].state = state;
            match state {
                input::RowState::Answered => self.ok += 1,
                input::RowState::Failed => self.failed += 1,
                input::RowState::Pending => {}
            }
        }
        if let Some(text) = written.trouble
            && self.room == Room::Found
        {
            self.ui.note(&format!(
                "no more rows are begun: {text}; what ends is held and written if there is room within {} s",
                GRACE.as_secs()
            ));
            if self.end == End::Complete {
                self.end = End::NoRoom;
            }
            self.room = Room::AwaitedUntil(clock::now() + GRACE);
            match self.phase {
                Phase::Running => self.drain(None),
                // What is in flight keeps its own grace.
                Phase::Draining { .. } => {}
            }
        }
    }

    /// Answers that were paid for are worth a wait: somebody may be making room.
    fn waits_for_room(&self) -> bool {
        match self.room {
            Room::Found | Room::GivenUp => false,
            Room::AwaitedUntil(until) => self.files.holds_rows() && clock::now() < until,
        }
    }

    fn interrupted(&mut self) {
        self.end = End::Interrupted;
        // Calls that only wait end at once: to name them all would promise a wait for answers that nobody asked for.
        let in_flight = self.in_flight();
        self.ui.note(&format!(
            "no more rows are begun; waiting up to {} s for {in_flight} in flight, Ctrl-C again stops at once",
            GRACE.as_secs()
        ));
        self.drain(Some(clock::now() + GRACE));
    }

    fn drain(&mut self, until: Option<Instant>) {
        if matches!(self.phase, Phase::Running) {
            self.caller.draining();
        }
        self.phase = Phase::Draining { until };
    }

    fn grace_is_over(&self) -> bool {
        match self.phase {
            Phase::Running | Phase::Draining { until: None } => false,
            Phase::Draining { until: Some(until) } => clock::now() >= until,
        }
    }

    /// Abandons what is in flight; a call that ended in the meantime is kept.
    async fn let_go(&mut self) {
        self.drain(None);
        self.tally.let_go += self.in_flight();
        self.calls.abort_all();
        while let Some(joined) = self.calls.join_next().await {
            self.take(joined);
        }
        self.begun.clear();
        self.begun_bytes = 0;
        self.write();
    }

    /// Of the calls begun, those that are out; all of them where the caller does not know.
    fn in_flight(&self) -> u64 {
        let begun = self.calls.len() as u64;
        self.caller.in_flight().map_or(begun, |out| out.min(begun))
    }

    fn snapshot(&mut self) -> Snapshot {
        let now = clock::now();
        let ended_now = self.ok + self.failed;
        let rate_per_s = self.rate.sample(now, ended_now);
        let total = self.scan.rows.len() as u64;
        let done = self.resumed.ok + self.resumed.failed + ended_now;
        let oldest = self
            .begun
            .values()
            .next()
            .map(|begun| now.duration_since(begun.at));
        let begun = self.calls.len() as u64;
        let in_flight = self.in_flight();
        Snapshot {
            done,
            total,
            failed: self.resumed.failed + self.failed,
            in_flight,
            waiting: begun - in_flight,
            waits: self.caller.waits(),
            oldest: oldest.map_or(Duration::ZERO, Duration::from),
            rate_per_s,
            eta: rate_per_s
                .filter(|_| done < total)
                .and_then(|rate| progress::eta(total - done, rate)),
        }
    }

    fn finish(mut self, held: &Held) -> Result<Summary, BatchError> {
        self.write();
        let snapshot = self.snapshot();
        self.ui.finish(&snapshot);
        self.files.close()?;
        files::audit(held, &self.scan)?;
        let rows = RowCounts::of(&self.scan, self.resumed.ok + self.resumed.failed);
        let end = match self.end {
            End::Stopped(_) | End::Interrupted | End::NoRoom if rows.pending == 0 => End::Complete,
            end @ (End::Complete | End::Interrupted | End::Stopped(_) | End::NoRoom | End::Broken) => end,
        };
        Ok(Summary {
            rows,
            tally: self.tally,
            warnings: self.scan.warnings,
            elapsed: Duration::from(clock::now().duration_since(self.started)).up_to_millis(),
            end,
        })
    }
}

#[cfg(test)]
mod tests;
