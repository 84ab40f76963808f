//! Opens an input file and says what it is, before anybody calls it broken JSON.

use super::code::FaultCode;
use super::lines::Separator;
use super::row::Problem;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// How much of a file decides what it is.
const HEAD_BYTES: u64 = 4096;
const BUFFER_BYTES: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A file as a stream of plain bytes.
pub(crate) struct Opened {
    pub(crate) reader: Box<dyn BufRead + Send>,
    pub(crate) separator: Separator,
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// It is of another kind.
    Kind(Problem),
    /// The system said no.
    Io(io::Error),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// How the bytes of a file are packed.
#[derive(Clone, Copy)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// Opens `path`, unpacks gzip and zstd, and refuses what is no JSONL with the reason.
pub(crate) fn open(path: &Path) -> Result<Opened, OpenError> {
    let (head, packing, reader) = unpacked(path)?;
    if let Some(problem) = other_kind(&head) {
        return Err(OpenError::Kind(problem));
    }
    let separator = if head.contains(&b'\n') {
        Separator::Lf
    } else {
        separator_of(unpacked(path)?.2).map_err(|error| unpack_error(packing, error))?
    };
    Ok(Opened { reader, separator })
}

/// What an error means that comes from inside a stream: a broken packing is the file's fault, not the disk's.
pub(crate) fn stream_error(path: &Path, error: io::Error) -> OpenError {
    match packing_of(path) {
        Ok(packing) => unpack_error(packing, error),
        Err(other) => OpenError::Io(other),
    }
}

type Unpacked = (Vec<u8>, Packing, Box<dyn BufRead + Send>);

fn unpacked(path: &Path) -> Result<Unpacked, OpenError> {
    let packing = packing_of(path)?;
    let file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let mut stream: Box<dyn Read + Send> = match packing {
        Packing::Plain => Box::new(file),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Packing::Zstd => Box::new(ZstdFrames::new(file)),
    };
    let mut head = Vec::new();
    stream
        .by_ref()
        .take(HEAD_BYTES)
        .read_to_end(&mut head)
        .map_err(|error| unpack_error(packing, error))?;
    let whole = Cursor::new(head.clone()).chain(stream);
    Ok((
        head,
        packing,
        Box::new(BufReader::with_capacity(BUFFER_BYTES, whole)),
    ))
}

fn packing_of(path: &Path) -> io::Result<Packing> {
    let mut magic = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut magic)?;
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd] => Packing::Zstd,
        _ => Packing::Plain,
    })
}

fn unpack_error(packing: Packing, error: io::Error) -> OpenError {
    let (code, name) = match packing {
        Packing::Plain => return OpenError::Io(error),
        Packing::Gzip => (FaultCode::Gzip, "gzip"),
        Packing::Zstd => (FaultCode::Zstd, "zstd"),
    };
    OpenError::Kind(Problem {
        code,
        text: format!("the file is {name} data that does not unpack ({error}); get the whole file again"),
    })
}

/// CR where something follows one and no LF stands anywhere; that takes a look at the whole file, which only a file
/// without an LF in its head pays for.
fn separator_of(mut reader: Box<dyn BufRead + Send>) -> io::Result<Separator> {
    let mut cr_seen = false;
    let mut separator = Separator::Lf;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(separator);
        }
        for byte in chunk {
            match byte {
                b'\n' => return Ok(Separator::Lf),
                b'\r' => cr_seen = true,
                b' ' | b'\t' => {}
                _ if cr_seen => separator = Separator::Cr,
                _ => {}
            }
        }
        let used = chunk.len();
        reader.consume(used);
    }
}

fn other_kind(head: &[u8]) -> Option<Problem> {
    let kind = |code, text: &str| {
        Some(Problem {
            code,
            text: text.to_owned(),
        })
    };
    let wide = |head: &[u8]| match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 0, 0xfe, 0xff, ..] => true,
        [first, 0, second, 0, ..] => *first != 0 && *second != 0,
        [0, first, 0, second, ..] => *first != 0 && *second != 0,
        _ => false,
    };
    if wide(head) {
        return kind(
            FaultCode::Utf16,
            "the file is UTF-16 (PowerShell's \">\" writes that); convert it: iconv -f utf-16 -t utf-8, or Out-File -Encoding utf8",
        );
    }
    let packed: [(&[u8], &str); 4] = [
        (b"PK\x03\x04", "a zip archive"),
        (b"BZh", "bzip2 data"),
        (b"\xfd7zXZ\0", "xz data"),
        (b"PAR1", "a Parquet file"),
    ];
    if let Some((_, name)) = packed.iter().find(|(magic, _)| head.starts_with(magic)) {
        return kind(
            FaultCode::Packed,
            &format!("the file is {name}; unpack it to JSONL first (gzip and zstd are read as they are)"),
        );
    }
    if head.starts_with(b"version https://git-lfs") {
        return kind(
            FaultCode::Lfs,
            "the file is a Git-LFS pointer, not the data; run git lfs pull",
        );
    }
    let text = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start();
    match text.first() {
        Some(b'[') => kind(
            FaultCode::Array,
            "the file is a JSON array; a batch has one object a line: jq -c '.[]' FILE",
        ),
        Some(_) if looks_like_csv(text) => kind(
            FaultCode::Csv,
            "the file looks like CSV; a batch has one JSON object a line",
        ),
        Some(_) | None => None,
    }
}

/// A first line that is no JSON, does not begin like an object, and holds separators: a table's head.
fn looks_like_csv(text: &[u8]) -> bool {
    let line = text
        .split(|b| matches!(b, b'\n' | b'\r'))
        .next()
        .unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    !line.starts_with('{')
        && line.contains([',', '\t', ';'])
        && line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '"' | '#'))
        && crate::json::validate(line.trim_end_matches([',', ' '])).is_err()
}

/// The frames of a zstd file, one after the other, as one stream.
struct ZstdFrames {
    frame: State,
}

enum State {
    Between(BufReader<File>),
    Inside(Box<ruzstd::decoding::StreamingDecoder<BufReader<File>, ruzstd::decoding::FrameDecoder>>),
    Over,
}

impl ZstdFrames {
    fn new(file: BufReader<File>) -> Self {
        Self {
            frame: State::Between(file),
        }
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.frame, State::Over) {
                State::Over => return Ok(0),
                State::Between(mut file) => {
                    if file.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = ruzstd::decoding::StreamingDecoder::new(file).map_err(io::Error::other)?;
                    self.frame = State::Inside(Box::new(decoder));
                }
                State::Inside(mut decoder) => {
                    let read = decoder.read(buffer)?;
                    if read == 0 && !buffer.is_empty() {
                        self.frame = State::Between(decoder.into_inner());
                    } else {
                        self.frame = State::Inside(decoder);
                        return Ok(read);
                    }
                }
            }
        }
    }
}
