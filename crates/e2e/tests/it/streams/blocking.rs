//! Streams on plain threads, in real time.

use super::stage::Speaks;
use seawall::blocking;
use seawall::upstream::Upstream;
use seawall_core::policy::Policy;
use seawall_core::time::Duration;

#[test]
fn a_thread_reads_a_stream_and_leaves_it_as_a_task_does() {
    // Breaks when a thread waits for a socket that nobody watches, when its timers are nobody's, or when what it drops
    // stays in flight. The limit ends the stall, however slow the machine.
    let script = "POST /* = stream events=0 then=cut, stream events=3, stream events=1 then=stall, stream events=1 then=stall";
    let mock = seawall_lab::net::blocking::Mock::start(script).unwrap();
    let policy = Policy::builder()
        .backoff_base(Duration::from_millis(1))
        .idle(Duration::from_secs(1))
        .build()
        .unwrap();
    let upstream = Upstream::builder(&mock.url())
        .unwrap()
        .policy(policy)
        .build()
        .unwrap();
    let upstream = blocking::Upstream::new(upstream).unwrap();
    let open = || upstream.open(Speaks::Anthropic.asks()).unwrap();

    let mut stream = open();
    assert_eq!(stream.answer().attempts.len(), 2);
    assert!(stream.by_ref().all(|event| event.is_ok()));
    assert!(stream.event().is_none());

    let last = open().last().unwrap();
    assert_eq!(last.unwrap_err().cause.name(), "timeout");

    let mut stream = open();
    assert!(stream.event().unwrap().is_ok());
    assert_eq!(upstream.upstream().attempts_out(), 1);
    drop(stream);
    assert_eq!(
        (
            upstream.upstream().attempts_out(),
            upstream.upstream().calls_alive()
        ),
        (0, 0)
    );
}
