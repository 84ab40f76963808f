//! Where lines are written: whole lines or none.
//!
//! What can go wrong: a full disk takes half a line, and the next append is glued to it. So a file knows the length
//! up to which it is whole, and cuts back to it before it writes again; if even that fails, the next start cuts the
//! torn tail when it recovers the files.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A file that grows by whole lines. Abstract, so that tests can fill a disk.
pub trait Sink: Send {
    /// Appends one or more whole lines; after an error none of them counts as written.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;

    /// Brings what was appended to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// Opens the sink of a path whose first `whole_bytes` bytes are whole lines.
pub type OpenSink<'a> = &'a (dyn Fn(&Path, u64) -> io::Result<Box<dyn Sink>> + Sync);

/// A file on disk.
#[derive(Debug)]
pub struct FileSink {
    file: File,
    whole_bytes: u64,
    state: Tear,
}

#[derive(Debug)]
enum Tear {
    Whole,
    Torn,
}

impl FileSink {
    /// Opens or creates `path`, cut to its first `whole_bytes` bytes.
    pub fn open(path: &Path, whole_bytes: u64) -> io::Result<Box<dyn Sink>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut sink = Self {
            file,
            whole_bytes,
            state: Tear::Torn,
        };
        sink.mend()?;
        Ok(Box::new(sink))
    }

    fn mend(&mut self) -> io::Result<()> {
        match self.state {
            Tear::Whole => Ok(()),
            Tear::Torn => {
                self.file.set_len(self.whole_bytes)?;
                self.file.seek(SeekFrom::Start(self.whole_bytes))?;
                self.state = Tear::Whole;
                Ok(())
            }
        }
    }
}

impl Sink for FileSink {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.mend()?;
        self.state = Tear::Torn;
        if let Err(error) = self.file.write_all(lines) {
            // The first error is the one to tell; a failure to cut back leaves a tail that the next start cuts.
            return match self.mend() {
                Ok(()) | Err(_) => Err(error),
            };
        }
        self.whole_bytes += lines.len() as u64;
        self.state = Tear::Whole;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}
