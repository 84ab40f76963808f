use super::Severity;

/// What a piece of advice is about. Codes are stable: added to, never renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// How long a call may keep its caller.
    WaitMax,
    /// How many attempts an outage makes of a call.
    LoadMax,
    /// What the first second of an outage may see.
    FirstSecond,
    /// Where the floor is more than the ratio.
    FloorRules,
    /// Budgets hold for one process.
    PerProcess,
    /// Whether the budget protects the upstream.
    Headroom,
    /// What rate decides under `concurrency = "auto"`.
    AutoBehindRate,
    /// How slow answers may be before calls queue.
    ConcurrencyRoom,
    /// The failure rate never counts.
    BreakerRateSilent,
    /// What an upstream that hangs leaves for the next.
    FallbackComesLate,
    /// Nothing bounds retries.
    NoBudget,
    /// A window lets several times the load through at once.
    BurstLarge,
    /// The ratio is no budget any more.
    RatioWide,
    /// The floors of many processes are more than the ratio.
    FloorsAddUp,
    /// Calls and their extras are more than the upstream takes.
    NoHeadroom,
    /// Calls alone are more than the upstream takes.
    OverCapacity,
    /// At low rates no retry is allowed.
    BudgetStarves,
    /// No retry is ever allowed.
    BudgetNothing,
    /// More comes in than the rate limit lets out.
    RateAboveLimit,
    /// A call may hold its caller very long.
    DeadlineLong,
    /// A model cannot answer in that time.
    DeadlineShort,
    /// A server's word is cut.
    HintsClamped,
    /// `hints.max` never decides.
    HintsBeyondDeadline,
    /// One attempt may take all of the time.
    AttemptFillsDeadline,
    /// Some retries can never be made.
    RetriesBeyondDeadline,
    /// Calls that fail together come back together.
    NoJitter,
    /// Delays pile up at the cap.
    JitterPilesUp,
    /// Waits never grow.
    WaitsFlat,
    /// All retries are over at once.
    WaitsShort,
    /// The hedge starts too late to ever start.
    HedgeNever,
    /// No breaker.
    NoBreaker,
    /// The breaker refuses everything.
    BreakerForcedOpen,
    /// One part's failure is everybody's.
    BreakerOpensForAPart,
    /// Random errors open the breaker.
    BreakerRunShort,
    /// A few failures open the breaker.
    BreakerOpensOnFew,
    /// Calls wait for a breaker longer than they have.
    BreakerWaitsInVain,
    /// Every candidate is throttled together.
    QuotaShared,
    /// One account's limit is met several times.
    QuotasApart,
    /// Long prompts cannot fall back.
    FallbackWindowSmaller,
    /// A candidate is never sent to.
    CandidateTooDear,
    /// A route sends to nobody.
    RouteWithoutCandidate,
    /// Long prompts are refused by the token limit.
    BucketBelowWindow,
    /// Writes are repeated without a key.
    DeclaredWrite,
    /// The preset does not take the route's word.
    DeclaredNotTaken,
    /// Two gateways retry.
    NestedRetries,
    /// An upstream is the gateway itself.
    GoesToItself,
    /// A 429 cools nothing.
    ThrottleAsFailed,
    /// A refusal is retried.
    RefusalAsFailed,
}

/// What is known of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The code that it is about.
    pub code: Code,
    /// Its name in output, never renamed.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// When it is said.
    pub when: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

impl Code {
    /// What is known of it.
    ///
    /// # Panics
    /// Never: a test holds that every code has an entry at its own place.
    pub fn entry(self) -> &'static Entry {
        &CATALOGUE[self as usize]
    }

    /// Its name in output.
    pub fn name(self) -> &'static str {
        self.entry().name
    }
}

const fn note(code: Code, name: &'static str, when: &'static str, remedy: &'static str) -> Entry {
    let severity = Severity::Note;
    Entry {
        code,
        name,
        severity,
        when,
        remedy,
    }
}

const fn warning(code: Code, name: &'static str, when: &'static str, remedy: &'static str) -> Entry {
    let severity = Severity::Warning;
    Entry {
        code,
        name,
        severity,
        when,
        remedy,
    }
}

