/// What is left of a string that is matched from its start. A method that answers `None` has taken nothing that
/// matters: its caller gives up on the whole string.
pub(super) struct Scan<'a>(pub(super) &'a [u8]);

impl<'a> Scan<'a> {
    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(word.as_bytes())?;
        Some(())
    }

    pub(super) fn byte(&mut self, byte: u8) -> Option<()> {
        self.one_of(&[byte]).map(|_| ())
    }

    pub(super) fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        bytes.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    /// Exactly `count` digits; `count` is small enough for the number.
    pub(super) fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let mut value = 0;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i64::from(digit - b'0');
        }
        self.0 = rest;
        Some(value)
    }

    /// The longest run of bytes that `wanted` takes, perhaps empty.
    pub(super) fn run(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.0.iter().take_while(|byte| wanted(**byte)).count();
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    pub(super) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
