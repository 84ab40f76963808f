use super::*;

fn address() -> SocketAddr {
    "127.0.0.1:40000".parse().unwrap()
}

#[test]
fn bytes_that_nobody_has_read_are_on_their_way_in_either_direction() {
    // Counting one direction alone would let time pass while an answer is being delivered.
    let wires = Wires::new();
    let (here, there) = (wires.caller(address()), wires.server(address()));
    there.wrote(5);
    here.read(4);
    assert!(!wires.are_still());
    here.read(1);
    assert!(wires.are_still());
    here.wrote(2);
    assert!(!wires.are_still());
    there.read(2);
    assert!(wires.are_still());
}

#[test]
fn an_end_that_has_not_heard_yet_is_not_still() {
    // A server that has not accepted yet, or has not noticed that its caller left, is about to do something.
    let wires = Wires::new();
    let here = wires.caller(address());
    assert!(!wires.are_still(), "the server has not accepted");
    let there = wires.server(address());
    assert!(wires.are_still());
    there.wrote(7);
    drop(here);
    assert!(
        !wires.are_still(),
        "the server has not heard that its caller left"
    );
    drop(there);
    assert!(
        wires.are_still(),
        "what nobody can read any more is not on its way"
    );
}

#[test]
fn a_connection_that_its_server_ended_holds_up_nobody() {
    // A caller looks at a connection that it keeps for later only when it needs one: waiting for that is for ever.
    let wires = Wires::new();
    let (here, there) = (wires.caller(address()), wires.server(address()));
    there.wrote(3);
    drop(there);
    assert!(wires.are_still());
    drop(here);
    assert!(wires.told().wires.is_empty(), "what both have left is forgotten");
}

#[test]
fn a_connection_that_one_end_never_saw_holds_up_nobody() {
    // A handshake that fails, or a listener that closes: the other end will never be told of.
    let wires = Wires::new();
    drop(wires.server(address()));
    assert!(wires.are_still(), "the caller never had it");
    let here = wires.caller("127.0.0.1:40001".parse().unwrap());
    assert!(!wires.are_still());
    drop(here);
    assert!(wires.are_still(), "the server never took it");
}

#[test]
fn an_address_that_is_given_again_is_another_connection() {
    // A late goodbye of the old connection must not end the new one.
    let wires = Wires::new();
    let (old_here, old_there) = (wires.caller(address()), wires.server(address()));
    drop(old_here);
    let (here, there) = (wires.caller(address()), wires.server(address()));
    drop(old_there);
    here.wrote(1);
    assert!(!wires.are_still());
    there.read(1);
    assert!(wires.are_still());
}

#[test]
fn whoever_watches_is_woken_once_by_any_news() {
    // A stage that is not woken by the last byte waits for ever.
    let wires = Wires::new();
    let here = wires.caller(address());
    let (woken, waker) = counted();
    wires.watch(&waker);
    wires.watch(&waker);
    here.wrote(1);
    here.wrote(1);
    assert_eq!(woken(), 1);
    wires.watch(&waker);
    drop(here);
    assert_eq!(woken(), 2);
}

fn counted() -> (impl Fn() -> usize, Waker) {
    struct Count(std::sync::atomic::AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let count = Arc::new(Count(std::sync::atomic::AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    (move || count.0.load(std::sync::atomic::Ordering::SeqCst), waker)
}
