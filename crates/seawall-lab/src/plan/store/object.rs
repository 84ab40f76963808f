//! Objects that a mock keeps, by resource.
//!
//! What can go wrong: books that are kept beside the server ("the client got an answer, so there is a payment") count
//! answers, not payments. So an object is made where the work is done, and nowhere else, and the list is the evidence.
//! Ids count up, so that equal runs name equal things; one that was removed is not given again.

use super::fields::{self, Fields};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// When every object says it was made (2025-01-01): a real date would make two equal runs differ.
const CREATED_UNIX_SECS: u64 = 1_735_689_600;
/// The fields that are the server's: what a body says of them counts for nothing.
const OWN: [&str; 3] = ["id", "object", "created"];
/// What an object costs beside its texts, in bytes: the maps' and the vector's own share.
const OVERHEAD_BYTES: usize = 256;

/// How a dialect's objects look.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    /// What ids begin with, before their number: `payments_`.
    pub id_prefix: &'a str,
    /// What the field `object` says.
    pub kind: &'a str,
    /// The path at which such objects stand, where the dialect knows it better than the rule's pattern.
    pub base: Option<&'a str>,
    /// What their fields are made of.
    pub making: Making<'a>,
}

/// What an object's fields are made of.
#[derive(Clone, Copy)]
pub enum Making<'a> {
    /// The fields of the body; a change sets those that it names.
    Body,
    /// What the dialect says: told the id, and the object as it was where there was one, it answers JSON with all fields.
    Dialect(&'a dyn Fn(&str, Option<&Object>) -> String),
}

/// One thing that a mock keeps: what a POST made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    id: String,
    fields: Fields,
}

impl Object {
    /// A new one, with the fields of a body.
    pub(super) fn made(id: String, shape: &Shape<'_>, body: Fields) -> Self {
        let fields = vec![
            ("id".to_owned(), fields::quoted(&id)),
            ("object".to_owned(), fields::quoted(shape.kind)),
            ("created".to_owned(), CREATED_UNIX_SECS.to_string()),
        ];
        Self { id, fields }.with(body)
    }

    /// The same one with these fields in place of its own.
    pub(super) fn with(mut self, mut body: Fields) -> Self {
        body.retain(|(name, _)| !OWN.contains(&name.as_str()));
        self.fields = fields::merged(self.fields, body);
        self
    }

    /// Its name among its kind; the last part of its path.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A field as JSON text, in the very bytes in which it was sent.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// The whole of it as JSON: `{"id":"payments_1","object":"payments","created":1735689600,"amount":5}`.
    pub fn to_json(&self) -> String {
        let fields: Vec<String> = self
            .fields
            .iter()
            .map(|(name, value)| format!("{}:{value}", fields::quoted(name)))
            .collect();
        format!("{{{}}}", fields.join(","))
    }

    /// What a DELETE of it answers.
    pub(super) fn removed_json(&self) -> String {
        let kind = self.field("object").unwrap_or("null");
        format!(
            "{{\"id\":{},\"object\":{kind},\"deleted\":true}}",
            fields::quoted(&self.id)
        )
    }

    fn bytes(&self) -> usize {
        let texts = self.fields.iter().map(|(name, value)| name.len() + value.len());
        OVERHEAD_BYTES + 2 * self.id.len() + texts.sum::<usize>()
    }
}

/// A part of a collection, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The objects.
    pub objects: Vec<Arc<Object>>,
    /// Where the next part begins (`since`); `None` where this is the last.
    pub next: Option<u64>,
}

impl Page {
    /// As such lists look: `{"object":"list","url":"/v1/payments","data":[...],"has_more":false}`.
    pub(super) fn to_json(&self, path: &str) -> String {
        let objects: Vec<String> = self.objects.iter().map(|object| object.to_json()).collect();
        format!(
            "{{\"object\":\"list\",\"url\":{},\"data\":[{}],\"has_more\":{}}}",
            fields::quoted(path),
            objects.join(","),
            self.next.is_some()
        )
    }
}

/// The objects of one resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Collection {
    by_number: BTreeMap<u64, Arc<Object>>,
    numbers: BTreeMap<String, u64>,
    /// How many were ever made; the number of the last.
    made: u64,
    bytes: usize,
}

impl Collection {
    /// The id that the next object gets.
    pub(super) fn next_id(&self, prefix: &str) -> String {
        let mut number = self.made + 1;
        loop {
            let id = format!("{prefix}{number}");
            // A PUT may have taken it.
            if !self.numbers.contains_key(&id) {
                return id;
            }
            number += 1;
        }
    }

    /// Bytes that keeping this object would add.
    pub(super) fn bytes_added(&self, object: &Object) -> usize {
        let freed = self.get(&object.id).map_or(0, |old| old.bytes());
        object.bytes().saturating_sub(freed)
    }

    /// Keeps an object, in the place of the one with its id where there is one.
    pub(super) fn put(&mut self, object: Arc<Object>) {
        self.bytes += object.bytes();
        let number = match self.numbers.get(&object.id) {
            Some(number) => *number,
            None => {
                self.made += 1;
                self.numbers.insert(object.id.clone(), self.made);
                self.made
            }
        };
        if let Some(old) = self.by_number.insert(number, object) {
            self.bytes -= old.bytes();
        }
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, id: &str) {
        let number = self.numbers.remove(id);
        if let Some(old) = number.and_then(|number| self.by_number.remove(&number)) {
            self.bytes -= old.bytes();
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Object>> {
        self.numbers.get(id).map(|number| &self.by_number[number])
    }

    /// The number of an object: they count up in the order of making.
    pub(super) fn number(&self, id: &str) -> Option<u64> {
        self.numbers.get(id).copied()
    }

    /// The objects after number `since`, at most so many.
    pub(super) fn page(&self, since: u64, most: usize) -> Page {
        let after = || self.by_number.range((Bound::Excluded(since), Bound::Unbounded));
        let objects: Vec<_> = after().take(most).map(|(_, object)| Arc::clone(object)).collect();
        let last = after().take(most).last().map_or(since, |(number, _)| *number);
        let more = after().nth(most).is_some();
        Page {
            objects,
            next: more.then_some(last),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
