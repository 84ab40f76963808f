use super::*;
use proptest::prelude::*;

fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
    let length = u32::try_from(payload).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags, 0, 0, 0, 1];
    bytes.resize(FRAME_HEADER_BYTES + payload, 7);
    bytes
}

// Bytes that are let in inside a frame are read as its payload, and a GOAWAY that was sent never comes.
#[test]
fn a_gap_is_between_frames_and_not_inside_a_block_of_headers() {
    let mut frames = Frames::default();
    assert!(frames.at_gap());
    for (bytes, gap) in [
        (frame(4, 0, 0), true),
        (frame(0, 1, 70_000), true),
        (frame(Frames::HEADERS, 0, 20), false),
        (frame(Frames::CONTINUATION, 0, 20), false),
        (frame(Frames::CONTINUATION, Frames::END_HEADERS, 0), true),
        (frame(Frames::HEADERS, Frames::END_HEADERS, 3), true),
    ] {
        let (first, rest) = bytes.split_at(4);
        frames.pass(first);
        assert!(!frames.at_gap());
        frames.pass(rest);
        assert_eq!(frames.at_gap(), gap, "{:?}", &bytes[..FRAME_HEADER_BYTES]);
    }
}

proptest! {
    // A reader that counts on whole writes loses its place at the first one that is cut.
    #[test]
    fn however_writes_are_cut_the_gaps_are_the_same(
        sizes in prop::collection::vec((0_usize..40, 0_u8..10, any::<u8>()), 1..12),
        cuts in prop::collection::vec(1_usize..30, 1..80),
    ) {
        let mut bytes = Vec::new();
        let mut gaps = vec![0];
        let mut whole = true;
        for (size, kind, flags) in sizes {
            bytes.extend(frame(kind, flags, size));
            if [1, 5, 9].contains(&kind) {
                whole = flags & 4 != 0;
            }
            if whole {
                gaps.push(bytes.len());
            }
        }
        let mut frames = Frames::default();
        let (mut at, mut cuts) = (0, cuts.into_iter().cycle());
        while at < bytes.len() {
            let some = cuts.next().unwrap().min(bytes.len() - at);
            if !frames.at_gap() {
                // What may be written before bytes are let in never passes a gap.
                let next = gaps.iter().find(|gap| **gap > at).copied().unwrap_or(usize::MAX);
                prop_assert!(at + frames.to_gap() <= next);
            }
            frames.pass(&bytes[at..at + some]);
            at += some;
            prop_assert_eq!(frames.at_gap(), gaps.contains(&at), "at {}", at);
        }
    }
}
