//! What the mock does not serve yet, said when it is loaded: at the first attempt it would be too late, and a 200
//! in its place would be a lie.

use crate::error::{ScriptError, Source};
use crate::script::{Action, Deed, Script};
use std::ops::Range;

/// Refuses a script with an action that the mock does not serve yet.
pub(crate) fn check_script(source: Source<'_>, script: &Script) -> Result<(), ScriptError> {
    let spans = script.action_spans().iter();
    script
        .steps()
        .iter()
        .zip(spans)
        .try_for_each(|(step, span)| check_action(source, &step.action, span.clone()))
}

/// Refuses an action that the mock does not serve yet.
pub(crate) fn check_action(
    source: Source<'_>,
    action: &Action,
    span: Range<usize>,
) -> Result<(), ScriptError> {
    match &action.deed {
        Deed::Status(_)
        | Deed::ErrorIn200
        | Deed::Reset(_)
        | Deed::Close(_)
        | Deed::Hang(_)
        | Deed::Truncate(_)
        | Deed::Drip(_)
        | Deed::Garbage
        | Deed::WrongLength(_)
        | Deed::BadChunk
        | Deed::HalfClose
        | Deed::SlowHeaders
        | Deed::BadGzip
        | Deed::Stream(_) => Ok(()),
        Deed::Apply(then) => check_action(source, then, span),
        Deed::Goaway | Deed::RstStream => {
            let message = format!("this mock does not serve `{}` yet", action.deed.name());
            let right = "another action";
            Err(source.error(span, message).expecting(right))
        }
    }
}
