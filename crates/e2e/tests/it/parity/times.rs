//! Rows about schedules: the failing mock and what it judges, and strategies compared.

use super::Scene;
use super::shown::{compared, failing};
use seawall::{Call, Policy, Upstream};

fn bank(scene: &Scene) -> Upstream {
    let policy = Policy::builder().retries(4).build().unwrap();
    scene.upstream(Upstream::builder(&scene.mock.url()).unwrap().policy(policy))
}

#[tokio::test]
async fn the_failing_path_runs_to_its_good_end_within_its_schedule() {
    // Breaks when a step of the script is not survived, or a wait is cut short or doubled.
    let scene = Scene::of_file(failing::MOCK).await;
    let bank = bank(&scene);
    let status = scene.play(&bank, async {
        failing::run(&scene.mock, &bank)
            .await
            .map_err(|error| error.to_string())
    });
    assert_eq!(status.await, Ok(200));
    // Two backoffs of at most 0.5 s and 1 s, five seconds by the server's word and their tenth, 4 s, and the answer's 15 s.
    let secs = scene.stage.clock_secs();
    assert!((20..=27).contains(&secs), "{secs}");
}

#[tokio::test]
async fn a_client_that_pays_twice_does_not_pass() {
    // Breaks when the expectations hold whatever happened.
    let scene = Scene::of_file(failing::MOCK).await;
    let bank = bank(&scene);
    let ended = scene.play(&bank, async {
        let pay = Call::post_json("/v1/payments", r#"{"amount":499}"#).with_key("order-8".parse().unwrap());
        bank.call(pay.with_retries_max(1)).await.unwrap_err();
        failing::run(&scene.mock, &bank)
            .await
            .map_err(|error| error.to_string())
    });
    let error = ended.await.unwrap_err();
    assert!(error.contains("same_key"), "{error}");
}

#[tokio::test]
async fn strategies_are_told_by_what_is_lost_and_by_mean_and_spread() {
    // Breaks when one lone mean stands for them: those who wait nothing and those who wait seconds are one number.
    let mut told = Vec::new();
    for (_, policy) in compared::strategies() {
        let scene = Scene::of_file("[[route]]\nmatch = '* /*'\nmix = { '200' = 0.9, '503' = 0.1 }").await;
        let builder = Upstream::builder(&scene.mock.url()).unwrap();
        let upstream = scene.upstream(builder.policy(policy.build().unwrap()));
        told.push(scene.play(&upstream, compared::run(&upstream)).await);
    }
    let [none, fixed, drawn] = told[..] else {
        panic!("{told:?}")
    };
    assert!(
        (70..=130).contains(&none.0) && none.1 == 0.0 && none.2 == 0.0,
        "{none:?}"
    );
    assert!(fixed.0 <= 2 && drawn.0 <= 2, "{told:?}");
    assert!(
        (0.07..=0.14).contains(&fixed.1) && (0.2..=0.5).contains(&fixed.2),
        "{fixed:?}"
    );
    assert!(drawn.1 < fixed.1 && drawn.2 > drawn.1, "{told:?}");
}
