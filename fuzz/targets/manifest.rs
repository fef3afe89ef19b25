//! A manifest as `mxjob lint`, `plan` and `run` read it: any bytes are judged, and what is said of
//! them has a place.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mxjob_operator::fuzzing::manifest(bytes));
