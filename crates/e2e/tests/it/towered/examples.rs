//! The examples are programs; here they run.

#[path = "../../../examples/axum_handler.rs"]
mod axum_handler;
#[path = "../../../examples/reverse_proxy.rs"]
mod reverse_proxy;
#[path = "../../../examples/tonic_client.rs"]
mod tonic_client;

#[test]
fn a_grpc_client_behind_the_layer_retries_what_is_unavailable_and_waits_for_the_push_back() {
    // Breaks when a gRPC failure, which is an HTTP 200, counts as an answer, or a message is lost by its first send.
    tonic_client::main().unwrap();
}

#[test]
fn an_axum_handler_behind_the_layer_tells_its_caller_how_the_upstream_failed() {
    // Breaks when an error of the layer loses what a status and `Retry-After` are made of.
    axum_handler::main().unwrap();
}

#[test]
fn a_body_of_the_transport_passes_through_a_server_of_hyper() {
    // Breaks when a cut body ends well for the proxy's caller.
    reverse_proxy::main().unwrap();
}
