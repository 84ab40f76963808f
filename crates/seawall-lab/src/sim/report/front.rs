//! What a search found, to look at: its front in two figures at a time, and a page.
//!
//! What can go wrong: a front of six figures is drawn in two, and what is best in a third looks beaten; or the axes hold
//! the worst that was ever tried, and all that matters is one dot. So every picture has calls that are not answered
//! upwards and another figure to the right, less being better in both; all panels share the first; the axes hold the
//! front and the file's own first policy, and what lies beyond is counted in words.

mod page;
mod plot;

use super::svg::Setting;
use crate::sim::search::Found;

/// What a page and a picture of a search are made of.
///
/// ```
/// use seawall_lab::sim::report::Searched;
/// use seawall_lab::sim::search::Found;
/// fn page(found: &Found) -> String {
///     Searched { found, command: "seawall tune stall.toml", version: "" }.html()
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Searched<'a> {
    /// What was found.
    pub found: &'a Found,
    /// The command line that finds it again.
    pub command: &'a str,
    /// What ran it.
    pub version: &'a str,
}

impl Searched<'_> {
    /// One page that holds everything, the picture included: no script, nothing fetched, readable on paper and in the
    /// dark.
    pub fn html(&self) -> String {
        page::write(self)
    }

    /// The pictures as files: a name that ends in `.svg`, and what is in it; none where nothing ran.
    pub fn svgs(&self) -> Vec<(String, String)> {
        let front = plot::write(self.found, Setting::File);
        front
            .map(|svg| ("front.svg".to_owned(), svg))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests;
