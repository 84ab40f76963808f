use std::num::NonZeroU64;

/// Reads a whole number from 1 to this, which is told to whoever writes something else.
pub(crate) fn up_to<T: TryFrom<NonZeroU64>>(most: u64) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text: &str| {
        let number: Option<NonZeroU64> = text.parse().ok();
        number
            .filter(|number| number.get() <= most)
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("write a whole number from 1 to {most}"))
    }
}
