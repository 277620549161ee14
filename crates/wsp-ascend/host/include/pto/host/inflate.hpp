// Deflated bytes, as archives hold them, and the checksum of archives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pto::host {

// The most bytes that one deflated byte becomes.
constexpr uint64_t max_inflation = 1032;

// The CRC-32 of archives; `before` is that of the bytes that stand before these.
inline uint32_t checksum(const uint8_t *bytes, size_t size, uint32_t before = 0) {
    static const std::array<uint32_t, 256> table = [] {
        std::array<uint32_t, 256> made{};
        for (uint32_t byte = 0; byte < made.size(); ++byte) {
            uint32_t value = byte;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value & 1) != 0 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
            }
            made[byte] = value;
        }
        return made;
    }();
    uint32_t sum = ~before;
    for (size_t at = 0; at < size; ++at) {
        sum = table[(sum ^ bytes[at]) & 0xFF] ^ (sum >> 8);
    }
    return ~sum;
}

// Reads one deflated stream. Whatever the bytes are, it ends: with what they hold, or with the word for what is wrong.
class Inflater {
public:
    Inflater(const uint8_t *bytes, size_t size) : bytes_(bytes), size_(size) {}

    // All that the stream holds, which are `size` bytes; null, or what is wrong.
    const char *read(std::vector<uint8_t> &out, size_t size) {
        out.clear();
        out.reserve(size);
        out_ = &out;
        most_ = size;
        for (bool last = false; !last && fault_ == nullptr;) {
            last = bits(1) != 0;
            block(bits(2));
        }
        if (fault_ == nullptr && at_ != size_) {
            wrong("bytes follow the deflated ones");
        }
        if (fault_ == nullptr && out.size() != size) {
            wrong("fewer bytes are deflated than the table of contents says");
        }
        return fault_;
    }

private:
    static constexpr unsigned max_length = 15;
    static constexpr unsigned literals = 288;
    static constexpr unsigned distances = 30;

    // Codes by length: how many there are of each, and their symbols in order.
    struct Codes {
        std::array<uint16_t, max_length + 1> count{};
        std::array<uint16_t, literals> symbol{};
    };

    void wrong(const char *what) {
        if (fault_ == nullptr) {
            fault_ = what;
        }
    }

    // The next bits, the first the lowest; 0 behind the end.
    uint32_t bits(unsigned count) {
        while (held_ < count) {
            if (at_ == size_) {
                wrong("the deflated bytes end too early");
                return 0;
            }
            bits_ |= static_cast<uint32_t>(bytes_[at_++]) << held_;
            held_ += 8;
        }
        const uint32_t value = bits_ & ((1u << count) - 1);
        bits_ >>= count;
        held_ -= count;
        return value;
    }

    void put(uint8_t byte) {
        if (out_->size() == most_) {
            wrong("more bytes are deflated than the table of contents says");
            return;
        }
        out_->push_back(byte);
    }

    void block(uint32_t kind) {
        switch (kind) {
        case 0: return stored();
        case 1: return fixed();
        case 2: return dynamic();
        default: return wrong("a deflated block is of no known kind");
        }
    }

    void stored() {
        bits_ = held_ = 0;
        const uint32_t length = bits(16);
        if (bits(16) != (length ^ 0xFFFF)) {
            return wrong("the length of a stored block is damaged");
        }
        for (uint32_t byte = 0; byte < length && fault_ == nullptr; ++byte) {
            put(static_cast<uint8_t>(bits(8)));
        }
    }

    void fixed() {
        std::array<uint8_t, literals> lengths{};
        for (unsigned symbol = 0; symbol < literals; ++symbol) {
            lengths[symbol] = symbol < 144 || symbol >= 280 ? 8 : symbol < 256 ? 9 : 7;
        }
        Codes literal, distance;
        build(literal, lengths.data(), literals);
        lengths.fill(5);
        // Two codes of distances mean nothing, and are there.
        build(distance, lengths.data(), distances + 2);
        symbols(literal, distance);
    }

