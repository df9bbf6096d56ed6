#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzzing::unit_contents::check(bytes);
});
