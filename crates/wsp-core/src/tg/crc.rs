//! The checksum of binary forms: CRC-32 of IEEE 802.3, as zip, gzip and PNG have it.

use crc32fast::Hasher;

/// The checksum of bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The checksum of bytes as if the four from `at` were zero.
pub fn crc32_without(bytes: &[u8], at: usize) -> u32 {
    let (before, rest) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
    let mut hasher = Hasher::new();
    hasher.update(before);
    if let Some((_, behind)) = rest.split_at_checked(4) {
        hasher.update(&[0; 4]);
        hasher.update(behind);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, bit by bit: reflected polynomial 0xEDB88320, all ones before and after.
    fn bitwise(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, &byte| {
            (0..8)
                .fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(crc & 1)))
        })
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        let bytes: [u8; 1023] = core::array::from_fn(|at| (at * 7 + 3) as u8);
        for len in [0, 1, 3, 15, 16, 17, 200, 1023] {
            assert_eq!(crc32(&bytes[..len]), bitwise(&bytes[..len]), "{len} bytes");
        }
    }

    #[test]
    fn four_bytes_can_be_left_out_of_account() {
        let mut bytes = *b"abcdefghijklmnop";
        let without = crc32_without(&bytes, 5);
        bytes[5..9].copy_from_slice(b"WXYZ");
        assert_eq!(crc32_without(&bytes, 5), without);
        bytes[5..9].fill(0);
        assert_eq!(crc32(&bytes), without);
    }
}
