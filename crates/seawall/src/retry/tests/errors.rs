//! What a call that ended tells, and to whom.

use super::*;
use seawall_core::reason::Reason;
use std::error::Error;
use std::io;

fn stopped<E>(last: Option<E>) -> RetryError<E> {
    RetryError {
        reason: Reason::AttemptsSpent { sends: 3 },
        last,
        attempts: 3,
        waited: Duration::from_millis(30),
        retry_after: None,
        unknown: false,
    }
}

fn broken_pipe() -> io::Error {
    io::Error::from(io::ErrorKind::BrokenPipe)
}

#[test]
fn an_error_tells_why_once_and_what_where_it_is_asked() {
    // A chain that is printed would say it twice if both the text and the source did.
    let error = stopped(Some(broken_pipe()));
    assert_eq!(error.to_string(), format!("attempts-spent: {}", error.reason));
    assert_eq!(format!("{error:#}"), format!("{error}: broken pipe"));
    assert_eq!(error.source().unwrap().to_string(), "broken pipe");
    let without = stopped::<io::Error>(None);
    assert_eq!(format!("{without:#}"), error.to_string());
    assert!(without.source().is_none());
}

#[test]
fn an_error_goes_through_a_question_mark_also_where_its_own_is_no_error() {
    // Could break if the box were told instead of what is in it.
    type Any = Box<dyn Error + Send + Sync>;
    fn ended<E>(last: E) -> Result<(), RetryError<E>> {
        Err(stopped(Some(last)))
    }
    fn of_an_error() -> Result<(), Any> {
        Ok(ended(broken_pipe())?)
    }
    fn of_a_text() -> Result<(), Any> {
        Ok(ended("no such thing".to_owned()).map_err(RetryError::boxed)?)
    }
    fn of_a_box() -> Result<(), Any> {
        Ok(ended::<Any>(Box::new(broken_pipe())).map_err(RetryError::boxed)?)
    }
    assert!(of_an_error().unwrap_err().is::<RetryError<io::Error>>());
    let told = |result: Result<(), Any>| result.unwrap_err().source().unwrap().to_string();
    assert_eq!(told(of_a_text()), "no such thing");
    assert_eq!(told(of_a_box()), "broken pipe");
}
