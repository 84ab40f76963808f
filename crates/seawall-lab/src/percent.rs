//! `%2F` and `+`, as forms and queries write what would otherwise mean something.
//!
//! What can go wrong: a sign that is no escape and is taken for one (`%+5` is no byte, though a number may begin with a
//! plus), or one that swallows what follows. So an escape is a percent sign and two hex digits, and everything else
//! stands for itself; whoever must know hears that something did.

/// A text without its escapes.
pub(crate) struct Decoded {
    bytes: Vec<u8>,
    strays: Strays,
}

/// Whether there were percent signs that began no escape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strays {
    None,
    Some,
}

/// Reads a text's escapes.
pub(crate) fn decode(text: &[u8]) -> Decoded {
    let mut decoded = Decoded {
        bytes: Vec::with_capacity(text.len()),
        strays: Strays::None,
    };
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let byte = match (first, tail) {
            (b'+', _) => b' ',
            (b'%', [high, low, after @ ..]) if let Some(byte) = byte_of(*high, *low) => {
                rest = after;
                byte
            }
            (b'%', _) => {
                decoded.strays = Strays::Some;
                b'%'
            }
            (byte, _) => *byte,
        };
        decoded.bytes.push(byte);
    }
    decoded
}

fn byte_of(high: u8, low: u8) -> Option<u8> {
    let digit = |sign: u8| char::from(sign).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

impl Decoded {
    /// The text as far as it is one: strays stand as they are, bytes that are no text are replaced.
    pub(crate) fn lossy(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The text, where every percent sign began an escape and it is one.
    #[cfg_attr(
        not(any(test, feature = "net")),
        expect(dead_code, reason = "nobody but the control plane has to know")
    )]
    pub(crate) fn exact(self) -> Option<String> {
        match self.strays {
            Strays::None => String::from_utf8(self.bytes).ok(),
            Strays::Some => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_is_two_hex_digits_and_nothing_else_is_one() {
        // Could break: a sign before a digit read as a part of its number, a half escape at the end, bytes that are no text.
        for (text, lossy, is_exact) in [
            ("", "", true),
            ("a+b%20c", "a b c", true),
            ("%C3%a9", "é", true),
            ("%2525", "%25", true),
            ("1%", "1%", false),
            ("%2", "%2", false),
            ("%zz%41", "%zzA", false),
            ("%+5", "% 5", false),
            ("%é", "%é", false),
            ("%ff", "\u{fffd}", false),
        ] {
            assert_eq!(decode(text.as_bytes()).lossy(), lossy, "{text}");
            let exact = decode(text.as_bytes()).exact();
            assert_eq!(exact, is_exact.then(|| lossy.to_owned()), "{text}");
        }
    }
}
