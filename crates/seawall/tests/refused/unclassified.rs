//! Must not compile: nobody says which errors are worth another attempt. `xtask` holds what the compiler says to it.

use seawall::{Policy, Preset};

struct Mine;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = Policy::preset(Preset::Default);
    let _ = seawall::retry(async || Err::<(), _>(Mine), &policy).await;
    let _ = seawall::blocking::retry(|| Err::<(), _>(Mine), &policy).call();
    let _ = seawall::blocking::retry(|| Ok::<_, std::io::Error>(1), &policy).await;
}
