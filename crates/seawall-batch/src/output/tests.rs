use super::*;
use crate::testing::{answered, failed_with};
use expect_test::expect;
use seawall_core::reason::Reason;

fn line(ended: &Ended, extras: Extras) -> String {
    String::from_utf8(render("r\u{2028}1", ended, extras).line).unwrap()
}

#[test]
fn rows_have_the_shape_of_openais_files() {
    // Could break: a key renamed, a digit lost, a line torn by a body that spans lines, an escape forgotten.
    let mut ended = answered("{ \"n\" : 18446744073709551616,\n\r\"t\":\"a  b\" }");
    ended.cost_microusd = Some(1_250_000);
    expect![[r#"
        {"id":"batch_req_36bba6a73b75c6a989b3394562e2bab8","custom_id":"r\u20281","response":{"status_code":200,"request_id":"req-1","body":{"n":18446744073709551616,"t":"a  b"}},"error":null,"seawall":{"attempts":1,"reason":"succeeded","first_byte_ms":20,"total_ms":25,"cost_usd":1.25}}
    "#]].assert_eq(&line(&ended, Extras::On));
}

#[test]
fn a_failure_tells_the_upstreams_status_and_body_or_its_own_reason() {
    // Could break: a 4xx hidden behind our own error, a 200 that is no answer read as success, an HTML page or a cut
    // body that breaks the line.
    let spent = Reason::AttemptsSpent { sends: 6 };
    let html = format!("<html>\n{}", "é".repeat(2_000));
    let rows = [
        failed_with(
            Reason::Refused { status: 400 },
            None,
            Some((400, b"{\"error\":{\"code\":\"x\"}}")),
        ),
        failed_with(spent, Some(cause::TIMEOUT), None),
        failed_with(spent, Some(cause::EMPTY_BODY), Some((200, b""))),
        failed_with(spent, Some(cause::TRUNCATED), Some((200, b"{\"choices\":[{\"a"))),
        failed_with(spent, None, Some((502, b"\xff\xfe\x00"))),
    ];
    let mut told = String::new();
    for row in rows {
        assert_eq!(render("a", &row, Extras::Off).state, RowState::Failed);
        told += &line(&row, Extras::Off);
    }
    expect![[r#"
        {"id":"batch_req_36bba6a73b75c6a989b3394562e2bab8","custom_id":"r\u20281","response":{"status_code":400,"request_id":null,"body":{"error":{"code":"x"}}},"error":null}
        {"id":"batch_req_36bba6a73b75c6a989b3394562e2bab8","custom_id":"r\u20281","response":null,"error":{"code":"attempts-spent","cause":"timeout","message":"all 6 attempts that the policy allows were made"}}
        {"id":"batch_req_36bba6a73b75c6a989b3394562e2bab8","custom_id":"r\u20281","response":{"status_code":200,"request_id":null,"body":null},"error":{"code":"attempts-spent","cause":"empty-body","message":"all 6 attempts that the policy allows were made"}}
        {"id":"batch_req_36bba6a73b75c6a989b3394562e2bab8","custom_id":"r\u20281","response":{"status_code":200,"request_id":null,"body":{"base64":"eyJjaG9pY2VzIjpbeyJh"}},"error":{"code":"attempts-spent","cause":"truncated","message":"all 6 attempts that the policy allows were made"}}
        {"id":"batch_req_36bba6a73b75c6a989b3394562e2bab8","custom_id":"r\u20281","response":{"status_code":502,"request_id":null,"body":{"base64":"//4A"}},"error":null}
    "#]].assert_eq(&told);
    let page = line(
        &failed_with(spent, None, Some((502, html.as_bytes()))),
        Extras::Off,
    );
    assert_eq!(page.matches('é').count(), (TEXT_KEPT_BYTES - 7) / 2);
    assert_eq!(page.matches('\n').count(), 1);
    assert!(json::validate(&page).is_ok());
}

#[test]
fn base64_is_rfc_4648() {
    // Could break: the padding.
    let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
    for (length, vector) in vectors.iter().enumerate() {
        assert_eq!(base64(&b"foobar"[..length]), *vector);
    }
}

proptest::proptest! {
    // Could break: any bytes that a server may answer with.
    #[test]
    fn any_answer_is_one_line_of_json(
        body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60),
        text in ".{0,40}", status in 200_u16..600, cut in proptest::prelude::any::<bool>(),
    ) {
        for body in [body.as_slice(), text.as_bytes()] {
            let mut ended = failed_with(Reason::QuotaSpent, cut.then_some(cause::TRUNCATED), Some((status, body)));
            for extras in [Extras::Off, Extras::On] {
                let failed = line(&ended, extras);
                proptest::prop_assert_eq!(failed.matches('\n').count(), 1);
                proptest::prop_assert!(json::validate(&failed).is_ok());
            }
            ended.result = Ok(ended.result.unwrap_err().answer.unwrap());
            let answered = line(&ended, Extras::Off);
            proptest::prop_assert_eq!(answered.matches('\n').count(), 1);
            proptest::prop_assert!(json::validate(&answered).is_ok());
        }
    }
}