    void dynamic() {
        static constexpr uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
        const unsigned literal_count = bits(5) + 257, distance_count = bits(5) + 1, count = bits(4) + 4;
        if (literal_count > 286 || distance_count > distances) {
            return wrong("a deflated block has too many codes");
        }
        std::array<uint8_t, literals + distances> lengths{};
        for (unsigned code = 0; code < count; ++code) {
            lengths[order[code]] = static_cast<uint8_t>(bits(3));
        }
        Codes code, literal, distance;
        build(code, lengths.data(), sizeof order);
        lengths.fill(0);
        for (unsigned at = 0; at < literal_count + distance_count && fault_ == nullptr;) {
            const unsigned symbol = next(code);
            const bool repeats = symbol == 16;
            if (repeats && at == 0) {
                return wrong("a deflated block repeats a length before the first");
            }
            const uint8_t value = repeats ? lengths[at - 1] : symbol < 16 ? static_cast<uint8_t>(symbol) : uint8_t{0};
            unsigned rounds = symbol < 16 ? 1 : repeats ? 3 + bits(2) : symbol == 17 ? 3 + bits(3) : 11 + bits(7);
            if (rounds > literal_count + distance_count - at) {
                return wrong("a deflated block has too many lengths");
            }
            for (; rounds > 0; --rounds) {
                lengths[at++] = value;
            }
        }
        build(literal, lengths.data(), literal_count);
        build(distance, lengths.data() + literal_count, distance_count);
        symbols(literal, distance);
    }

    // The codes of these lengths. Fewer than fit are taken where the one that is there is the only one.
    void build(Codes &codes, const uint8_t *lengths, unsigned count) {
        for (unsigned symbol = 0; symbol < count; ++symbol) {
            ++codes.count[lengths[symbol]];
        }
        const unsigned used = count - codes.count[0];
        codes.count[0] = 0;
        int left = 1;
        std::array<uint16_t, max_length + 2> first{};
        for (unsigned length = 1; length <= max_length; ++length) {
            left = 2 * left - codes.count[length];
            first[length + 1] = static_cast<uint16_t>(first[length] + codes.count[length]);
            if (left < 0) {
                return wrong("a deflated block has more codes than fit");
            }
        }
        if (left > 0 && used > 1) {
            return wrong("a deflated block has fewer codes than fit");
        }
        for (unsigned symbol = 0; symbol < count; ++symbol) {
            if (lengths[symbol] != 0) {
                codes.symbol[first[lengths[symbol]]++] = static_cast<uint16_t>(symbol);
            }
        }
    }

    unsigned next(const Codes &codes) {
        uint32_t code = 0, first = 0, index = 0;
        for (unsigned length = 1; length <= max_length && fault_ == nullptr; ++length) {
            code |= bits(1);
            const uint32_t count = codes.count[length];
            if (code - first < count) {
                return codes.symbol[index + (code - first)];
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        wrong("a deflated block holds no known code");
        return 0;
    }

    void symbols(const Codes &literal, const Codes &distance) {
        static constexpr uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                   31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
        static constexpr uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                  2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
        static constexpr unsigned end = 256;
        while (fault_ == nullptr) {
            const unsigned symbol = next(literal);
            if (symbol == end || fault_ != nullptr) {
                return;
            }
            if (symbol < end) {
                put(static_cast<uint8_t>(symbol));
                continue;
            }
            const unsigned kind = symbol - end - 1;
            if (kind >= sizeof length_bits) {
                return wrong("a deflated block holds no known length");
            }
            const size_t length = length_base[kind] + bits(length_bits[kind]);
            copy(length, next(distance));
        }
    }

    // Distances double with every second kind.
    void copy(size_t length, unsigned kind) {
        const unsigned extra = kind < 2 ? 0 : kind / 2 - 1;
        if (kind >= distances) {
            return wrong("a deflated block holds no known distance");
        }
        const size_t distance = kind < 4 ? kind + 1 : ((2 + (kind & 1)) << extra) + 1 + bits(extra);
        if (distance > out_->size()) {
            return wrong("deflated bytes repeat what stands before the first");
        }
        for (; length > 0 && fault_ == nullptr; --length) {
            put((*out_)[out_->size() - distance]);
        }
    }

    const uint8_t *bytes_;
    size_t size_;
    size_t at_ = 0;
    uint32_t bits_ = 0;
    unsigned held_ = 0;
    std::vector<uint8_t> *out_ = nullptr;
    size_t most_ = 0;
    const char *fault_ = nullptr;
};

}  // namespace pto::host
