//! Cache selection between real routers: searches by UDP, requests hop by hop, the paper's hits.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::chain::Chain;
use crate::support::origin::{Origin, content};
use crate::support::{PROGRAM, has};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The configuration of router `own` among `routers` in a row, the last of which has the uplink, and its
/// routes.
fn router(own: usize, routers: usize, architecture: &str, selection: &str) -> (String, String) {
    let address = |router: usize| format!("10.77.{}.2", router - 1);
    let mut routes = String::new();
    for other in (1..=routers).filter(|other| *other != own) {
        // Towards the origin it is the neighbour's left side, towards the client its address: each has one in
        // the mesh.
        let via = if other > own { own + 1 } else { own - 1 };
        let _ = writeln!(
            routes,
            "[[route]]\nto = \"{}\"\nvia = \"{}\"\nhops = {}",
            address(other),
            address(via),
            other.abs_diff(own)
        );
    }
    let gateway = own == routers;
    let mut text =
        format!("architecture = \"{architecture}\"\nselection = \"{selection}\"\ngateway = {gateway}\n");
    if own == 1 {
        text += "[transparent]\n";
    }
    let mut positions = String::new();
    for other in 1..=routers {
        let _ = write!(positions, "\"{}\" = [{}, 0], ", address(other), other * 10);
    }
    let _ = writeln!(
        text,
        "[peers]\naddress = \"{}\"\nnetworks = [\"10.77.0.0/16\"]\nnetwork_key_file = \"network.key\"\n\
         search_timeout_milliseconds = 200\nbroadcast = [\"10.77.{}.255\", \"10.77.{}.255\"]\npositions = {{ {} }}\n\
         [routing]\nsource = \"static\"\nfile = \"routes.toml\"\ngateways = [\"{}\"]",
        address(own),
        own - 1,
        own,
        positions.trim_end_matches(", "),
        address(routers),
    );
    (text, routes)
}

/// Routers in a row with this protocol; the first one intercepts its client's connections.
fn mesh(routers: usize, architecture: &str, selection: &str) -> Option<Chain> {
    let mut chain = Chain::of(routers)?;
    for own in 1..=routers {
        let (configuration, routes) = router(own, routers, architecture, selection);
        chain.configurations[own - 1] = configuration;
        let folder = chain.folder(own);
        std::fs::write(folder.join("network.key"), "a key that all routers share\n").unwrap();
        if own % 2 == 0 {
            // The other form of the key file, which interoperates with the first one.
            has_the_caches_key_alone(&folder);
            chain.configurations[own - 1] = chain.configurations[own - 1]
                .replace("network_key_file = \"network", "cache_key_file = \"cache");
        }
        std::fs::write(folder.join("routes.toml"), routes).unwrap();
        chain.start(own);
    }
    Some(chain)
}

