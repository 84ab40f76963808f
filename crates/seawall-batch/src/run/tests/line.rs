//! Rows are begun no faster than those before them are sent.

use super::*;
use crate::caller::Line;
use std::collections::BTreeSet;

/// An upstream that sends one row a second, and remembers how long each stood in line and how many did at most.
#[derive(Clone, Default)]
struct OneASecond(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    standing: BTreeSet<String>,
    most: usize,
    longest: StdDuration,
}

impl Caller for OneASecond {
    async fn call(&self, call: Call) -> Ended {
        let began = crate::clock::now();
        let ahead = {
            let mut queue = self.0.lock().unwrap();
            queue.standing.insert(call.id.clone());
            queue.most = queue.most.max(queue.standing.len());
            queue.standing.len() as u64
        };
        pass(ahead).await;
        let mut queue = self.0.lock().unwrap();
        queue.standing.remove(&call.id);
        queue.longest = queue.longest.max(crate::clock::now() - began);
        answered("{}")
    }

    fn line(&self) -> Option<Line> {
        let standing = self.0.lock().unwrap().standing.len() as u64;
        Some(Line {
            begun: standing,
            queued: standing,
        })
    }
}

#[test]
fn a_row_is_begun_when_it_will_soon_be_sent() {
    // Could break if a thousand rows were begun at once at a limit of one a second: the last would stand in line for a
    // quarter of an hour, and at a lower limit for longer than it has, and fail by nobody's fault but ours.
    let dir = Dir::new();
    let ids: Vec<String> = (0..300).map(|n| format!("ok{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let upstream = OneASecond::default();
    let mut options = options(&dir, &ids);
    options.line_max = 20;
    let (_interrupter, interrupts) = crate::interrupts();
    let summary = block(run(options, upstream.clone(), interrupts, &mut Silent::default())).unwrap();
    assert_eq!(summary.rows.ok, 300);
    let queue = upstream.0.lock().unwrap();
    assert_eq!(queue.most, 20);
    assert!(queue.longest <= StdDuration::from_secs(21), "{:?}", queue.longest);
}

#[test]
fn nobody_waits_for_a_line_to_form_where_everything_is_sent_at_once() {
    // Could break if the bound on the line were one on what is in flight: a server that takes all at once would get
    // twenty rows at a time.
    #[derive(Clone, Default)]
    struct AllAtOnce(Arc<Log>);
    impl Caller for AllAtOnce {
        async fn call(&self, _: Call) -> Ended {
            let now = self.0.now.fetch_add(1, Ordering::Relaxed) + 1;
            self.0.most.fetch_max(now, Ordering::Relaxed);
            pass(1).await;
            self.0.now.fetch_sub(1, Ordering::Relaxed);
            answered("{}")
        }
        fn line(&self) -> Option<Line> {
            let begun = self.0.now.load(Ordering::Relaxed) as u64;
            Some(Line { begun, queued: 0 })
        }
    }
    let dir = Dir::new();
    let ids: Vec<String> = (0..300).map(|n| format!("ok{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let upstream = AllAtOnce::default();
    let mut options = options(&dir, &ids);
    options.line_max = 20;
    let (_interrupter, interrupts) = crate::interrupts();
    let began = crate::clock::now;
    let ran = block(async {
        let from = began();
        let summary = run(options, upstream.clone(), interrupts, &mut Silent::default()).await;
        (summary.unwrap(), began() - from)
    });
    assert_eq!(
        (ran.0.rows.ok, upstream.0.most.load(Ordering::Relaxed)),
        (300, 300)
    );
    assert!(ran.1 < StdDuration::from_secs(2), "{:?}", ran.1);
}
