//! Functions that are calls by the attribute.

use seawall::blocking::{StdClock, block_on};
use seawall::seawall_core::policy::Jitter;
use seawall::{Failure, Gate, Policy, RetryError};
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// With the shortest waits: what waits do is said elsewhere.
static QUICK: LazyLock<Policy> = LazyLock::new(|| {
    Policy::builder()
        .retries(3)
        .jitter(Jitter::None)
        .backoff_base(seawall::Duration::from_millis(1))
        .build()
        .unwrap()
});

fn run<T>(future: impl Future<Output = T>) -> T {
    block_on(&StdClock::new(), future)
}

fn reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

/// Fails as often as it says, and counts.
struct Flaky {
    failures: u32,
    attempts: AtomicU32,
    gate: Gate,
}

impl Flaky {
    fn failing(failures: u32) -> Self {
        Self {
            failures,
            attempts: AtomicU32::new(0),
            gate: Gate::new(&QUICK),
        }
    }

    fn attempt(&self) -> io::Result<u32> {
        let attempt = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        if attempt <= self.failures {
            Err(reset())
        } else {
            Ok(attempt)
        }
    }

    #[seawall::retry(gate = self.gate)]
    async fn at_a_gate(&self) -> Result<u32, RetryError<io::Error>> {
        let attempt = self.attempt()?;
        Ok(attempt)
    }

    #[seawall::retry(policy = QUICK)]
    fn on_a_thread(&mut self, log: &mut Vec<u32>, name: String) -> Result<String, RetryError<io::Error>> {
        log.push(self.attempts.load(Ordering::Relaxed));
        Ok(name + &self.attempt()?.to_string())
    }
}

#[test]
fn a_method_is_a_call_at_its_own_gate() {
    // Could break if the body were not an attempt but the whole call, or its `?` left the function.
    let flaky = Flaky::failing(2);
    assert_eq!(run(flaky.at_a_gate()).unwrap(), 3);
    let error = run(Flaky::failing(9).at_a_gate()).unwrap_err();
    assert_eq!((error.attempts, error.reason.code()), (4, "attempts-spent"));
    assert_eq!(error.into_last().unwrap().kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn a_function_that_blocks_is_a_call_on_its_thread() {
    // Could break if attempts took what the next one needs, or did not see what is exclusive.
    let mut log = Vec::new();
    let answer = Flaky::failing(2).on_a_thread(&mut log, "attempt ".to_owned());
    assert_eq!(answer.unwrap(), "attempt 3");
    assert_eq!(log, [0, 1, 2]);
}

/// Generic in all ways, with patterns, a lifetime and an early return.
#[seawall::retry(policy = QUICK, retries_max = 1, when = |error: &String| error.contains("again"))]
async fn join<'n, T, const N: usize>(
    names: &'n [T],
    (mut first, second): (String, u32),
    end: impl Display + Clone,
    seen: &RefCell<Vec<String>>,
    _: (),
) -> Result<(String, &'n [T]), RetryError<String>>
where
    T: Display,
{
    first.push_str(&second.to_string());
    seen.borrow_mut().push(first.clone());
    if seen.borrow().len() < N {
        return Err(format!("again {}", names[0]));
    }
    first.push_str(&end.to_string());
    Ok((first, names))
}

#[test]
fn generics_patterns_and_lifetimes_are_as_ever_and_each_attempt_has_its_own_arguments() {
    // Could break if an attempt found what the last one left of an argument.
    let names = ["a", "b"];
    let seen = RefCell::default();
    let (joined, same) = run(join::<_, 2>(&names, ("n".to_owned(), 1), '.', &seen, ())).unwrap();
    assert_eq!((joined.as_str(), same), ("n1.", &names[..]));
    assert_eq!(*seen.borrow(), ["n1", "n1"]);
    let seen = RefCell::default();
    let error = run(join::<_, 9>(&names, ("n".to_owned(), 1), '.', &seen, ())).unwrap_err();
    assert_eq!(error.last.as_deref(), Some("again a"));
    assert_eq!(seen.borrow().len(), 2);
}

/// An error of its own, that is made of how a call ended.
#[derive(Debug, PartialEq)]
enum Lookup {
    Busy,
    Ended(&'static str),
}

impl From<RetryError<Lookup>> for Lookup {
    fn from(end: RetryError<Self>) -> Self {
        Self::Ended(end.reason.code())
    }
}

#[seawall::retry(policy = QUICK, classify = |_: &Lookup| Failure::throttled(), deadline = "30s")]
async fn lookup(left: &Cell<u32>) -> Result<u32, Lookup> {
    left.set(left.get() - 1);
    if left.get() > 0 { Err(Lookup::Busy) } else { Ok(7) }
}

#[seawall::retry(policy = "off")]
fn read(path: &str) -> io::Result<String> {
    std::fs::read_to_string(path)
}

#[test]
fn a_function_may_keep_an_error_of_its_own() {
    // Could break if the reason were lost on the way into it.
    assert_eq!(run(lookup(&Cell::new(2))), Ok(7));
    assert_eq!(run(lookup(&Cell::new(9))), Err(Lookup::Ended("attempts-spent")));
    let error = read("there/is/no/such/file").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("refused: "), "{error}");
}

#[seawall::retry(policy = "interactive", replay = "unsafe", notify = |_| ())]
async fn write(sends: &Cell<u32>) -> Result<(), RetryError<io::Error>> {
    sends.set(sends.get() + 1);
    Err(reset())
}

#[test]
fn what_a_repeat_would_do_is_believed() {
    // Could break if the word were read and not said.
    let sends = Cell::new(0);
    let error = run(write(&sends)).unwrap_err();
    assert_eq!(
        (sends.get(), error.reason.code(), error.unknown),
        (1, "may-have-acted", true)
    );
}

#[test]
fn the_future_of_a_function_goes_to_other_threads() {
    // Could break if the attribute put anything into it that stays on its thread.
    fn goes<T: Send>(future: T) -> T {
        future
    }
    let flaky = Flaky::failing(0);
    assert_eq!(run(goes(flaky.at_a_gate())).unwrap(), 1);
}

/// A function that is written by a macro, whose names are its own.
macro_rules! answers {
    ($name:ident, $answer:expr) => {
        #[seawall::retry(policy = QUICK, when = |_| true)]
        async fn $name((more, _): (u32, u32)) -> Result<u32, RetryError<()>> {
            Ok($answer + more)
        }
    };
}

answers!(seven, 7);

#[test]
fn a_function_may_be_written_by_a_macro() {
    // Could break if what the attribute names were looked for where the macro was written.
    assert_eq!(run(seven((1, 2))), Ok(8));
}

#[rustfmt::skip]
mod in_one_line {
    // Breaks, when it is compiled, where the braces of a function are told to be unnecessary: they are its author's, and the
    // help would be to leave them out.
    #![deny(unused_braces)]

    #[seawall::retry(policy = "interactive")]
    pub(super) async fn awaited(name: &str) -> std::io::Result<usize> { Ok(name.len()) }

    #[seawall::retry(policy = "interactive")]
    pub(super) fn on_a_thread(name: &str) -> std::io::Result<usize> { Ok(name.len()) }
}

#[test]
fn a_function_in_one_line_is_as_good_as_any() {
    // Breaks when one of them does not compile; see there.
    assert_eq!(run(in_one_line::awaited("seven")).unwrap(), 5);
    assert_eq!(in_one_line::on_a_thread("seven").unwrap(), 5);
}
