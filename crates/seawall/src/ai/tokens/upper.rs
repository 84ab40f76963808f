//! Bounds from above, for encodings that are not public.
//!
//! What can go wrong: a factor that holds for English prose fails where encodings differ most. They do at digits (one
//! token each in some, three together in others), at runs of white space, and beyond ASCII, where a script that one
//! vocabulary knows is bytes to another: of a Gujarati sentence Claude's published tokenizer makes six times what o200k
//! makes. So those are bounded one by one, and the factor is for the rest, of which no other tokenizer that was looked at
//! makes more than 1.6 times as many. `other-tokenizers.tsv` holds counts of six; the tests compare.

use unicode_normalization::char::decompose_compatible;

/// Twice what o200k makes of it, and what it may have merged; never more than its bytes.
pub(super) fn twice(o200k: u64, text: &str) -> u64 {
    let mut merged = beyond_ascii(text);
    let mut after_space = false;
    for byte in text.bytes() {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
        merged += u64::from(byte.is_ascii_digit() || (is_space && after_space));
        after_space = is_space;
    }
    o200k.saturating_mul(2).saturating_add(merged).min(bytes(text))
}

/// One for each byte, and one for the space that some put before a text.
pub(super) fn bytes(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let ascii = u64::try_from(ascii).unwrap_or(u64::MAX);
    ascii
        .saturating_add(beyond_ascii(text))
        .saturating_add(u64::from(!text.is_empty()))
}

/// The bytes of what is not ASCII, ligatures and the like written out: some tokenizers read only the long form, and that
/// of one letter may be eighteen.
fn beyond_ascii(text: &str) -> u64 {
    if text.is_ascii() {
        return 0;
    }
    text.chars()
        .filter(|letter| !letter.is_ascii())
        .map(|letter| {
            let mut written_out = 0;
            // A syllable of Hangul is put together again.
            if !('\u{ac00}'..='\u{d7a3}').contains(&letter) {
                decompose_compatible(letter, |part| written_out += part.len_utf8());
            }
            u64::try_from(written_out.max(letter.len_utf8())).unwrap_or(u64::MAX)
        })
        .fold(0, u64::saturating_add)
}
