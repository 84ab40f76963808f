//! Which attempts get to the work.
//!
//! What can go wrong: a client that repeats a write is only ever tested where the mock's books say truly whether the
//! first attempt was done. A fault before the work and a fault after it look the same to the client, which is the
//! whole difficulty, so the script's words must say which is which. The rule is one sentence: who begins a good answer
//! has done the work. It is one `match`, so that a new action has to say on which side it stands.
//!
//! | the step | the work |
//! |---|---|
//! | a status below 300 | is done |
//! | `stream`, `drip`, `slow-headers` | is done: the answer is whole, however slow or however it ends |
//! | `truncate`, `wrong-length`, `bad-chunk`, `half-close`, `bad-gzip` | is done: the answer is spoiled, not the work |
//! | `reset after=N`, `close after=N`, `hang after=N`, `rst-stream after=N` | is done: the answer had begun |
//! | `apply then ...` | is done, whatever becomes of the answer |
//! | no step holds | is done |
//! | a status of 300 or more, `error-in-200` | is not done: the server says so |
//! | `reset`, `close`, `hang`, `garbage`, `goaway`, `rst-stream`, `stop` | is not done |
//!
//! What it does not cover: work that is half done. A mock has no such thing.

use super::{Choice, Turn};
use crate::script::{After, Deed};

/// Whether an attempt gets to the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The work is done, once, when the attempt is read and matched, whether or not the client sees the answer.
    Work,
    /// The attempt ends before the work.
    Fault,
}

impl Reach {
    /// Whether what an attempt meets lets it get to the work.
    pub fn of(turn: &Turn) -> Self {
        match (turn.choice, turn.action()) {
            (Choice::Stop, _) => Self::Fault,
            (Choice::Plain | Choice::Step(_) | Choice::Part(_), None) => Self::Work,
            (Choice::Plain | Choice::Step(_) | Choice::Part(_), Some(action)) => Self::of_deed(&action.deed),
        }
    }

    /// Whether this deed comes after the work.
    pub fn of_deed(deed: &Deed) -> Self {
        match deed {
            Deed::Status(reply) if reply.status < 300 => Self::Work,
            Deed::Status(_) | Deed::ErrorIn200 => Self::Fault,
            Deed::Stream(_)
            | Deed::Apply(_)
            | Deed::Truncate(_)
            | Deed::Drip(_)
            | Deed::WrongLength(_)
            | Deed::BadChunk
            | Deed::HalfClose
            | Deed::SlowHeaders
            | Deed::BadGzip => Self::Work,
            Deed::Reset(after) | Deed::Close(after) | Deed::Hang(after) | Deed::RstStream(after, _) => {
                match after {
                    After::Nothing => Self::Fault,
                    After::BodyBytes(_) => Self::Work,
                }
            }
            Deed::Garbage | Deed::Goaway(_) => Self::Fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Rule};
    use crate::script::Action;
    use seawall_core::time::{Duration, Instant};

    #[test]
    fn who_begins_a_good_answer_has_done_the_work() {
        // Could break by a deed on the wrong side: then a lost answer would be a lost payment, or the other way round.
        let done = [
            "200",
            "201",
            "204",
            "200 delay=5s",
            "stream events=3",
            "stream then=cut",
            "drip bps=10",
            "slow-headers",
            "truncate at=50%",
            "wrong-length +3",
            "bad-chunk",
            "half-close",
            "bad-gzip",
            "reset after=0",
            "close after=1",
            "hang after=9",
            "rst-stream after=0",
            "apply then reset",
            "apply then hang",
            "apply then 503",
            "apply then error-in-200",
            "apply then garbage",
        ];
        let not_done = [
            "301",
            "400",
            "409",
            "429 retry-after=5",
            "500",
            "503",
            "error-in-200",
            "reset",
            "close",
            "hang",
            "garbage",
            "goaway",
            "rst-stream",
        ];
        for (texts, reach) in [(&done[..], Reach::Work), (&not_done[..], Reach::Fault)] {
            for text in texts {
                let action = Action::parse(text).expect("a known action");
                assert_eq!(Reach::of_deed(&action.deed), reach, "{text}");
            }
        }
        let mut plan = Plan::new(vec![Rule::parse("GET /x = at 1s 503, stop").unwrap()], 0);
        for (at_secs, reach) in [(0, Reach::Work), (1, Reach::Fault), (2, Reach::Fault)] {
            let now = Instant::START.after(Duration::from_secs(at_secs));
            assert_eq!(Reach::of(&plan.turn(now, 0, b"").unwrap()), reach, "{at_secs}");
        }
    }
}
