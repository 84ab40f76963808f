use crate::talk::Talk;
use seawall::config::ConfigErrors;
use seawall_batch::BatchError;
use seawall_lab::run::simulate::SimulationErrors;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The exit code of a command that was told to stop: 128 and the number of Ctrl-C's signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command could not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was typed cannot be right: the sentence says what to do.
    Usage(String),
    /// A file that was written cannot be right.
    Config(ConfigErrors),
    /// The file of a simulation that cannot be right.
    Simulation(SimulationErrors),
    /// The machine would not.
    Io(String),
    /// A key that is missing or cannot be sent.
    Key(String),
    /// A batch that could not run to its end.
    Batch(BatchError),
    /// Our own fault: the program contradicts itself.
    Internal(String),
}

impl Failure {
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self::Usage(sentence.into())
    }

    pub(crate) fn internal(sentence: impl Into<String>) -> Self {
        Self::Internal(sentence.into())
    }

    pub(crate) fn machine(sentence: impl Into<String>) -> Self {
        Self::Io(sentence.into())
    }

    /// A file or stream that could not be used. One that is not there was misspelt, and one that is a directory or
    /// no text is another than was meant; the rest is the machine's.
    pub(crate) fn io(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidFilename => Self::Usage(format!("{name}: {error}")),
            _ => Self::Io(format!("{name}: {error}")),
        }
    }

    /// Says it on stderr: each error of a file by itself.
    pub(crate) fn tell(&self, talk: Talk) {
        match self {
            Self::Config(errors) => {
                for error in errors.iter() {
                    talk.error(error);
                }
                let count = errors.count();
                if count > 1 {
                    talk.error(format_args!("{} has {count} errors", errors.first().file));
                }
            }
            Self::Simulation(errors) => errors.iter().for_each(|error| talk.error(error)),
            Self::Usage(_) | Self::Io(_) | Self::Key(_) | Self::Batch(_) | Self::Internal(_) => {
                talk.error(self)
            }
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::Config(_) | Self::Simulation(_) => ExitCode::from(2),
            Self::Io(_) => ExitCode::from(74),
            Self::Key(_) => ExitCode::from(77),
            Self::Batch(error) => ExitCode::from(error.exit().code()),
            Self::Internal(_) => ExitCode::from(70),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(sentence) | Self::Io(sentence) | Self::Key(sentence) => f.write_str(sentence),
            Self::Config(error) => error.fmt(f),
            Self::Simulation(errors) => errors.fmt(f),
            Self::Batch(error) => error.fmt(f),
            Self::Internal(sentence) => {
                write!(f, "seawall contradicts itself, which is a bug in it: {sentence}")
            }
        }
    }
}

impl From<SimulationErrors> for Failure {
    fn from(errors: SimulationErrors) -> Self {
        Self::Simulation(errors)
    }
}

impl From<ConfigErrors> for Failure {
    fn from(error: ConfigErrors) -> Self {
        Self::Config(error)
    }
}
