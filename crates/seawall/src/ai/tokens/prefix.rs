//! How far so many tokens reach into a text.
//!
//! What can go wrong: a text is counted again for each place that it might be cut at, and one of a megabyte takes minutes.
//! So it is read once, piece by piece, as the encoding reads it. What comes out is a place to try: what stands before it
//! may have a token more once what follows is gone, and who cuts there counts again.

use super::upper;
use bpe_openai::Tokenizer;

/// A piece longer than this is no word, and may be cut inside: 32 bytes.
const WORD_BYTES_MAX: usize = 32;

pub(super) fn exact(encoding: &Tokenizer, text: &str, tokens: u64) -> usize {
    reach(encoding, text, tokens, |piece| {
        u64::try_from(encoding.bpe.count(piece.as_bytes())).unwrap_or(u64::MAX)
    })
}

pub(super) fn twice(encoding: &Tokenizer, text: &str, tokens: u64) -> usize {
    reach(encoding, text, tokens, |piece| {
        let exact = u64::try_from(encoding.bpe.count(piece.as_bytes())).unwrap_or(u64::MAX);
        upper::twice(exact, piece)
    })
}

pub(super) fn bytes(text: &str, tokens: u64) -> usize {
    let mut left = tokens;
    for (place, letter) in text.char_indices() {
        // One more than its bytes is what a text alone is taken for.
        let takes = upper::bytes(letter.encode_utf8(&mut [0; 4])).saturating_sub(1);
        match left.checked_sub(takes) {
            Some(rest) => left = rest,
            None => return place,
        }
    }
    text.len()
}

fn reach(encoding: &Tokenizer, text: &str, tokens: u64, count: impl Fn(&str) -> u64) -> usize {
    let (mut place, mut left) = (0, tokens);
    for piece in encoding.split(text) {
        let takes = count(piece);
        match left.checked_sub(takes) {
            Some(rest) => left = rest,
            None if piece.len() > WORD_BYTES_MAX => return place + into(encoding, piece, left, takes),
            None => return place,
        }
        place += piece.len();
    }
    place
}

/// How far `left` of the `takes` tokens of a long piece reach into it.
fn into(encoding: &Tokenizer, piece: &str, left: u64, takes: u64) -> usize {
    let ids = encoding.bpe.encode_via_backtracking(piece.as_bytes());
    // Where a piece is counted otherwise, its tokens are taken in the same share.
    let share = u128::from(left) * ids.len() as u128 / u128::from(takes.max(1));
    let ids = &ids[..usize::try_from(share).map_or(ids.len(), |share| share.min(ids.len()))];
    ids.iter().map(|id| encoding.bpe.token_len(*id)).sum()
}
