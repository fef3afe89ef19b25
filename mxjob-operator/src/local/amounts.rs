//! Times and sizes as a person reads them.

use std::time::Duration;

/// `0.4 s`, `12.3 s`, `2 min 5 s`, `3 h 7 min`.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// As [`time`], in whole seconds: for what changes before one's eyes.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        self::time(time)
    }
}

/// `112 MiB`, `3.4 GiB`.
pub(super) fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    if bytes < 1024 * MIB {
        format!("{} MiB", bytes.div_ceil(MIB))
    } else {
        let tenths = bytes / (1024 * MIB / 10);
        format!("{}.{} GiB", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_well() {
        let texts =
            [400, 12_345, 59_960, 125_000, 11_220_000].map(|ms| time(Duration::from_millis(ms)));
        assert_eq!(
            texts,
            ["0.4 s", "12.3 s", "60.0 s", "2 min 5 s", "3 h 7 min"]
        );
        assert_eq!(clock(Duration::from_millis(12_900)), "12 s");
        assert_eq!(
            [1, 112 << 20, 3500 << 20].map(size),
            ["1 MiB", "112 MiB", "3.4 GiB"]
        );
    }
}
