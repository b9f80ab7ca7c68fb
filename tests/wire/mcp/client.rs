//! The official client in Rust holds a conversation (mcp.md §6).

use parley_kit::BlockingServer;
use rmcp::model::{CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};

type Client = RunningService<RoleClient, ()>;

async fn connect(server: &BlockingServer, token: &str, mode: ClientLifecycleMode) -> Client {
    let url = format!("http://{}/mcp", server.address);
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
    let transport = StreamableHttpClientTransport::from_config(config);
    ().serve_with_lifecycle(transport, mode).await.expect("it connects")
}

/// Calls a tool: whether it refused, and what it said.
async fn call(client: &Client, name: &'static str, arguments: Value) -> (bool, Value) {
    let Value::Object(arguments) = arguments else { panic!("an object") };
    let params = CallToolRequestParams::new(name).with_arguments(arguments);
    let result = client.call_tool(params).await.expect("a result");
    let text = &result.content[0].as_text().expect("a text").text;
    let said: Value = serde_json::from_str(text).expect("JSON");
    let refused = result.is_error == Some(true);
    assert_eq!(result.structured_content, (!refused).then(|| said.clone()), "{name}");
    (refused, said)
}

/// Goal: the official client lists the tools, reads the manifest, holds a conversation until it is
/// decided and is refused with a reason, in each of its modes. Method: two clients that speak to
/// each other.
#[test]
fn official_client() {
    let server = BlockingServer::start(&[]);
    let ada = server.make_token(&json!({ "handle": "ada", "rights": ["read", "write"] }));
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for mode in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: modern.clone() },
        ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: None },
    ] {
        runtime.block_on(async {
            let asker = connect(&server, &server.agent, mode.clone()).await;
            let answerer = connect(&server, &ada, mode.clone()).await;
            let tools = asker.list_all_tools().await.expect("tools");
            assert_eq!((tools.len(), &*tools[0].name), (19, "get_manifest"));
            let manifest = call(&asker, "get_manifest", json!({})).await.1;
            assert_eq!(manifest["acts"].as_array().map(Vec::len), Some(9));
            let uri = ReadResourceRequestParams::new("parley://manifest");
            asker.read_resource(uri).await.expect("the manifest");
            let opened = call(&asker, "post_message", json!({ "kind": "ask", "body": "Well?" }));
            let thread = opened.await.1["thread"]["id"].clone();
            let own = json!({ "kind": "answer", "thread": thread, "body": "Mine." });
            let (refused, said) = call(&asker, "post_message", own).await;
            assert_eq!((refused, &said["reason"]), (true, &json!("self_reply")));
            let answer = json!({ "kind": "answer", "thread": thread, "body": "Yes." });
            assert!(!call(&answerer, "post_message", answer).await.0);
            let decision = json!({ "kind": "decide", "thread": thread, "body": "Yes it is." });
            let decided = call(&asker, "post_message", decision).await.1;
            assert_eq!(decided["thread"]["state"], "decided");
            asker.cancel().await.expect("it ends");
            answerer.cancel().await.expect("it ends");
        });
    }
}
