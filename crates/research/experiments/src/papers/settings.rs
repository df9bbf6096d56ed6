//! Settings of the papers that stand as constants in crates that know no register, and the path of cells.

use overhear::knowledge::OverheardFractions;
use published::policy::PAPER_K;
use published::shim::paper::FIELD_BYTES;

use crate::cell::Capacity;
use crate::papers;

#[test]
fn constants_of_byte_caching_are_the_papers() {
    let stated = |id| papers::BYTE_CACHING.value(id).number().get();
    assert_eq!(f64::from(PAPER_K), stated("table-2/k"));
    let fields = [
        "section-3.b/field-fingerprint",
        "section-3.b/field-offset-new",
        "section-3.b/field-offset-stored",
        "section-3.b/field-length",
    ];
    assert_eq!(FIELD_BYTES as f64, fields.map(stated).iter().sum::<f64>());
    let rate = papers::BYTE_CACHING.value("section-3.c/link-rate").number().thousands().get();
    assert_eq!(f64::from(Capacity::PAPER.rate_kilobytes), rate);
}

#[test]
fn constants_of_refactor_are_the_papers() {
    let stated = |id| papers::REFACTOR.value(id).number().get();
    let fractions = OverheardFractions::default();
    assert_eq!(fractions.to_24_mbit, stated("table-1/6-24mbps"));
    assert_eq!(fractions.at_36_mbit, stated("table-1/36mbps"));
    assert_eq!(fractions.at_48_mbit, stated("table-1/48mbps"));
    assert_eq!(fractions.at_54_mbit, stated("table-1/54mbps"));
    assert_eq!(OverheardFractions::NEARER, stated("section-3.2.1/v-overheard"));
}
