#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzzing::olsrv2_routes::check(bytes);
});
