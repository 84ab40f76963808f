//! The house rules of this repository as programs.
//!
//! What a review says twice becomes a check here: [`tidy`] holds the walls between the crates, the sizes, the words
//! and the manifests, [`docs`] keeps generated pages in step with the code, [`console`] runs the commands that the
//! docs show, [`api`] what users of the libraries may name, [`refused`] hears what the compiler says to programs that must
//! not compile, and [`faults`] breaks the build on purpose and looks who notices; [`prices`] makes the table of prices that
//! the library carries. Every check is a plain function over a [`repo::Repo`] that a test can build by hand, so each has a
//! test that shows it failing.

pub mod api;
pub mod console;
pub mod docs;
pub mod faults;
pub mod prices;
pub mod refused;
pub mod repo;
pub mod source;
pub mod tidy;
