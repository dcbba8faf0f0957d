//! A node with its service, made once.

use std::{net::SocketAddr, sync::OnceLock};

use selkie_node::{Node, Options};
use selkie_rpc::{Addresses, Service};
use tokio::runtime::{Builder, Runtime};

/// The service and its runtime.
struct World {
    service: Service,
    runtime: Runtime,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime starts");
        let node = Node::start(Options::default()).expect("a node starts");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let addresses = Addresses { rpc: address, websocket: address, quic: None };
        let entered = runtime.enter();
        let service = Service::start(node, selkie_rpc::Options::default(), addresses);
        drop(entered);
        World { service, runtime }
    })
}

/// Runs a future that uses the service.
pub(crate) fn block_on<T>(action: impl AsyncFnOnce(&'static Service) -> T) -> T {
    let World { service, runtime } = world();
    runtime.block_on(action(service))
}
