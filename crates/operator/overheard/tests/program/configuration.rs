//! One mistake in each configuration: exit code 2, one sentence with file, key and remedy, and nothing left
//! behind.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use crate::support::{Site, told};
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Result of `up` for the gateway's configuration with `from` replaced by `to`.
fn changed(from: &str, to: &str) -> (i32, String) {
    let site = Site::new();
    let good = site.gateway();
    assert!(good.contains(from), "{from:?} is in the configuration");
    let said = site.refused(&good.replacen(from, to, 1));
    assert!(!site.path().join("gateway.sock").exists(), "the status socket is gone");
    said
}

#[track_caller]
fn refused(from: &str, to: &str, sentence: &str) {
    assert_eq!(changed(from, to), (2, format!("overheard: {sentence}")));
}

#[test]
fn a_misspelt_key_is_told_with_the_one_that_was_meant() {
    refused(
        "allowed_ips",
        "allowed_ip",
        r#"gateway.toml:16: unknown key "allowed_ip" in [[peer]]; did you mean "allowed_ips"?"#,
    );
    refused("listen", "listn", r#"gateway.toml:6: unknown key "listn" in [node]; did you mean "listen"?"#);
    refused("[tunnel]", "[tunel]", r#"gateway.toml:9: unknown key "tunel"; did you mean "tunnel"?"#);
}

#[test]
fn an_unknown_key_is_told_with_those_that_there_are() {
    refused(
        "interface",
        "colour = 1\ninterface",
        r#"gateway.toml:10: unknown key "colour" in [tunnel]; there are interface, addresses, mtu, routes, when_down, copy_dscp, mss_clamp, boost, boost_control"#,
    );
}

#[test]
fn source_ports_that_cannot_be_are_told() {
    for wrong in ["0", "17", "-1"] {
        refused(
            "role =",
            &format!("source_ports = {wrong}\nrole ="),
            &format!("gateway.toml: [node] source_ports: {wrong} is not between 1 and 16"),
        );
    }
    refused(
        "role =",
        "source_ports = 4\nrole =",
        "gateway.toml: [node] source_ports: several are used towards peers with an endpoint only, and none has one; \
         take it out, and let the peers have several",
    );
}

#[test]
fn threads_that_cannot_be_are_told() {
    for wrong in ["0", "65"] {
        refused(
            "role =",
            &format!("threads = {wrong}\nrole ="),
            &format!("gateway.toml: [node] threads: {wrong} is not between 1 and 64"),
        );
    }
    let site = Site::new();
    let threads = site.gateway().replace("role =", "threads = 2\nrole =");
    let expected = "overheard: gateway.toml: [node] threads: what stations overhear of each other is known to one thread; \
                    take it out, or [overhear]";
    assert_eq!(site.refused(&(threads + "\n[overhear]\n")), (2, expected.to_owned()));
}

#[test]
fn a_tunnel_that_cannot_open_is_told() {
    refused(
        "interface",
        "when_down = \"ajar\"\ninterface",
        "gateway.toml:10: when_down: unknown variant `ajar`, expected `closed` or `open`",
    );
    refused(
        "interface",
        "when_down = \"open\"\nroutes = false\ninterface",
        "gateway.toml: [tunnel] when_down: \"open\" withdraws routes, and routes = false puts none in; take one of \
         the two out",
    );
    refused(
        "[[peer]]\n",
        "when_down = \"open\"\n\n[[peer]]\nendpoint = \"127.0.0.1:9\"\nkeepalive_seconds = 0\n",
        "gateway.toml: [[peer]] \"roof\" keepalive_seconds: 0 never finds out that the peer is back, which when_down = \
         \"open\" waits for; take it out",
    );
}

#[test]
fn a_missing_key_is_told_with_its_table() {
    refused(
        "interface = \"ohtest-gw\"\n",
        "",
        r#"gateway.toml:9: "interface" is missing in [tunnel]; add it"#,
    );
}

#[test]
fn a_value_of_another_kind_is_told_with_its_key() {
    refused(
        "interface",
        "routes = \"yes\"\ninterface",
        r#"gateway.toml:10: routes: invalid type: string "yes", expected a boolean"#,
    );
    refused(
        "\"gateway\"",
        "\"router\"",
        "gateway.toml:3: role: unknown variant `router`, expected one of `gateway`, `station`, `relay`",
    );
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let (code, said) = changed("[tunnel]", "[tunnel");
    assert_eq!(code, 2);
    assert!(said.starts_with("overheard: gateway.toml:9: "), "{said}");
}

#[test]
fn a_configuration_that_is_not_there_is_told() {
    let output = Site::new().run(&["up", "nowhere.toml"]);
    let expected =
        "overheard: cannot read the configuration nowhere.toml: No such file or directory (os error 2)";
    assert_eq!(told(&output), (2, expected.to_owned()));
}

#[test]
fn a_key_that_cannot_be_read_is_told_with_the_mend() {
    refused(
        "gateway/private.key",
        "gateway/secret.key",
        "gateway.toml: [node] private_key_file: cannot read gateway/secret.key: No such file or directory \
         (os error 2); make one with `overheard keygen`",
    );
    refused(
        "\"network.key\"",
        "\"gateway.toml\"",
        "gateway.toml: [node] network_key_file: gateway.toml holds no key: not a key: 44 characters of base64 \
         (32 bytes) are expected; make one with `overheard keygen`",
    );
}

#[test]
fn addresses_that_two_peers_claim_are_told() {
    let second = |allowed: &str| {
        let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        format!(
            "[[peer]]\nname = \"barn\"\npublic_key = \"{key}\"\nallowed_ips = [\"{allowed}\"]\n\n[[peer]]\nname = \"roof\""
        )
    };
    for claimed in ["10.98.0.2/32", "fd98::2/128"] {
        refused(
            "[[peer]]\nname = \"roof\"",
            &second(claimed),
            &format!(
                "gateway.toml: [[peer]] \"roof\" allowed_ips: {claimed} is {claimed} of peer \"barn\" too; a prefix can lead \
                 to one peer only"
            ),
        );
    }
}

#[test]
fn an_address_of_this_node_among_a_peers_is_told() {
    refused(
        "10.98.0.2/32",
        "10.98.0.1/32",
        "gateway.toml: [[peer]] \"roof\" allowed_ips: 10.98.0.1/32 is this node's own address; write the peer's",
    );
}

#[test]
fn a_node_without_peers_and_peers_of_one_name_are_told() {
    let site = Site::new();
    let config = site.gateway();
    let (alone, peer) = config.split_at(config.find("[[peer]]").unwrap());
    let expected = "overheard: gateway.toml: [[peer]]: there is none; add one for each node to talk to";
    assert_eq!(site.refused(alone), (2, expected.to_owned()));
    let expected =
        "overheard: gateway.toml: [[peer]] name: two are called \"roof\"; give each a name of its own";
    assert_eq!(site.refused(&format!("{config}\n{peer}")), (2, expected.to_owned()));
}

#[test]
fn this_nodes_own_key_as_a_peers_is_told() {
    let site = Site::new();
    let config = site.gateway().replace(&site.station_public, &site.gateway_public);
    let expected = "overheard: gateway.toml: peer \"roof\" has this node's own public key; put the other node's key there";
    assert_eq!(site.refused(&config), (2, expected.to_owned()));
}

#[test]
fn what_is_no_address_is_told_with_an_example() {
    refused(
        "127.0.0.1:0",
        "4780",
        "gateway.toml: [node] listen: \"4780\" is no address and port; write one as \"[::]:4780\" or \
         \"0.0.0.0:4780\"",
    );
    refused(
        "10.98.0.1/24",
        "10.98.0.1/33",
        "gateway.toml: [tunnel] addresses: \"10.98.0.1/33\" is no address with a prefix length; write one as \
         \"10.9.0.1/24\"",
    );
    refused(
        "allowed_ips",
        "endpoint = \"gateway\"\nallowed_ips",
        "gateway.toml: [[peer]] \"roof\" endpoint: \"gateway\" is no address and port; write one as \
         \"192.0.2.1:4780\", \"[2001:db8::1]:4780\" or \"gateway.example:4780\"",
    );
}

#[test]
fn a_bad_mtu_is_told_with_its_bounds() {
    refused(
        "interface",
        "mtu = 1200\ninterface",
        "gateway.toml: [tunnel] mtu: 1200 is not between 1280 and 64000, because there is IPv6 in the tunnel",
    );
    refused(
        "interface",
        "mtu = 100000\ninterface",
        "gateway.toml: [tunnel] mtu: 100000 is not between 1280 and 64000, because there is IPv6 in the tunnel",
    );
}

#[test]
fn a_name_that_no_interface_can_have_is_told() {
    refused(
        "ohtest-gw",
        "a name with spaces",
        "gateway.toml: [tunnel] interface: \"a name with spaces\" is no name for an interface; use 1 to 15 \
         letters, digits, '-', '_' or '.'",
    );
}

#[test]
fn an_interface_on_which_nothing_can_be_overheard_is_told() {
    let told = |interface: &str, what: &str| {
        let with = format!("[overhear]\ninterface = \"{interface}\"\n\n[tunnel]");
        refused("[tunnel]", &with, &format!("gateway.toml: [overhear] interface: {what}"));
    };
    told("a/b", "\"a/b\" is no name for an interface; use 1 to 15 letters, digits, '-', '_' or '.'");
    told("ohtest-gw", "ohtest-gw is the tunnel itself; name the interface on which others are heard");
    refused(
        "[tunnel]",
        "[overhear]\ninterfaces = \"wlan0mon\"\n\n[tunnel]",
        r#"gateway.toml:10: unknown key "interfaces" in [overhear]; did you mean "interface"?"#,
    );
    if !rustix::process::geteuid().is_root() {
        return told("lo", "no right to open a packet socket; run as root or give the program CAP_NET_RAW");
    }
    told("ohtest-none", "there is no interface ohtest-none; name one that `ip link` shows");
    told(
        "lo",
        "nothing of others can be heard on interface lo, whose kind is 772 (ARPHRD); name a Wi-Fi interface in monitor \
         mode, or one like Ethernet",
    );
}

#[test]
fn a_station_that_knows_no_gateway_is_told() {
    refused(
        "\"gateway\"",
        "\"station\"",
        "gateway.toml: [[peer]] endpoint: no peer has one, and a station has to know where a gateway is; add \
         endpoint = \"ADDRESS:PORT\"",
    );
}

#[test]
fn naive_is_refused_with_the_reason() {
    refused(
        "[tunnel]",
        "[reduce]\npolicy = \"naive\"\n\n[tunnel]",
        "gateway.toml: [reduce] policy: naive stalls a connection for good on the first packet that is lost, \
         because what follows refers to it; take it out for the default, \"adaptive\", which no loss can stall",
    );
}

#[test]
fn a_papers_policy_is_refused_and_another_is_named() {
    for policy in ["cache-flush", "tcp-seq", "k-distance", "informed-marking", "retrieve-on-miss"] {
        refused(
            "[tunnel]",
            &format!("[reduce]\npolicy = \"{policy}\"\n\n[tunnel]"),
            &format!(
                "gateway.toml: [reduce] policy: {policy} is a paper's policy, which only overheard-lab runs; use \
                 \"adaptive\", the default"
            ),
        );
    }
}

#[test]
fn a_papers_form_is_refused_and_another_is_named() {
    for form in ["paper", "hashed"] {
        refused(
            "[tunnel]",
            &format!("[reduce]\nform = \"{form}\"\n\n[tunnel]"),
            &format!(
                "gateway.toml: [reduce] form: {form} is a paper's form, which only overheard-lab writes and reads; use \
                 \"compact\", the default"
            ),
        );
    }
}

#[test]
fn what_repairs_tcp_is_checked() {
    refused(
        "[tunnel]",
        "[snoop]\nbuffer_packets = 0\n\n[tunnel]",
        "gateway.toml: [snoop]: buffer is 0 packets; it must be between 1 and 1024",
    );
    refused(
        "[tunnel]",
        "[snoop]\ndegree = 17\n\n[tunnel]",
        "gateway.toml: [snoop]: degree is 17; it must be between 1 and 16",
    );
    refused(
        "[tunnel]",
        "[snoop]\ndegree = 2\nadaptive = true\n\n[tunnel]",
        "gateway.toml: [snoop] adaptive: follows the link, and degree and distance say what it is to be; take out one or the \
         other",
    );
    refused(
        "[tunnel]",
        "[snoop]\nbuffer_packet = 4\n\n[tunnel]",
        r#"gateway.toml:10: unknown key "buffer_packet" in [snoop]; did you mean "buffer_packets"?"#,
    );
    refused(
        "[node]",
        "snoop = 3\n\n[node]",
        "gateway.toml:2: snoop: invalid type: integer `3`, expected true, false, or a table",
    );
}

#[test]
fn parameters_of_the_reduction_are_checked() {
    refused(
        "[tunnel]",
        "[reduce]\nk = 8\n\n[tunnel]",
        "gateway.toml: [reduce] k: belongs to policy = \"k-distance\", and the policy is adaptive; take it out",
    );
    refused(
        "[tunnel]",
        "[reduce]\nwindow_bytes = 4\n\n[tunnel]",
        "gateway.toml: [reduce]: a window of 4 bytes is not between 8 and 128",
    );
    let (code, said) = changed("[tunnel]", "[reduce]\npolicy = \"ackd\"\n\n[tunnel]");
    assert_eq!(code, 2);
    assert!(
        said.starts_with("overheard: gateway.toml: [reduce] policy: no policy is called \"ackd\""),
        "{said}"
    );
}

#[test]
fn a_port_in_use_is_told() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    refused(
        "127.0.0.1:0",
        &format!("127.0.0.1:{port}"),
        &format!(
            "gateway.toml: [node] listen: UDP port {port} on 127.0.0.1 is in use by another program; stop it or \
             choose another port"
        ),
    );
}

#[test]
fn an_address_that_is_not_this_machines_is_told() {
    refused(
        "127.0.0.1:0",
        "203.0.113.1:4780",
        "gateway.toml: [node] listen: 203.0.113.1 is not an address of this machine; listen on one that is, or \
         on [::]",
    );
}

#[test]
fn without_the_right_to_make_a_device_nothing_is_started() {
    let site = Site::new();
    let program = site.copy_of_program();
    // An installed node has the default file in a folder that only root may read.
    let config = site.gateway().replace("[node]", "[node]\nrevoked_file = \"gateway.revoked\"");
    site.write("gateway.toml", &config);
    let mut command = Command::new(program);
    command.args(["up", "gateway.toml"]).current_dir(site.path());
    if rustix::process::geteuid().is_root() {
        // User nobody owns the folder and its contents, and has no other rights.
        for name in ["gateway", "gateway/private.key", "network.key", "gateway.toml", "."] {
            std::os::unix::fs::chown(site.path().join(name), Some(65_534), Some(65_534)).unwrap();
        }
        command.uid(65_534).gid(65_534);
    }
    let expected = if fs::exists("/dev/net/tun").unwrap() {
        "no right to make a TUN device; run as root or give the program CAP_NET_ADMIN"
    } else {
        "there is no /dev/net/tun; load the kernel module tun (modprobe tun) or give the container that device"
    };
    let expected = format!("overheard: gateway.toml: [tunnel] interface: {expected}");
    assert_eq!(told(&command.output().unwrap()), (2, expected));
    assert!(!site.path().join("gateway.sock").exists());
}

#[test]
fn a_name_that_is_not_found_is_no_mistake_of_the_users() {
    let (code, said) = changed("allowed_ips", "endpoint = \"gateway.invalid:4780\"\nallowed_ips");
    assert_eq!(code, 1, "the name may be there a minute later");
    let expected = "gateway.toml: [[peer]] \"roof\" endpoint: cannot look up the name \"gateway.invalid\"";
    assert!(said.starts_with(&format!("overheard: {expected}")), "{said}");
}

#[test]
fn status_says_that_nobody_answers() {
    let site = Site::new();
    site.write("gateway.toml", &site.gateway());
    let expected =
        "overheard: no node runs here: nobody answers on gateway.sock; start one with `overheard up`";
    assert_eq!(told(&site.run(&["status", "gateway.toml"])), (1, expected.to_owned()));
}

#[test]
fn usage_that_makes_no_sense_is_exit_code_2() {
    assert_eq!(Site::new().run(&["up"]).status.code(), Some(2));
    assert_eq!(Site::new().run(&["upp", "gateway.toml"]).status.code(), Some(2));
}

#[test]
fn a_key_that_others_may_read_is_warned_of() {
    let site = Site::new();
    let key = site.path().join("gateway/private.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    // A later mistake ends the start.
    site.write("gateway.toml", &site.gateway().replacen("127.0.0.1:0", "4780", 1));
    let output = site.run(&["up", "gateway.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("others may read the key in gateway/private.key; chmod 600"), "{said}");
}

#[test]
fn several_gateways_that_cannot_be_are_told() {
    let site = Site::new();
    let gateway = |extra: &str| {
        format!(
            "{}\n[[gateway]]\nname = \"other\"\npublic_key = \"{}\"\n{extra}",
            site.gateway(),
            site.gateway_public
        )
    };
    let (code, said) = site.refused(&gateway("endpoint = \"198.51.100.2:4780\"\n"));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("has this node's own public key"), "{said}");
    for (text, sentence) in [
        (
            gateway("adress = \"198.51.100.2:4780\"\n"),
            r#"unknown key "adress" in [[gateway]]; there are name, public_key, endpoint, preshared_key_file, allowed_ips, keepalive_seconds"#,
        ),
        (gateway("").replacen("role =", "threads = 2\nrole =", 1), "take it out, or the [[gateway]]s"),
        (
            gateway("").replacen("\"gateway\"", "\"station\"", 1),
            r#"[[gateway]] "other" endpoint: is missing"#,
        ),
        (
            gateway("endpoint = \"198.51.100.2:4780\"\n").replacen("\"gateway\"", "\"station\"", 1),
            r#"[[gateway]] "other" allowed_ips: is missing"#,
        ),
    ] {
        let (code, said) = site.refused(&text);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(sentence), "{said}");
    }
    let different = gateway("endpoint = \"198.51.100.2:4780\"\nallowed_ips = [\"10.97.0.0/24\"]\n").replacen(
        "\"gateway\"",
        "\"station\"",
        1,
    ) + &format!(
        "[[gateway]]\nname = \"third\"\npublic_key = \"{}\"\nendpoint = \"198.51.100.3:4780\"\nallowed_ips = [\"10.96.0.0/24\"]\n",
        site.key("third")
    );
    let (code, said) = site.refused(&different);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(r#"[[gateway]] "third" allowed_ips: differ from those of "other""#), "{said}");
}
