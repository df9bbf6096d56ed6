use super::*;

fn rules(exceptions: &[&str]) -> Destinations {
    Destinations {
        ports: ["80", "1025-65535"].iter().map(|ports| ports.parse::<Ports>().unwrap()).collect(),
        connect_ports: Ports::from(vec![443]),
        exceptions: exceptions.iter().map(|text| text.parse().unwrap()).collect(),
    }
}

async fn judged(rules: &Destinations, address: &str) -> Result<(), Refused> {
    let address: IpAddr = address.parse().unwrap();
    rules.judge((address, 80).into(), By::Http).await
}

#[tokio::test]
async fn nobody_is_led_to_addresses_that_mean_this_machine_its_link_or_many() {
    use Kind::{LinkLocal, Loopback, Metadata, Multicast, Reserved, Unspecified};
    for (address, kind) in [
        ("127.0.0.1", Loopback),
        ("127.255.255.254", Loopback),
        ("::1", Loopback),
        ("0.0.0.0", Unspecified),
        ("0.1.2.3", Unspecified),
        ("::", Unspecified),
        ("169.254.169.254", LinkLocal),
        ("fe80::1", LinkLocal),
        ("febf::1", LinkLocal),
        ("224.0.0.1", Multicast),
        ("239.255.255.255", Multicast),
        ("255.255.255.255", Multicast),
        ("ff02::1", Multicast),
        ("240.0.0.1", Reserved),
        ("100.100.100.200", Metadata),
        ("168.63.129.16", Metadata),
        ("192.0.0.192", Metadata),
        ("fd00:ec2::254", Metadata),
    ] {
        assert_eq!(judged(&rules(&[]), address).await, Err(Refused::Address(kind)), "{address}");
    }
}

#[tokio::test]
async fn an_ipv4_address_inside_an_ipv6_one_is_judged_too() {
    for (address, kind) in [
        ("::ffff:127.0.0.1", Kind::Loopback),
        ("::ffff:169.254.169.254", Kind::LinkLocal),
        ("::127.0.0.1", Kind::Loopback),
        ("::ffff:0:127.0.0.1", Kind::Loopback),
        ("64:ff9b::127.0.0.1", Kind::Loopback),
        ("64:ff9b::169.254.169.254", Kind::LinkLocal),
        ("64:ff9b:1::127.0.0.1", Kind::Loopback),
        ("64:ff9b:1:7f00:0:100::", Kind::Loopback),
        ("64:ff9b:1:aa7f:0:1::", Kind::Loopback),
        ("64:ff9b:1:aaaa:7f:0:100:0", Kind::Loopback),
        ("64:ff9b:1::", Kind::Unspecified),
        ("2002:7f00:1::1", Kind::Loopback),
        ("2002:a9fe:a9fe::", Kind::LinkLocal),
        ("2001:0:7f00:1:0:ffff:a5a5:a5a5", Kind::Loopback),
        // The client is 127.0.0.1, inverted.
        ("2001:0:5a5a:5a5a:0:ffff:80ff:fffe", Kind::Loopback),
    ] {
        assert_eq!(judged(&rules(&[]), address).await, Err(Refused::Address(kind)), "{address}");
    }
}

#[tokio::test]
async fn private_and_public_addresses_are_led_to() {
    for address in [
        "10.255.1.2",
        "172.31.255.9",
        "192.168.255.9",
        "100.64.255.9",
        "192.0.2.1",
        "198.51.100.1",
        "fd77::9",
        "2001:db8::1",
        "64:ff9b::192.0.2.1",
        "64:ff9b:1::10.255.1.2",
        "64:ff9b:1:c000:2:100::",
        "2002:c000:201::1",
    ] {
        assert_eq!(judged(&rules(&[]), address).await, Ok(()), "{address}");
    }
}

#[tokio::test]
async fn this_machines_own_addresses_are_known_whatever_interface_has_them() {
    // 127.0.0.1 is the only own address on every machine; another rule covers it.
    assert_eq!(own::kind_of("127.0.0.1".parse().unwrap()), Some(Kind::Own));
    assert_eq!(own::kind_of("127.9.9.9".parse().unwrap()), Some(Kind::Own));
    assert_eq!(own::kind_of("192.0.2.1".parse().unwrap()), None);
}

#[tokio::test]
async fn exceptions_permit_networks_and_single_servers() {
    let rules = rules(&["127.0.0.0/8", "169.254.1.1", "[::1]:631", "10.255.0.1:22"]);
    let led = async |to: &str, by| rules.judge(to.parse().unwrap(), by).await;
    assert_eq!(led("127.0.0.1:80", By::Http).await, Ok(()));
    assert_eq!(led("[::ffff:127.0.0.1]:8080", By::Http).await, Ok(()));
    assert_eq!(led("127.0.0.1:22", By::Http).await, Err(Refused::Port), "a network has the usual ports");
    assert_eq!(led("169.254.1.1:80", By::Http).await, Ok(()));
    assert_eq!(led("169.254.1.2:80", By::Http).await, Err(Refused::Address(Kind::LinkLocal)));
    assert_eq!(led("[::1]:631", By::Connect).await, Ok(()), "a server has its own");
    assert_eq!(led("[::1]:80", By::Http).await, Err(Refused::Address(Kind::Loopback)));
    assert_eq!(led("10.255.0.1:22", By::Http).await, Ok(()));
    assert_eq!(rules.judge_port(22, By::Http), Ok(()), "somewhere");
    assert_eq!(rules.judge_port(25, By::Http), Err(Refused::Port));
}

#[tokio::test]
async fn ports_are_those_that_are_named() {
    let rules = rules(&[]);
    let led = async |port, by| rules.judge(SocketAddr::new([10, 255, 1, 2].into(), port), by).await;
    for port in [80, 1025, 8080, 65535] {
        assert_eq!(led(port, By::Http).await, Ok(()), "{port}");
    }
    for port in [1, 22, 25, 443, 1024] {
        assert_eq!(led(port, By::Http).await, Err(Refused::Port), "{port}");
        assert_eq!(led(port, By::Taken).await, Ok(()), "it is one of those that are taken");
    }
    assert_eq!((led(443, By::Connect).await, led(80, By::Connect).await), (Ok(()), Err(Refused::Port)));
}

#[test]
fn what_is_no_port_is_refused() {
    for bad in ["", "0", "0-5", "9-8", "80-", "-80", "65536", "a", "1-2-3"] {
        assert_eq!(bad.parse::<Ports>(), Err(NoPorts), "{bad:?}");
    }
    for bad in ["", "localhost", "10.0.0.0/33", "10.0.0.1:", "::1:80:x"] {
        assert_eq!(bad.parse::<Exception>(), Err(NoException), "{bad:?}");
    }
}
