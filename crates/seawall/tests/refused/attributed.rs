//! Must not compile: functions that the attribute takes and the compiler does not. `xtask` holds what it says to them; what
//! the attribute itself says is held beside it.

use seawall::RetryError;
use std::io;

struct Mine;
struct Body;

#[seawall::retry(policy = "interactive")]
async fn unclassified() -> Result<(), RetryError<Mine>> {
    Err(Mine)
}

#[seawall::retry(policy = "interactive", when = |_| true)]
async fn ends_in_an_error_that_cannot_say_so() -> Result<(), Mine> {
    Err(Mine)
}

#[seawall::retry(policy = "interactive")]
async fn takes_what_cannot_be_cloned(body: Body) -> Result<(), RetryError<io::Error>> {
    drop(body);
    Ok(())
}

fn main() {}