/// Every code, notes first, in the order of [`Code`].
#[rustfmt::skip]
pub const CATALOGUE: &[Entry] = &[
    note(Code::WaitMax, "wait-max", "Always: the longest that a call may take, the longest that its own waits and a server's may be, and how many attempts that never answer fit.", "Set `deadline` to what your callers wait."),
    note(Code::LoadMax, "load-max", "Always: attempts for each call in an outage, 1 + ratio, and the floor; 1 + retries without the budget.", ""),
    note(Code::FirstSecond, "first-second", "With a budget: one window's allowance may go at once, so the first second sees 1 + ratio × window times the load.", "A shorter `budget.window` makes it less."),
    note(Code::FloorRules, "floor-rules", "With a floor: below floor ÷ ratio calls a second, the floor is more than the ratio.", "Lower `budget.floor` where even that is too much."),
    note(Code::PerProcess, "per-process", "With a floor: every process has a floor of its own.", "Divide `budget.floor` by the number of processes; `--processes` reckons with them."),
    note(Code::Headroom, "headroom", "With a budget: it protects only while calls × (1 + ratio) + floor is below what the upstream takes.", "Give `--rate` and `--capacity`."),
    note(Code::AutoBehindRate, "auto-behind-rate", "`concurrency = \"auto\"` beside `requests_per_minute`: the rate keeps away the throttles that `auto` learns from.", "Nothing, unless the rate is only a guess; then leave it out."),
    note(Code::ConcurrencyRoom, "concurrency-room", "With `concurrency` and `--rate`: the mean time of an answer above which calls queue, concurrency ÷ rate.", "Raise `concurrency` where answers take longer."),
    note(Code::BreakerRateSilent, "breaker-rate-silent", "`--rate`: fewer calls fall into a window than `min_calls`.", "A longer `window` or a smaller `min_calls`, or nothing: a run of failures still opens it."),
    note(Code::FallbackComesLate, "fallback-comes-late", "A route's first upstream may use up the whole deadline by hanging, sends × first_byte, so that the next is never sent to.", "A shorter `timeouts.first_byte`, or `tries = 1`."),
    warning(Code::NoBudget, "no-budget", "`budget = \"off\"` with retries: an outage multiplies the load by 1 + retries.", "Keep a budget; its default is 10 %."),
    warning(Code::BurstLarge, "burst-large", "1 + ratio × window is above 2: the first second of an outage sees more than twice the load.", "Shorten `budget.window` or lower `budget.ratio`."),
    warning(Code::RatioWide, "ratio-wide", "A ratio of 0.5 or more.", "0.1 to 0.2."),
    warning(Code::FloorsAddUp, "floors-add-up", "`--processes` and `--rate`: the floors of all processes are more than the ratio gives.", "Divide the floor by the number of processes."),
    warning(Code::NoHeadroom, "no-headroom", "`--rate` and `--capacity`: calls × (1 + ratio) + floors is not below the capacity, so that an overload may keep itself alive.", "Fewer calls, more capacity or a smaller budget."),
    warning(Code::OverCapacity, "over-capacity", "`--rate` is not below `--capacity`.", "Limit what comes in, or add capacity."),
    warning(Code::BudgetStarves, "budget-starves", "Floor × window is below 1: below a rate that it names no retry is ever allowed.", "A floor of one a window."),
    warning(Code::BudgetNothing, "budget-nothing", "Ratio and floor together never allow one retry.", "A ratio or a floor, or `retries = 0`."),
    warning(Code::RateAboveLimit, "rate-above-limit", "`--rate` is above `requests_per_minute`.", "Raise the limit, or send less."),
    warning(Code::DeadlineLong, "deadline-long", "A deadline above 1 h.", "What your callers wait."),
    warning(Code::DeadlineShort, "deadline-short", "An upstream with models and a deadline below 30 s: a plain answer comes whole, at its end.", "30 s or more, or streams."),
    warning(Code::HintsClamped, "hints-clamped", "`hints.long = \"clamp\"`: calls are sent before the time that the server named.", "`long = \"stop\"`."),
    warning(Code::HintsBeyondDeadline, "hints-beyond-deadline", "A written `hints.max` above the deadline.", "Lower it, or give calls more time."),
    warning(Code::AttemptFillsDeadline, "attempt-fills-deadline", "A written `timeouts.first_byte` so near the deadline that no retry fits after an attempt that hangs.", "The first_byte that it names, or less."),
    warning(Code::RetriesBeyondDeadline, "retries-beyond-deadline", "Even the shortest waits of all retries are longer than the deadline.", "Fewer retries or more time."),
    warning(Code::NoJitter, "no-jitter", "`jitter = \"none\"` with retries.", "`jitter = \"full\"`."),
    warning(Code::JitterPilesUp, "jitter-piles-up", "`jitter = \"decorrelated-aws\"`, which cuts two draws of three at the cap.", "`\"decorrelated\"` or `\"full\"`."),
    warning(Code::WaitsFlat, "waits-flat", "`factor = 1` with two retries or more.", "`factor = 2`."),
    warning(Code::WaitsShort, "waits-short", "Two retries or more, all over within a second of waiting.", "A larger `backoff.base`."),
    warning(Code::HedgeNever, "hedge-never", "`hedge.after` is not below the time in which an attempt must answer.", "Near the time in which 95 of 100 answers begin."),
    warning(Code::NoBreaker, "no-breaker", "`breaker = \"off\"` or `mode = \"closed\"`.", "Keep a breaker, or `mode = \"observe\"` to see what it would do."),
    warning(Code::BreakerForcedOpen, "breaker-forced-open", "`mode = \"open\"` refuses every call.", "`mode = \"auto\"`."),
    warning(Code::BreakerOpensForAPart, "breaker-opens-for-a-part", "`failure_rate` is so low that one part of an upstream that fails (a model, a shard, a key) closes off all others.", "Above the share of the largest part."),
    warning(Code::BreakerRunShort, "breaker-run-short", "`consecutive` of 1 or 2: random errors open it.", "5."),
    warning(Code::BreakerOpensOnFew, "breaker-opens-on-few", "`min_calls` × `failure_rate` is fewer than 5 failures.", "A larger `min_calls`."),
    warning(Code::BreakerWaitsInVain, "breaker-waits-in-vain", "`on_open = \"wait\"`, and it stays open longer than a call may take.", "A shorter `open_for`, or `on_open = \"fail\"`."),
    warning(Code::QuotaShared, "quota-shared", "All candidates of a route share one quota.", "A candidate with a quota of its own."),
    warning(Code::QuotasApart, "quotas-apart", "Several upstreams with one credential at one host, and not one `quota`.", "The same `quota` for all of them, if it is one account."),
    warning(Code::FallbackWindowSmaller, "fallback-window-smaller", "A candidate takes fewer tokens than the first.", "Another candidate for long prompts."),
    warning(Code::CandidateTooDear, "candidate-too-dear", "A candidate costs more than the route's `max_price`.", "Take it out, or raise `max_price`."),
    warning(Code::RouteWithoutCandidate, "route-without-candidate", "Every candidate costs more than `max_price`.", "Raise `max_price`."),
    warning(Code::BucketBelowWindow, "bucket-below-window", "A minute of tokens is less than one call of a model may have.", "A larger limit, or shorter prompts."),
    warning(Code::DeclaredWrite, "declared-write", "`replay = \"declared\"` on paths that are not a model's: writes are repeated without a key.", "Idempotency keys."),
    warning(Code::DeclaredNotTaken, "declared-not-taken", "`replay = \"declared\"` under the preset `writes`, which does not take it.", "Another preset, or keys."),
    warning(Code::NestedRetries, "nested-retries", "An upstream is another seawall, and both retry: (1 + retries)² attempts, and budgets multiply.", "`retries = 0` in one of them."),
    warning(Code::GoesToItself, "goes-to-itself", "An upstream's address is the gateway's own.", "The address of the server behind."),
    warning(Code::ThrottleAsFailed, "throttle-as-failed", "`classify` makes a 429 a failure.", "`as = \"throttled\"`."),
    warning(Code::RefusalAsFailed, "refusal-as-failed", "`classify` makes a refusal a failure, which is retried.", "Leave it out, unless the server says it by mistake."),
];
