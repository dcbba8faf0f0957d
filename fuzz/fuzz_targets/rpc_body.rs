//! Any bytes as the body of a request, and as the parameters of a method: every answer is JSON.

#![no_main]

mod node;

use libfuzzer_sys::fuzz_target;
use selkie_rpc::METHODS;

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, rest) = input;
    // Random bytes hardly ever name a method.
    let body = match METHODS.get(usize::from(choice)) {
        // It would read and write all of the state each time.
        Some(method) if ["selkie_dumpState", "selkie_reset"].contains(&method.name) => return,
        Some(method) => {
            let name = method.name;
            let head = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{name}","params":"#);
            [head.as_bytes(), rest, b"}"].concat()
        }
        None => rest.to_vec(),
    };
    let answer = node::block_on(async |service| service.answer(&body).await);
    if let Some(answer) = answer {
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("answers are JSON");
        let is_internal = answer["error"]["code"] == -32603;
        assert!(!is_internal, "{}: {answer}", String::from_utf8_lossy(&body));
    }
});
