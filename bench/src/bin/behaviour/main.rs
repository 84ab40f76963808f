//! The same fault trace through each, on time that is advanced by hand: what it sends, when it stops sending, how it
//! finds back, and how many calls end well.
//!
//! Every clock of the program is the one that is advanced, those of peers that read the host's included; so a minute
//! takes a moment, and two runs of one build print the same, but for what a peer draws from a seed of its own.

#[path = "../../virtual_time.rs"]
mod virtual_time;

mod contestants;
mod world;

use contestants::Tuning;
use world::{Fault, World};

const FAULTS: [Fault; 3] = [Fault::Outage, Fault::Errors, Fault::Overload];

fn main() {
    println!("# {}", world::SETTINGS);
    for fault in FAULTS {
        println!("\n{}\n", fault.what());
        println!(
            "{:<34} {:<7} {:>6} {:>6} {:>9} {:>9} {:>7} {:>8} {:>8} {:>9}",
            "", "tuned", "calls", "ok", "recovered", "amplified", "peak/s", "to open", "probes", "back"
        );
        for contestant in contestants::ALL {
            for tuning in [Tuning::Default, Tuning::Alike] {
                let Some(row) = world::run(fault, |world: &World| (contestant.begin)(world, tuning)) else {
                    continue;
                };
                println!("{:<34} {:<7} {row}", contestant.name, tuning.name());
            }
        }
    }
    println!("\n# Settings");
    for contestant in contestants::ALL {
        println!("# {}: {}", contestant.name, contestant.settings);
    }
}