/// Replaces `network.key` by a derived `cache.key`.
fn has_the_caches_key_alone(folder: &Path) {
    let network = folder.join("network.key");
    if !folder.join("cache.key").exists() {
        let mut keygen = Command::new(PROGRAM);
        let made =
            keygen.arg("keygen").arg("--cache-key").arg(&network).arg("--out").arg(folder).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    std::fs::remove_file(network).unwrap();
}

fn fetch(chain: &Chain, path: &str, length: usize) -> String {
    let (answer, code) = chain.curl(&["--include", &chain.url(path)]);
    assert_eq!(code, 0, "{}", chain.log(1));
    let at = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    assert!(answer[at..] == content(path, length), "{}", String::from_utf8_lossy(&answer[..at]));
    String::from_utf8_lossy(&answer[..at]).into_owned()
}

fn objects(chain: &Chain) -> Vec<u64> {
    (1..=chain.caches.len())
        .map(|router| chain.status(router)["store"]["objects"].as_u64().unwrap())
        .collect()
}

#[test]
fn ph_thcp_goes_from_router_to_router_and_leaves_a_copy_at_each() {
    let Some(chain) = mesh(3, "hop-by-hop", "tree") else { return };
    fetch(&chain, "/fixed/300000", 300_000);
    assert_eq!(objects(&chain), [1, 1, 1]);
    assert_eq!(chain.status(2)["counters"]["neighbours"]["10.77.1.1"]["asked_us"], 1, "{}", chain.status(2));
}

#[test]
fn thcp_asks_the_gateway_alone() {
    let Some(chain) = mesh(3, "access", "tree") else { return };
    fetch(&chain, "/fixed/300000", 300_000);
    assert_eq!(objects(&chain), [1, 0, 1]);
}

#[test]
fn ph_bcp_finds_a_copy_that_a_neighbour_has_and_sets_up_the_way_to_it() {
    let Some(mut chain) = mesh(4, "hop-by-hop", "broadcast") else { return };
    let (path, length) = ("/fixed/300000", 300_000);
    fetch(&chain, path, length);
    assert_eq!(objects(&chain), [1, 1, 1, 1]);
    // Routers 1 and 2 lose their copies, and the gateway its uplink.
    for router in [1, 2] {
        chain.stop(router);
        chain.start(router);
    }
    chain.places[4].ip("link set right down\n").unwrap();
    let head = fetch(&chain, path, length);
    assert!(head.contains("detail=remote"), "{head}");
    assert_eq!(objects(&chain), [1, 1, 1, 1]);
    let status = chain.status(1);
    assert_eq!(
        (status["mesh"]["traffic"]["searches"].as_u64(), status["mesh"]["searches_won"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(status["counters"]["requests"]["remote"], 1);
    assert_eq!(chain.status(2)["mesh"]["traffic"]["set_up"], 1, "{}", chain.status(2));
    assert_eq!(chain.origin.requests(path), 1);
}

#[test]
fn bcp_fetches_end_to_end_from_whoever_has_it() {
    let Some(mut chain) = mesh(3, "access", "broadcast") else { return };
    let (path, length) = ("/fixed/300000", 300_000);
    fetch(&chain, path, length);
    assert_eq!(objects(&chain), [1, 0, 1], "nobody on the way keeps it");
    chain.stop(1);
    chain.start(1);
    let head = fetch(&chain, path, length);
    assert!(head.contains("detail=remote"), "{head}");
    assert_eq!(chain.origin.requests(path), 1);
}

#[test]
fn ph_ghcp_asks_the_router_that_a_uri_belongs_to_and_it_asks_the_gateway() {
    let Some(chain) = mesh(3, "hop-by-hop", "grid") else { return };
    for number in 0..8 {
        let path = format!("/fixed/2000/{number}");
        fetch(&chain, &path, 2000);
        assert_eq!(chain.origin.requests(&path), 1);
    }
    assert_eq!(objects(&chain), [8, 8, 8], "in a row every way to the gateway is the same one");
    assert!(chain.status(2)["mesh"]["traffic"]["set_up"].as_u64().unwrap() <= 8);
}

#[test]
fn a_router_that_dies_in_the_middle_costs_no_client_its_content() {
    let Some(mut chain) = mesh(3, "hop-by-hop", "auto") else { return };
    let (path, length) = ("/slow/2000000", 2_000_000);
    let url = chain.url(path);
    let mut victim = chain.caches[1].take();
    let (body, code) = std::thread::scope(|scope| {
        let client = scope.spawn(|| chain.curl(&[&url]));
        std::thread::sleep(std::time::Duration::from_millis(800));
        // Dropping it kills it.
        drop(victim.take());
        client.join().unwrap()
    });
    let whole = body == content(path, length);
    assert!(whole && code == 0 || !whole && code != 0, "a part was presented as whole: {code}");
    assert!(whole, "the rest was to be had from the origin\n{}", chain.log(1));
}

#[test]
fn strangers_and_forgers_change_nothing() {
    let Some(chain) = mesh(2, "hop-by-hop", "broadcast") else { return };
    fetch(&chain, "/fixed/1000", 1000);
    let flood = chain.places[0].enter(|| {
        let socket = std::net::UdpSocket::bind("10.77.0.1:0").unwrap();
        for number in 0..20_000_u32 {
            let mut datagram = [7; 300];
            datagram[..8].copy_from_slice(&[1, 0, 9, 0, 0, 0, 0, 0]);
            datagram[8..12].copy_from_slice(&number.to_be_bytes());
            let _ = socket.send_to(&datagram, "10.77.0.2:4783");
        }
    });
    flood.unwrap();
    fetch(&chain, "/fixed/1001", 1001);
    let traffic = chain.status(1)["mesh"]["traffic"].clone();
    assert!(traffic["forged"].as_u64().unwrap() > 100, "{traffic}");
    assert_eq!(traffic["set_up"], 0);
}

#[test]
fn a_door_for_routers_is_shut_for_everybody_else_and_nobody_elses_answer_is_believed() {
    let Some(mut chain) = mesh(2, "hop-by-hop", "tree") else { return };
    let (said, _) = chain.curl(&[
        "--write-out",
        "%{http_code}",
        "--output",
        "/dev/null",
        "-H",
        &format!("Host: {}", chain.host()),
        "http://10.77.1.2:4783/fixed/1000",
    ]);
    assert_eq!(said, b"403", "{}", chain.log(2));
    assert_eq!(chain.status(2)["counters"]["refused"]["unproven"], 1);
    fetch(&chain, "/fixed/1000", 1000);
    assert_eq!(objects(&chain), [1, 1]);
    // A host without the key takes the second router's place.
    chain.stop(2);
    let impostor = chain.places[2].enter(|| Origin::start(4783)).unwrap();
    fetch(&chain, "/fixed/1001", 1001);
    assert_eq!((impostor.requests("/fixed/1001"), chain.origin.requests("/fixed/1001")), (1, 1));
    assert!(chain.log(1).contains("does not bear the network's key"), "{}", chain.log(1));
}

#[test]
fn what_runs_on_a_router_is_reached_past_its_cache() {
    let Some(chain) = mesh(2, "hop-by-hop", "tree") else { return };
    let on_the_gateway = chain.places[2].enter(|| Origin::start(80)).unwrap();
    let (body, code) = chain.curl(&["--fail", "http://10.77.1.2/fixed/1000"]);
    assert_eq!((body == content("/fixed/1000", 1000), code), (true, 0), "{}", chain.log(1));
    assert_eq!(on_the_gateway.requests("/fixed/1000"), 1);
    assert_eq!(chain.status(2)["counters"]["refused"]["destination"], 1, "{}", chain.status(2));
}

#[test]
fn a_neighbour_that_claims_what_it_lacks_costs_nobody_his_content() {
    use webcache::selection::message::{Kind, LONGEST_BYTES, Message, NetworkKey};
    let Some(mut chain) = mesh(2, "hop-by-hop", "broadcast") else { return };
    chain.stop(2);
    // It has the key, answers every search at once, and has no content.
    let claiming = chain.places[2].enter(|| {
        let socket = std::net::UdpSocket::bind("0.0.0.0:4783").unwrap();
        std::thread::spawn(move || {
            let key = NetworkKey::new(b"a key that all routers share");
            let mut datagram = vec![0; LONGEST_BYTES];
            while let Ok((length, from)) = socket.recv_from(&mut datagram) {
                let Ok(search) = Message::parse(&datagram[..length], &key) else { continue };
                let own: std::net::IpAddr = "10.77.1.2".parse().unwrap();
                let found = Message { kind: Kind::Found, ttl: 1, target: own, ..search };
                socket.send_to(&found.emit(&key).unwrap(), from).unwrap();
            }
        });
    });
    claiming.unwrap();
    for number in 0..3 {
        let path = format!("/fixed/1000/{number}");
        fetch(&chain, &path, 1000);
        assert_eq!(chain.origin.requests(&path), 1);
    }
    let status = chain.status(1);
    assert_eq!(status["mesh"]["searches_won"], 3, "{status}");
    assert_eq!(
        status["counters"]["neighbours"]["10.77.1.2"]["failed"].as_u64().map(|failed| failed >= 3),
        Some(true),
        "{status}"
    );
}

#[test]
fn ipv6_routers_search_by_multicast_and_set_up_the_way() {
    let Some(mut chain) = Chain::of(4) else { return };
    for own in 1..=4_usize {
        let address = |router: usize| format!("fd77:{}::2", router - 1);
        let mut routes = String::new();
        for other in (1..=4_usize).filter(|other| *other != own) {
            let via = if other > own { own + 1 } else { own - 1 };
            let (to, via, hops) = (address(other), address(via), other.abs_diff(own));
            let _ = writeln!(routes, "[[route]]\nto = \"{to}\"\nvia = \"{via}\"\nhops = {hops}");
        }
        let transparent = if own == 1 { "[transparent]\n" } else { "" };
        let interfaces = if own == 4 { "\"left\"" } else { "\"left\", \"right\"" };
        chain.configurations[own - 1] = format!(
            "selection = \"broadcast\"\ngateway = {}\n{transparent}[peers]\naddress = \"{}\"\n\
             networks = [\"fd77::/16\"]\nnetwork_key_file = \"network.key\"\nsearch_timeout_milliseconds = 500\n\
             interfaces = [{interfaces}]\n[routing]\nsource = \"static\"\nfile = \"routes.toml\"\ngateways = [\"{}\"]\n",
            own == 4,
            address(own),
            address(4),
        );
        let folder = chain.folder(own);
        std::fs::write(folder.join("network.key"), "a key that all routers share\n").unwrap();
        std::fs::write(folder.join("routes.toml"), routes).unwrap();
        chain.start(own);
    }
    let (path, length) = ("/fixed/300000", 300_000);
    let url = format!("http://[fd77:4::2]{path}");
    let (body, code) = chain.curl(&[&url]);
    assert_eq!((body == content(path, length), code), (true, 0), "{}", chain.log(1));
    assert_eq!(objects(&chain), [1, 1, 1, 1]);
    for router in [1, 2] {
        chain.stop(router);
        chain.start(router);
    }
    chain.places[4].ip("link set right down\n").unwrap();
    let (body, code) = chain.curl(&[&url]);
    assert_eq!((body == content(path, length), code), (true, 0), "{}\n{}", chain.log(1), chain.status(1));
    assert_eq!(objects(&chain), [1, 1, 1, 1]);
    let mesh = chain.status(1)["mesh"].clone();
    assert_eq!(mesh["searches_won"], 1, "{mesh}");
    assert_eq!(chain.status(2)["mesh"]["traffic"]["set_up"], 1);
}

#[test]
fn routes_are_learnt_from_babeld_and_a_search_goes_by_them() {
    if !has("babeld", "babeld") {
        return;
    }
    let Some(mut chain) = Chain::of(3) else { return };
    let mut daemons = Vec::new();
    for own in 1..=3 {
        let folder = chain.folder(own);
        // Loopback addresses identify the routers, because addresses of links are not announced.
        chain.places[own].ip(&format!("addr add 10.88.0.{own}/32 dev lo\n")).unwrap();
        let mut command = std::process::Command::new("babeld");
        command.args([
            "-G",
            "3300",
            "-I",
            "babeld.pid",
            "-S",
            "babeld.state",
            "-h",
            "1",
            "-H",
            "1",
            "-M",
            "1",
        ]);
        // The first matching rule counts.
        command.args(["-C", "redistribute local ip 10.88.0.0/24 allow", "-C", "redistribute local deny"]);
        let interfaces: &[&str] = if own == 1 {
            &["right"]
        } else if own == 3 {
            &["left"]
        } else {
            &["left", "right"]
        };
        command
            .args(["-C", "redistribute local ip 10.88.0.0/24 allow"])
            .args(interfaces)
            .current_dir(&folder);
        let log = std::fs::File::create(folder.join("babeld.log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        daemons.push(lab::Program::start(&chain.places[own], command, "babeld").unwrap());
    }
    let until = std::time::Instant::now() + std::time::Duration::from_secs(40);
    let known = |chain: &Chain| {
        let routes = |at| String::from_utf8(chain.at(at, "ip", &["route"]).stdout).unwrap();
        let (first, last) = (routes(1), routes(3));
        [("10.88.0.2 ", &first), ("10.88.0.3 ", &first), ("10.88.0.1 ", &last)]
            .iter()
            .all(|(to, at)| at.contains(to))
    };
    while !known(&chain) {
        assert!(
            std::time::Instant::now() < until,
            "babeld found no route: {}",
            std::fs::read_to_string(chain.folder(1).join("babeld.log")).unwrap()
        );
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    for own in 1..=3 {
        std::fs::write(chain.folder(own).join("network.key"), "a key that all routers share\n").unwrap();
        let transparent = if own == 1 { "[transparent]\n" } else { "" };
        chain.configurations[own - 1] = format!(
            "gateway = {}\nselection = \"broadcast\"\n{transparent}[peers]\naddress = \"10.88.0.{own}\"\n\
             networks = [\"10.77.0.0/16\", \"10.88.0.0/16\"]\nnetwork_key_file = \"network.key\"\n\
             search_timeout_milliseconds = 300\nbroadcast = [\"10.77.{}.255\", \"10.77.{own}.255\"]\n\
             [routing]\nsource = \"babeld\"\nsocket = \"3300\"\ngateways = [\"10.88.0.3\"]\n",
            own == 3,
            own - 1,
        );
        chain.start(own);
    }
    let mesh = chain.status(1)["mesh"].clone();
    assert_eq!(
        (mesh["gateway"].as_str(), mesh["gateway_hops"].as_u64()),
        (Some("10.88.0.3"), Some(2)),
        "{mesh}"
    );
    let (path, length) = ("/fixed/300000", 300_000);
    fetch(&chain, path, length);
    assert_eq!(
        objects(&chain),
        [1, 1, 1],
        "hop by hop, by babeld's next hops\n{}\n{}\n{}",
        chain.log(1),
        chain.status(1),
        chain.status(2)
    );
    chain.stop(1);
    chain.start(1);
    let head = fetch(&chain, path, length);
    assert!(head.contains("detail=remote"), "{head}");
    assert_eq!(chain.origin.requests(path), 1);
    drop(daemons);
}

#[test]
fn a_squid_is_a_sibling_both_ways() {
    if !has("squid", "squid") {
        return;
    }
    let Some(mut chain) = Chain::of(2) else { return };
    // Router 1 is ours, and router 2 is a Squid. Ours starts first, because a Squid treats a sibling that is
    // unreachable at its start as dead for half a minute.
    chain.configurations[0] = "[transparent]\n[forward]\nlisten = \"10.77.1.1:3128\"\n[icp]\n\
         listen = \"10.77.1.1:3130\"\n[[icp.neighbour]]\naddress = \"10.77.1.2\"\n"
        .to_owned();
    chain.start(1);
    let folder = chain.folder(2);
    let config = "http_port 10.77.0.9:3128\nhttp_port 10.77.1.1:3128\nicp_port 3130\nicp_access allow all\n\
         http_access allow all\nvisible_hostname squid\npid_filename none\ncache_mem 16 MB\n\
         cache_log /dev/stderr\naccess_log none\ncache_store_log none\nmime_table mime.conf\n\
         error_directory .\nicon_directory .\npinger_enable off\nminimum_direct_rtt 0\nminimum_direct_hops 0\nprefer_direct off\n\
         cache_peer 10.77.1.1 sibling 3128 3130 proxy-only\ncoredump_dir .\ncache_effective_user nobody\n\
         shutdown_lifetime 0 seconds\n"
        .replace("10.77.0.9", "10.77.1.2")
        .replace("http_port 10.77.1.1:3128\n", "");
    std::fs::write(folder.join("squid.conf"), config).unwrap();
    std::fs::write(folder.join("mime.conf"), "").unwrap();
    for page in ["ERR_CANNOT_FORWARD", "error-details.txt"] {
        std::fs::write(folder.join(page), "").unwrap();
    }
    // Squid refuses to run as root.
    use std::os::unix::fs::PermissionsExt as _;
    for (path, mode) in [(chain.run.folder(), 0o755), (folder.as_path(), 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = std::process::Command::new("squid");
    command.args(["-N", "-n", "overheardtest", "-f", "squid.conf"]).current_dir(&folder);
    let log = std::fs::File::create(folder.join("out.log")).unwrap();
    command.stdout(log.try_clone().unwrap()).stderr(log);
    let mut squid = lab::Program::start(&chain.places[2], command, "squid").unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let listens = |chain: &Chain| {
        chain.places[2].enter(|| std::net::TcpStream::connect("10.77.1.2:3128").is_ok()).unwrap()
    };
    while !listens(&chain) {
        assert!(
            std::time::Instant::now() < until,
            "{}",
            std::fs::read_to_string(folder.join("out.log")).unwrap_or_default()
        );
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // The Squid has the content, and serves our client.
    let via_squid = |chain: &Chain, path: &str| {
        let url = chain.url(path);
        let args = ["--disable", "--silent", "--max-time", "20", "--proxy", "http://10.77.1.2:3128", &url];
        chain.at(2, "curl", &args).stdout
    };
    let (path, length) = ("/fixed/20000", 20_000);
    assert!(via_squid(&chain, path) == content(path, length));
    let (body, code) = chain.curl(&[&chain.url(path)]);
    assert_eq!((body == content(path, length), code), (true, 0), "{}", chain.log(1));
    assert_eq!(chain.origin.requests(path), 1, "{}", chain.log(1));
    // We have the content, and serve the Squid's client.
    let (path, length) = ("/fixed/21000", 21_000);
    chain.curl(&[&chain.url(path)]);
    assert!(via_squid(&chain, path) == content(path, length));
    assert_eq!(
        chain.origin.requests(path),
        1,
        "{}",
        std::fs::read_to_string(folder.join("out.log")).unwrap()
    );
    // It ends by its own command, because after a kill it leaves shared memory behind.
    squid.stop();
}
