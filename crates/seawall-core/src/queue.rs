//! First come, first served: waiting calls as linked slots, so that joining and leaving cost the same however many
//! wait, and nothing is allocated once it is warm.
//!
//! A call keeps its ticket for life: one that has to stand in another queue, and comes back, gets its old place.

use alloc::vec::Vec;

const NOBODY: u32 = u32::MAX;

/// The links of every slot; a call stands in one queue at the most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
    ticket: u64,
}

/// One queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
    len: u32,
}

impl Links {
    pub(crate) fn grow_to(&mut self, slots: usize) {
        self.0.resize(
            slots,
            Link {
                before: NOBODY,
                behind: NOBODY,
                ticket: 0,
            },
        );
    }

    fn at(&mut self, slot: u32) -> &mut Link {
        &mut self.0[slot as usize]
    }
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            head: NOBODY,
            tail: NOBODY,
            len: 0,
        }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn head(&self) -> Option<u32> {
        if self.head == NOBODY {
            None
        } else {
            Some(self.head)
        }
    }

    /// Who stands behind `slot`, which stands here.
    pub(crate) fn behind(&self, links: &Links, slot: u32) -> Option<u32> {
        let behind = links.0[slot as usize].behind;
        (behind != NOBODY).then_some(behind)
    }

    /// How many stand in front of `slot`, which stands here.
    pub(crate) fn ahead_of(&self, links: &Links, slot: u32) -> u32 {
        let (mut ahead, mut at) = (0, links.0[slot as usize].before);
        while at != NOBODY {
            ahead += 1;
            at = links.0[at as usize].before;
        }
        ahead
    }

    /// Puts `slot` where its ticket belongs: nearly always last.
    pub(crate) fn join(&mut self, links: &mut Links, slot: u32, ticket: u64) {
        let mut before = self.tail;
        while before != NOBODY && links.0[before as usize].ticket > ticket {
            before = links.0[before as usize].before;
        }
        let behind = if before == NOBODY {
            self.head
        } else {
            links.0[before as usize].behind
        };
        *links.at(slot) = Link {
            before,
            behind,
            ticket,
        };
        match before {
            NOBODY => self.head = slot,
            _ => links.at(before).behind = slot,
        }
        match behind {
            NOBODY => self.tail = slot,
            _ => links.at(behind).before = slot,
        }
        self.len += 1;
    }

    /// Takes `slot`, which stands here, out.
    pub(crate) fn leave(&mut self, links: &mut Links, slot: u32) {
        let Link { before, behind, .. } = *links.at(slot);
        match before {
            NOBODY => self.head = behind,
            _ => links.at(before).behind = behind,
        }
        match behind {
            NOBODY => self.tail = before,
            _ => links.at(behind).before = before,
        }
        self.len -= 1;
    }
}
