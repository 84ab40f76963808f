//! What an attempt does to a resource, by its method and its path.
//!
//! What can go wrong: an effect that is half done when it turns out that there is no room for it, or no answer to it. So
//! this only says what would be, with the object as it would be; the store does it once everything has agreed.

use super::fields;
use super::object::{Collection, Making, Object, Page};
use super::{DEFAULT_LIST_LIMIT, Job, LIST_LIMIT_MAX, Refusal};
use crate::plan::{PathPattern, Rule};
use std::sync::Arc;

/// What an attempt did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The rule keeps nothing: its answer is its dialect's.
    Nothing,
    /// This was made.
    Created(Arc<Object>),
    /// This was looked at.
    Read(Arc<Object>),
    /// So many were looked at.
    Listed {
        /// Which.
        page: Page,
        /// The list's path.
        path: String,
    },
    /// This is what became of it.
    Changed(Arc<Object>),
    /// This is gone.
    Removed(Arc<Object>),
    /// There is nothing of that name: 404.
    Missing,
    /// Nothing here is done by that method: 405.
    NotAllowed,
}

impl Effect {
    /// The body that says so; `None` where the resource has nothing to say: a rule that keeps nothing, and the errors.
    pub fn to_json(&self) -> Option<String> {
        match self {
            Self::Created(object) | Self::Read(object) | Self::Changed(object) => Some(object.to_json()),
            Self::Removed(object) => Some(object.removed_json()),
            Self::Listed { page, path } => Some(page.to_json(path)),
            Self::Nothing | Self::Missing | Self::NotAllowed => None,
        }
    }

    /// The one object that this is about.
    pub fn object(&self) -> Option<&Arc<Object>> {
        match self {
            Self::Created(object) | Self::Read(object) | Self::Changed(object) | Self::Removed(object) => {
                Some(object)
            }
            Self::Nothing | Self::Listed { .. } | Self::Missing | Self::NotAllowed => None,
        }
    }

    /// The word for it in journals.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "done",
            Self::Created(_) => "created",
            Self::Read(_) => "read",
            Self::Listed { .. } => "listed",
            Self::Changed(_) => "changed",
            Self::Removed(_) => "removed",
            Self::Missing => "missing",
            Self::NotAllowed => "not-allowed",
        }
    }
}

impl Rule {
    /// Whether a path belongs to this rule's resource though the rule does not match it: the resource's own path, and
    /// one name below it. A `POST /v1/payments` that keeps `payments` implies `GET /v1/payments`, and `GET`, `PUT`,
    /// `PATCH`, `POST` and `DELETE` of `/v1/payments/ID`. Only asked where no rule matches.
    pub fn implies(&self, path: &str) -> bool {
        self.resource.is_some()
            && match place(base_of(self), path) {
                Place::Collection | Place::Item(_) => true,
                Place::Verb(_) | Place::Elsewhere => false,
            }
    }
}

/// What an attempt would do to what is kept; nothing is done yet.
pub(super) fn of_job(kept: &Collection, job: &Job<'_>) -> Result<Effect, Refusal> {
    let body = || fields::of_body(job.body, (job.headers)("content-type"));
    let made = |id: &str, before: Option<&Object>| {
        let fields = match job.shape.making {
            Making::Body => body(),
            Making::Dialect(make) => fields::of_body(make(id, before).as_bytes(), None),
        };
        Arc::new(Object::made(id.to_owned(), &job.shape, fields))
    };
    let found = |id: &str| kept.get(id).cloned();
    let changed = |before: Arc<Object>| {
        Effect::Changed(match job.shape.making {
            Making::Body => Arc::new(Object::clone(&before).with(body())),
            Making::Dialect(_) => made(before.id(), Some(&before)),
        })
    };
    // Below a path with a `*`, whatever is not about an object is a place to make one; a dialect knows its own paths.
    let makes_anywhere = match job.shape.making {
        Making::Body => job.rule.pattern.matches(job.method, job.path),
        Making::Dialect(_) => false,
    };
    let base = job.shape.base.unwrap_or_else(|| base_of(job.rule));
    Ok(match (job.method, place(base, job.path)) {
        ("GET" | "HEAD", Place::Collection) => Effect::Listed {
            page: list(kept, job.query)?,
            path: job.path.to_owned(),
        },
        ("GET" | "HEAD", Place::Item(id)) => found(id).map_or(Effect::Missing, Effect::Read),
        ("POST", Place::Item(id) | Place::Verb(id)) if found(id).is_some() || !makes_anywhere => {
            found(id).map_or(Effect::Missing, changed)
        }
        ("POST", Place::Elsewhere) if !makes_anywhere => Effect::Missing,
        ("POST", Place::Collection | Place::Item(_) | Place::Verb(_) | Place::Elsewhere) => {
            Effect::Created(made(&kept.next_id(job.shape.id_prefix), None))
        }
        ("PUT", Place::Item(id)) => match found(id) {
            Some(_) => Effect::Changed(made(id, None)),
            None => Effect::Created(made(id, None)),
        },
        ("PATCH", Place::Item(id)) => found(id).map_or(Effect::Missing, changed),
        ("DELETE", Place::Item(id)) => found(id).map_or(Effect::Missing, Effect::Removed),
        (_, Place::Verb(_) | Place::Elsewhere) => Effect::Missing,
        (_, Place::Collection | Place::Item(_)) => Effect::NotAllowed,
    })
}

/// Where a path stands to a rule's resource.
enum Place<'p> {
    Collection,
    Item(&'p str),
    /// One name below an item: `/v1/payments/payments_1/capture`.
    Verb(&'p str),
    Elsewhere,
}

/// The path at which a rule's resource stands.
fn base_of(rule: &Rule) -> &str {
    match &rule.pattern.path {
        PathPattern::Is(text) | PathPattern::Prefix(text) => text.trim_end_matches('/'),
    }
}

fn place<'p>(base: &str, path: &'p str) -> Place<'p> {
    match path.strip_prefix(base) {
        Some("" | "/") => Place::Collection,
        Some(rest) => match rest.strip_prefix('/').map(|below| below.split_once('/')) {
            Some(None) => Place::Item(&rest[1..]),
            Some(Some((id, ""))) => Place::Item(id),
            Some(Some((id, verb))) if !verb.contains('/') => Place::Verb(id),
            Some(Some(_)) | None => Place::Elsewhere,
        },
        None => Place::Elsewhere,
    }
}

fn list(kept: &Collection, query: &str) -> Result<Page, Refusal> {
    let (mut since, mut most) = (0, DEFAULT_LIST_LIMIT);
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name {
            "limit" => {
                let limit = value.parse().ok();
                most = limit
                    .filter(|most| (1..=LIST_LIMIT_MAX).contains(most))
                    .ok_or_else(|| Refusal::BadQuery {
                        name: "limit",
                        expected: format!("a whole number from 1 to {LIST_LIMIT_MAX}"),
                    })?;
            }
            "starting_after" => {
                let number = kept.number(&fields::decoded(value));
                since = number.ok_or_else(|| Refusal::BadQuery {
                    name: "starting_after",
                    expected: "the id of an object of this list".to_owned(),
                })?;
            }
            _ => {}
        }
    }
    Ok(kept.page(since, most))
}
