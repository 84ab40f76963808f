//! When a server is not well: as it was given, or as chance has it.

use super::luck::{Luck, Purpose};
use super::model::{Outage, Server};
use seawall_core::time::{Duration, Instant};

/// The most outages that chance gives a server: times of next to nothing would fill the memory.
pub(crate) const DRAWN_MAX: u64 = 1_000_000;

impl Server {
    /// Its outages in the run of this luck, up to `horizon`. `number` tells the servers of a model apart.
    pub(crate) fn outages_in(&self, luck: Luck, number: u64, horizon: Duration) -> Vec<Outage> {
        let Some(renewal) = self.renewal else {
            return self.outages.clone();
        };
        let (mut at, mut drawn) = (Instant::START, Vec::new());
        for nth in 0..DRAWN_MAX {
            let mut draws = luck.of(Purpose::Outage, number, nth);
            at = at.after(renewal.up.draw(&mut draws));
            if at.as_nanos() >= horizon.as_nanos() {
                break;
            }
            let lasts = renewal.down.draw(&mut draws);
            drawn.push(Outage {
                at,
                lasts,
                how: renewal.how,
                share: renewal.share,
            });
            at = at.after(lasts);
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::luck::Length;
    use crate::sim::model::{Renewal, Trouble};

    #[test]
    fn outages_by_chance_take_their_share_of_the_time_and_are_other_ones_with_each_seed() {
        // Could break by a draw that up and down share, by outages that overlap, or by one stream for all servers.
        let server = Server {
            renewal: Some(Renewal {
                up: Length::Exponential {
                    mean: Duration::from_secs(90),
                },
                down: Length::Exponential {
                    mean: Duration::from_secs(10),
                },
                how: Trouble::FailFast,
                share: 1.0,
            }),
            ..Server::default()
        };
        let horizon = Duration::from_secs(1_000_000);
        let drawn = server.outages_in(Luck::new(1), 0, horizon);
        let ends = |outage: &Outage| outage.at.after(outage.lasts);
        assert!(drawn.windows(2).all(|pair| ends(&pair[0]) <= pair[1].at));
        let down: u64 = drawn.iter().map(|outage| outage.lasts.as_secs()).sum();
        assert!((90_000..110_000).contains(&down), "{down} s of 100 000");
        assert_eq!(drawn, server.outages_in(Luck::new(1), 0, horizon));
        assert_ne!(drawn, server.outages_in(Luck::new(2), 0, horizon));
        assert_ne!(drawn, server.outages_in(Luck::new(1), 1, horizon));
    }
}
