//! Why a batch ended, for people and for the shell.

use crate::input::Fault;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// How a batch ended, as the shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Every row has its answer.
    Done,
    /// It ran, and some rows failed or were left out.
    RowsFailed,
    /// The input or the command is wrong; nothing was sent.
    Usage,
    /// Money or quota stopped it; it can be resumed.
    Money,
    /// What stands in the files is not what must stand there.
    Audit,
    /// The system could not read or write; it can be resumed.
    Io,
    /// The credential was refused; it can be resumed.
    Key,
    /// A person stopped it; it can be resumed.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::RowsFailed => 1,
            Self::Usage => 2,
            Self::Money => 3,
            Self::Audit => 70,
            Self::Io => 74,
            Self::Key => 77,
            Self::Interrupted => 130,
        }
    }
}

/// Why a batch could not run to its end. Its text says what to do.
#[derive(Debug)]
pub enum BatchError {
    /// Input that cannot be run.
    Input {
        /// What is wrong, the first so many.
        faults: Vec<Fault>,
        /// Everything that is wrong.
        count: u64,
        /// Whether leaving the rows out helps.
        skippable: Skippable,
    },
    /// The command names files that cannot be used so.
    Usage(String),
    /// An earlier run's rows are not in this input as they were.
    Changed {
        /// Rows by name, the first so many.
        rows: Vec<ChangedRow>,
        /// All of them.
        count: u64,
    },
    /// Another run holds the output.
    Locked {
        /// The lock's file.
        path: PathBuf,
        /// The holder's process, where it could be read.
        holder: String,
    },
    /// The input changed while the batch ran.
    InputChanged {
        /// The file.
        path: PathBuf,
        /// The line that is not what it was.
        line: u64,
    },
    /// An output file holds what no run writes.
    Audit {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        text: String,
    },
    /// The system could not read or write.
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Answers could not be written down.
    Unwritten {
        /// To which file.
        path: PathBuf,
        /// How many rows had an end that is lost.
        rows: u64,
        /// What the system said.
        error: io::Error,
    },
}

/// Whether `--skip-invalid` helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skippable {
    /// It would run the rest.
    Yes,
    /// Something must be mended first.
    No,
}

/// A row of an earlier run that is not in the input as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRow {
    /// Its id, as JSON text.
    pub id: String,
    /// Where it stood.
    pub stood: String,
    /// What became of it.
    pub how: Change,
}

/// What became of a row between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its method, path or body is another.
    Differs,
    /// It is gone.
    Missing,
}

impl BatchError {
    /// The exit class.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Input { .. } | Self::Usage(_) | Self::Changed { .. } | Self::Locked { .. } => Exit::Usage,
            Self::InputChanged { .. } | Self::Io { .. } | Self::Unwritten { .. } => Exit::Io,
            Self::Audit { .. } => Exit::Audit,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            error,
        }
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input {
                faults,
                count,
                skippable,
            } => {
                for fault in faults {
                    writeln!(f, "{fault}")?;
                }
                write!(f, "{count} {}, nothing was sent", plural(*count, "fault"))?;
                match skippable {
                    Skippable::Yes => f.write_str("; --skip-invalid runs the rest"),
                    Skippable::No => Ok(()),
                }
            }
            Self::Usage(text) => f.write_str(text),
            Self::Changed { rows, count } => {
                for row in rows {
                    let how = match row.how {
                        Change::Differs => "differs from what the earlier run sent",
                        Change::Missing => "is not in the input any more",
                    };
                    writeln!(f, "row {} (was {}) {how}", row.id, row.stood)?;
                }
                write!(
                    f,
                    "{count} {} of the earlier run changed, nothing was sent; put them back, give changed rows new ids \
                     beside the old ones, or start over with --fresh (it keeps the old files under other names)",
                    plural(*count, "row")
                )
            }
            Self::Locked { path, holder } => write!(
                f,
                "another run holds {} ({holder}); wait for its end, or choose another output",
                path.display()
            ),
            Self::InputChanged { path, line } => write!(
                f,
                "{}:{line}: the input changed while the batch ran; what was answered is written, \
                 put the file back and run the same command to go on",
                path.display()
            ),
            Self::Audit { path, text } => write!(f, "{}: {text}", path.display()),
            Self::Io { doing, path, error } => write!(f, "cannot {doing} {}: {error}", path.display()),
            Self::Unwritten { path, rows, error } => write!(
                f,
                "cannot write {}: {error}; {rows} {} could not be kept and will be sent again: \
                 make room and run the same command to go on",
                path.display(),
                plural(*rows, "ended row")
            ),
        }
    }
}

impl std::error::Error for BatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } | Self::Unwritten { error, .. } => Some(error),
            Self::Input { .. }
            | Self::Usage(_)
            | Self::Changed { .. }
            | Self::Locked { .. }
            | Self::InputChanged { .. }
            | Self::Audit { .. } => None,
        }
    }
}

fn plural(count: u64, one: &str) -> String {
    if count == 1 {
        one.to_owned()
    } else {
        format!("{one}s")
    }
}
