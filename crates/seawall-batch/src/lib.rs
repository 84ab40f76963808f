//! The batch runner of seawall: every row of JSONL files is answered once.
//!
//! [`run`] judges the whole input before anything is sent, begins rows in order through a [`Caller`], and writes each
//! ended row as one whole line to the output or the error file. After any kill at any byte the same [`Options`] go
//! on, and end with every id in exactly one file, exactly once.
//!
//! ```
//! use seawall::upstream::AttemptNote;
//! use seawall_batch::{Answer, Call, Caller, Ended, Options, Progress, Screen, Shown, interrupts};
//! use seawall_core::{outcome::Usage, time::Duration};
//!
//! /// Answers every row by itself; [`LiveCaller`](seawall_batch::LiveCaller) asks a server.
//! struct Echo;
//!
//! impl Caller for Echo {
//!     async fn call(&self, call: Call) -> Ended {
//!         let answer = Answer { status: 200, request_id: None, body: call.body };
//!         let (sent_for, outcome) = ("first", "answer");
//!         let first = AttemptNote { candidate: 0, sent_for, outcome, status: Some(200), resent: false, first_byte: None };
//!         Ended {
//!             result: Ok(answer),
//!             attempts: vec![first],
//!             waited: Vec::new(),
//!             usage: Usage::NONE,
//!             cost_microusd: None,
//!             first_byte: None,
//!             total: Duration::ZERO,
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("seawall-batch-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let rows = folder.join("rows.jsonl");
//! std::fs::write(&rows, "{\"prompt\":\"Name a sea.\",\"model\":\"m\"}\n")?;
//!
//! let (_interrupter, interrupts) = interrupts();
//! let mut ui = Progress::new(Shown::Nothing, Screen::Pipe, Box::new(std::io::stderr()));
//! let options = Options::new(vec![rows], folder.join("answers.jsonl"));
//! let summary = seawall_batch::run(options, Echo, interrupts, &mut ui).await?;
//! assert_eq!((summary.rows.ok, summary.exit().code()), (1, 0));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(()) }
//! ```
//!
//! What this crate does not promise: a call that was in flight at a kill is made again (the files cannot know its
//! answer), so writes need an idempotency key made from [`Call::id`], which is the same in every run. What the
//! operating system had not brought to the disk when the power failed is called again too.

pub mod caller;
mod clock;
pub mod error;
pub mod input;
mod interrupt;
mod json;
mod live;
pub mod options;
pub mod output;
pub mod progress;
mod run;
pub mod sink;
mod state;
pub mod summary;

pub use caller::{Answer, Call, Caller, Ended, Failure, Line, Reach, Stop};
pub use error::{BatchError, Exit};
pub use interrupt::{Interrupter, Interrupts, interrupts};
pub use live::LiveCaller;
pub use options::{Existing, Invalid, LINE_MAX_DEFAULT, Options};
pub use output::Extras;
pub use progress::{Progress, Screen, Shown, Snapshot, Ui};
pub use run::{GRACE, Judged, judge, run, run_on};
pub use state::{Running, Status, status};
pub use summary::{End, RowCounts, Summary, Tally};

#[cfg(test)]
mod testing;
