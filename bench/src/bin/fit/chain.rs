//! Conversations chained from the rows of files.

use flate2::read::MultiGzDecoder;
use seawall::ai::Message;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/humaneval.jsonl");

/// The texts of all messages of all rows, in order.
pub(crate) fn texts(files: &[String]) -> Result<Vec<String>, String> {
    let sample = [SAMPLE.to_owned()];
    let files = if files.is_empty() { &sample[..] } else { files };
    let mut texts = Vec::new();
    for path in files {
        let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
        let read: Box<dyn Read> = if path.ends_with(".gz") {
            Box::new(MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        for line in BufReader::new(read).lines() {
            let line = line.map_err(|error| format!("{path}: {error}"))?;
            let row: Value = serde_json::from_str(&line).map_err(|error| format!("{path}: {error}"))?;
            let messages = row["body"]["messages"].as_array().into_iter().flatten();
            texts.extend(messages.filter_map(|message| message["content"].as_str().map(str::to_owned)));
        }
    }
    if texts.len() < 3 {
        return Err(format!("{} rows with messages are too few", texts.len()));
    }
    Ok(texts)
}

/// Conversations without an end, the same ones each time, each with a window that it may or may not fit.
pub(crate) struct Chains<'t> {
    texts: &'t [String],
    state: u64,
}

impl<'t> Chains<'t> {
    pub(crate) fn new(texts: &'t [String]) -> Self {
        Self { texts, state: 42 }
    }

    /// SplitMix64.
    fn draw(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }

    fn text(&mut self) -> &'t str {
        &self.texts[self.draw(self.texts.len())]
    }
}

impl Iterator for Chains<'_> {
    type Item = (Vec<Message>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let turns = 1 + self.draw(40);
        let mut messages = vec![Message::system(self.text())];
        for turn in 0..turns {
            messages.push(Message::user(self.text()));
            if turn + 1 < turns {
                messages.push(Message::assistant(self.text()));
            }
        }
        let window = [1_024, 4_096, 8_192, 16_384, 128_000][self.draw(5)];
        Some((messages, window))
    }
}
