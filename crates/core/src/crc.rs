//! CRC-32 checksum of journal blocks and of link frames.

/// CRC-32 of IEEE 802.3 over `bytes`: it detects every burst error of up to 32 bits. On the air its least significant
/// byte is sent first.
pub fn crc32<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u32 {
    !bytes.into_iter().fold(!0, |crc: u32, &byte| crc >> 8 ^ TABLE[(crc as u8 ^ byte) as usize])
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_standard() {
        // The "check" of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"12345".iter().chain(b"6789")), 0xcbf4_3926);
        assert_eq!(crc32([]), 0);
    }
}
