//! What a user decides about a batch.

use crate::input::{AbsoluteUrls, LINE_BYTES_MAX_DEFAULT, RowRules, Rules};
use crate::output::Extras;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Calls in flight at once where nobody says otherwise: 64, as rules.md I1 has it for batches.
pub const CONCURRENCY_DEFAULT: NonZeroU32 = NonZeroU32::new(64).expect("64 is not 0");
/// Fewest rows that are begun at once: while some wait for a rate or a breaker, others keep the line busy.
pub const BEGUN_MIN: usize = 1_000;
/// Rows in line for the upstream beyond which no more are begun: 64, as many as preset `batch` has in flight. A row's
/// deadline runs from when it is begun, so that a long line would fail its own end.
pub const LINE_MAX_DEFAULT: usize = 64;
/// Most bytes of bodies that are held for rows in flight: 256 MiB. A thousand rows of 40 MB would fill any machine.
pub const BEGUN_BYTES_MAX_DEFAULT: u64 = 256 * 1024 * 1024;

/// A batch: what to read, where to write, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// `IN…`: JSONL files, plain, gzip or zstd. Regular files: they are read twice.
    pub inputs: Vec<PathBuf>,
    /// `-o`: answers.
    pub out: PathBuf,
    /// `--errors`: failures. None: `OUT.errors.jsonl` beside `OUT.jsonl`.
    pub errors: Option<PathBuf>,
    /// `--model`: the model of plain rows that name none.
    pub model: Option<String>,
    /// `--concurrency`: what the caller's gate allows in flight; here it only sizes [`Options::begun_max`].
    pub concurrency: NonZeroU32,
    /// Rows that may stand in line for the upstream (for a place, a rate, a cool-down, a breaker) before no more are
    /// begun. No flag of its own: a command sizes it by its limits.
    pub line_max: usize,
    /// What to do about files of an earlier run.
    pub existing: Existing,
    /// `--skip-invalid`.
    pub invalid: Invalid,
    /// `--allow-absolute-url`.
    pub absolute_urls: AbsoluteUrls,
    /// `--max-line`, in bytes.
    pub line_bytes_max: u64,
    /// `--extras`.
    pub extras: Extras,
    /// Bytes of bodies in flight above which no more rows are begun; one row always may. No flag of its own.
    pub begun_bytes_max: u64,
}

/// What to do about files of an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Go on where it ended; files without its state directory are refused.
    #[default]
    Continue,
    /// `--resume`: as `Continue`, and whole lines of files without a state directory are taken over.
    Adopt,
    /// `--fresh`: rename what is there, and start over.
    Fresh,
    /// `--overwrite`: empty what is there, and start over.
    Overwrite,
}

/// What to do about rows that cannot be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// Refuse to start.
    #[default]
    Refuse,
    /// Run the rest.
    Skip,
}

impl Options {
    /// A batch with every default.
    pub fn new(inputs: Vec<PathBuf>, out: PathBuf) -> Self {
        Self {
            inputs,
            out,
            errors: None,
            model: None,
            concurrency: CONCURRENCY_DEFAULT,
            line_max: LINE_MAX_DEFAULT,
            existing: Existing::default(),
            invalid: Invalid::default(),
            absolute_urls: AbsoluteUrls::default(),
            line_bytes_max: LINE_BYTES_MAX_DEFAULT,
            extras: Extras::default(),
            begun_bytes_max: BEGUN_BYTES_MAX_DEFAULT,
        }
    }

    /// Most rows that are begun and not ended: max(1 000, 4 × concurrency).
    pub fn begun_max(&self) -> usize {
        let concurrency = usize::try_from(self.concurrency.get()).unwrap_or(usize::MAX);
        BEGUN_MIN.max(concurrency.saturating_mul(4))
    }

    /// Where failures go.
    pub fn errors_path(&self) -> PathBuf {
        match &self.errors {
            Some(path) => path.clone(),
            None => {
                let stem = if self.out.extension().is_some_and(|extension| extension == "jsonl") {
                    self.out.file_stem()
                } else {
                    self.out.file_name()
                };
                self.out.with_file_name(with_suffix(stem, ".errors.jsonl"))
            }
        }
    }

    /// The state directory, `OUT.jsonl.seawall`.
    pub fn state_dir(&self) -> PathBuf {
        self.out
            .with_file_name(with_suffix(self.out.file_name(), ".seawall"))
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules {
            row: RowRules {
                model: self.model.clone(),
                absolute_urls: self.absolute_urls,
            },
            line_bytes_max: self.line_bytes_max,
        }
    }
}

/// The name as the system has it, which need not be text: two names must stay two.
pub(crate) fn with_suffix(name: Option<&OsStr>, suffix: &str) -> OsString {
    let mut name = name.unwrap_or_default().to_owned();
    name.push(suffix);
    name
}
