//! Whether a radio of this machine supports monitor mode.

use super::{Finding, State};

pub fn examine() -> Vec<Finding> {
    let (state, detail) = match io::radio::radios() {
        Ok(radios) if radios.is_empty() => (State::Absent, "no radio that nl80211 knows".to_owned()),
        Ok(radios) => {
            let named: Vec<String> = radios
                .iter()
                .map(|radio| {
                    format!(
                        "{} {}",
                        radio.name,
                        if radio.can_monitor { "can monitor" } else { "cannot monitor" }
                    )
                })
                .collect();
            (radios.iter().any(|radio| radio.can_monitor).into(), named.join(", "))
        }
        Err(error) => (State::Unknown, error.to_string()),
    };
    let finding = Finding::new("radio that can monitor", state, detail).without(
        "this machine overhears no one's frames on Wi-Fi; the tunnel works over any link",
        "a Wi-Fi adapter whose driver has monitor mode (`iw list` shows it)",
    );
    vec![finding]
}
