//! What several words on one error mean together, and classifiers made of others.

use super::*;
use proptest::prelude::*;
use seawall_core::facts::Broke;
use std::error::Error;
use std::fmt;
use std::io;

/// An error of which every part may say something.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    failure: Failure,
    transient: bool,
    hint_ms: Option<u64>,
}

impl Said {
    fn hint(&self) -> Option<Duration> {
        self.hint_ms.map(Duration::from_millis)
    }
}

/// What the engine is told of an error, by the call that `say` makes.
fn told<C: Sifts<Said>>(mut sieve: C, error: Said) -> Failure {
    sieve.failure(&error)
}

fn call(_: &Said) -> Retry<'static, Each<impl FnMut() -> std::future::Ready<Result<(), Said>>>> {
    Retry::new(
        Each(|| std::future::ready(Ok::<(), Said>(()))),
        Alone::by(&POLICY).into(),
    )
}

static POLICY: Policy = Policy::preset(seawall_core::policy::Preset::Default);

fn failures() -> impl Strategy<Value = Failure> {
    let failure = prop_oneof![
        Just(Failure::permanent()),
        Just(Failure::transient()),
        Just(Failure::throttled()),
        Just(Failure::broke(Broke::Refused)),
        any::<u16>().prop_map(Failure::status),
    ];
    (failure, 0..9_u64).prop_map(|(failure, ms)| failure.retry_after(Duration::from_millis(ms)))
}

prop_compose! {
    fn errors()(
        failure in failures(),
        transient in any::<bool>(),
        hint_ms in prop::option::of(0..9_u64),
    ) -> Said {
        Said { failure, transient, hint_ms }
    }
}

proptest! {
    /// Could break if the last word said, or the first, were the only one heard.
    #[test]
    fn when_classify_and_hint_mean_the_same_in_any_order(error in errors()) {
        let when = |error: &Said| error.transient;
        let classify = |error: &Said| error.failure;
        let hint = |error: &Said| error.hint();
        let orders = [
            told(call(&error).when(when).classify(classify).hint(hint).hand.classifier, error),
            told(call(&error).when(when).hint(hint).classify(classify).hand.classifier, error),
            told(call(&error).classify(classify).when(when).hint(hint).hand.classifier, error),
            told(call(&error).classify(classify).hint(hint).when(when).hand.classifier, error),
            told(call(&error).hint(hint).when(when).classify(classify).hand.classifier, error),
            told(call(&error).hint(hint).classify(classify).when(when).hand.classifier, error),
        ];
        let wait = error.failure.wait().max(error.hint().unwrap_or(Duration::ZERO));
        let expected = match error.transient {
            true => error.failure.retry_after(wait),
            false => Failure::permanent(),
        };
        prop_assert_eq!(orders, [expected; 6]);
        // A value made of the same three says the same.
        let mut value = classify.when(when).hint(hint);
        prop_assert_eq!(value.failure(&error).report(), expected.report());
    }

    /// Could break if a classifier that has nothing to say hid another's word, or if grouping changed who is heard.
    #[test]
    fn what_is_heard_of_several_does_not_depend_on_how_they_are_grouped(
        words in prop::array::uniform3(failures()),
    ) {
        let [a, b, c] = words.map(|word| move |_: &()| word);
        let grouped = [
            Classifier::or(Classifier::or(a, b), c).failure(&()),
            Classifier::or(a, Classifier::or(b, c)).failure(&()),
        ];
        let first = words.into_iter().find(|word| !word.is_permanent());
        prop_assert_eq!(grouped, [first.unwrap_or(words[2]); 2]);
        let never = |_: &()| Failure::permanent();
        prop_assert_eq!(Classifier::or(never, a).failure(&()), words[0]);
        prop_assert_eq!(Classifier::or(a, never).failure(&()).report(), words[0].report());
    }
}

#[test]
fn when_alone_asks_no_type() {
    // Could break if `when` were a filter over the type's own word: errors of no type at all could not be retried.
    let clock = CrankedClock::new();
    let policy = policy();
    let mut left = 2;
    let make = || {
        left -= 1;
        std::future::ready(if left == 0 { Ok(7) } else { Err(()) })
    };
    let alone = Alone::by(&policy).clock(Arc::new(clock.clone()));
    assert_eq!(run(&clock, retry(make, alone).when(|()| true)), Ok(7));
}

/// A service's error with a library's inside.
#[derive(Debug)]
enum Service {
    Socket(io::Error),
    Refused,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("service")
    }
}

impl Error for Service {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Socket(error) => Some(error),
            Self::Refused => None,
        }
    }
}

fn reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

#[test]
fn a_part_of_an_error_is_asked_by_its_own_type() {
    // Could break if an error that has no such part were taken for one that says "again".
    let mut sockets = ByType.within(|error: &Service| match error {
        Service::Socket(error) => Some(error),
        Service::Refused => None,
    });
    assert_eq!(sockets.failure(&Service::Socket(reset())), reset().classify());
    assert_eq!(sockets.failure(&Service::Refused), Failure::permanent());
}

#[test]
fn an_error_in_a_box_is_what_its_nearest_known_cause_says() {
    // Could break at a cause of a cause, or if a box of another kind were not looked into.
    let caused = || caused_by::<io::Error>();
    let boxed: Box<dyn Error + Send + Sync> = Box::new(Service::Socket(reset()));
    assert_eq!(caused().failure(&boxed), reset().classify());
    let itself: Box<dyn Error> = Box::new(reset());
    assert_eq!(caused().failure(&itself), reset().classify());
    let shared: Arc<dyn Error + Send + Sync> = Arc::new(Service::Refused);
    assert_eq!(caused().failure(&shared), Failure::permanent());
}
