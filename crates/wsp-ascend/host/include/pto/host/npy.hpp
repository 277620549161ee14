// Arrays, and their form in numpy's `.npy` files.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace pto::host {

struct Array {
    std::string name;
    // The type of elements, as in the table below.
    std::string descr;
    // Extents, the outermost first.
    std::vector<uint64_t> shape;
    // Elements row by row, little-endian.
    std::vector<uint8_t> bytes;
};

// A type of elements: its name in programs, what numpy calls it, and what numpy calls it with the types of ml_dtypes.
// The last is read too, and not written.
struct ElementType {
    const char *name;
    const char *descr;
    const char *named;
    size_t bytes;
};

constexpr ElementType element_types[] = {
    {"f32", "<f4", "", 4}, {"f64", "<f8", "", 8}, {"f16", "<f2", "", 2},
    {"i8", "|i1", "", 1},  {"i16", "<i2", "", 2}, {"i32", "<i4", "", 4},
    {"i64", "<i8", "", 8}, {"u8", "|u1", "", 1},  {"u16", "<u2", "", 2},
    {"u32", "<u4", "", 4}, {"u64", "<u8", "", 8}, {"bool", "|b1", "", 1},
    {"bf16", "<u2", "|V2", 2}, {"f8e4m3", "|u1", "|V1", 1}, {"f8e5m2", "<f1", "", 1},
};

// The type with this name in programs; null for none.
inline const ElementType *element_type(std::string_view name) {
    const auto found = std::find_if(std::begin(element_types), std::end(element_types),
                                    [&](const ElementType &type) { return name == type.name; });
    return found == std::end(element_types) ? nullptr : found;
}

// Whether an array holds elements of a type, or their bits.
inline bool holds(const Array &array, const ElementType &type) {
    return array.descr == type.descr || (*type.named != 0 && array.descr == type.named);
}

// The bytes of an element; 0 for what no type is called.
inline size_t element_bytes(std::string_view descr) {
    for (const ElementType &type : element_types) {
        if (descr == type.descr || (*type.named != 0 && descr == type.named)) {
            return type.bytes;
        }
    }
    return 0;
}

// The elements of a shape; false when 64 bits do not hold their bytes.
inline bool bytes_of(const std::vector<uint64_t> &shape, size_t element, uint64_t &bytes) {
    bytes = element;
    for (const uint64_t extent : shape) {
        if (extent != 0 && bytes > UINT64_MAX / extent) {
            return false;
        }
        bytes *= extent;
    }
    return true;
}

// A shape in a text.
inline std::string shown(const std::vector<uint64_t> &shape) {
    std::string text = "(";
    for (size_t d = 0; d < shape.size(); ++d) {
        text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
    }
    return text + (shape.size() == 1 ? ",)" : ")");
}

// Does what may need more memory than there is.
template <typename F>
bool with_memory(const std::string &what, std::string &fault, const F &work) {
    try {
        return work();
    } catch (const std::bad_alloc &) {
        say(fault, {"there is not enough memory for ", what});
        return false;
    }
}

// The line of a file that describes its array: a Python dictionary.
class NpyHeader {
public:
    std::string descr;
    bool fortran = false;
    std::vector<uint64_t> shape;

    // Reads it; false when it is none, with what was expected.
    bool parse(std::string_view text, std::string &expected) {
        rest_ = text;
        bool seen[3] = {};
        if (!take('{')) {
            return miss(expected, "`{`");
        }
        while (!take('}')) {
            std::string key;
            if (!string(key) || !take(':')) {
                return miss(expected, "a key");
            }
            if (key == "descr") {
                seen[0] = type();
            } else if (key == "fortran_order") {
                seen[1] = boolean();
            } else if (key == "shape") {
                seen[2] = extents();
            } else {
                return miss(expected, "descr, fortran_order or shape");
            }
            if (!seen[key == "descr" ? 0 : key == "shape" ? 2 : 1]) {
                return miss(expected, key == "shape" ? "at most 64 extents of at most 64 bits" : "a value");
            }
            if (!take(',') && rest_.substr(0, 1) != "}") {
                return miss(expected, "`,` or `}`");
            }
        }
        return (seen[0] && seen[1] && seen[2]) || miss(expected, "descr, fortran_order and shape");
    }

private:
    static constexpr size_t max_rank = 64;

    static bool miss(std::string &expected, const char *what) {
        expected = what;
        return false;
    }

    void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

    bool take(char one) {
        skip();
        const bool found = !rest_.empty() && rest_[0] == one;
        rest_.remove_prefix(found ? 1 : 0);
        skip();
        return found;
    }

    bool take(std::string_view word) {
        const bool found = rest_.substr(0, word.size()) == word;
        rest_.remove_prefix(found ? word.size() : 0);
        return found;
    }

    bool string(std::string &text) {
        const char quote = take('\'') ? '\'' : take('"') ? '"' : '\0';
        const size_t end = quote == '\0' ? std::string_view::npos : rest_.find(quote);
        if (end == std::string_view::npos) {
            return false;
        }
        text = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return true;
    }

    bool boolean() {
        fortran = take("True");
        return fortran || take("False");
    }

    // What is no string is the list of a structured type.
    bool type() {
        if (string(descr)) {
            return true;
        }
        const size_t end = rest_.rfind(']');
        if (rest_.empty() || rest_[0] != '[' || end == std::string_view::npos) {
            return false;
        }
        descr = rest_.substr(0, end + 1);
        rest_.remove_prefix(end + 1);
        return true;
    }

    bool extents() {
        shape.clear();
        if (!take('(')) {
            return false;
        }
        while (!take(')')) {
            uint64_t extent = 0;
            if (shape.size() == max_rank || !number(extent)) {
                return false;
            }
            shape.push_back(extent);
            if (!take(',') && rest_.substr(0, 1) != ")") {
                return false;
            }
        }
        return true;
    }

    bool number(uint64_t &value) {
        size_t digits = 0;
        for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
            const uint64_t digit = static_cast<uint64_t>(rest_[digits] - '0');
            if (value > (UINT64_MAX - digit) / 10) {
                return false;
            }
            value = value * 10 + digit;
        }
        rest_.remove_prefix(digits);
        // As Python 2 wrote long numbers.
        take("L");
        return digits > 0;
    }

    std::string_view rest_;
};

// Reads and writes the bytes of a `.npy` file.
class Npy {
public:
    // Takes an array from bytes; the name stays as it is. False with the fault, which `what` begins: an array in Fortran
    // order or in big-endian bytes is converted.
    static bool read(const std::string &what, std::string_view bytes, Array &array, std::string &fault) {
        NpyHeader header;
        bool swapped = false;
        if (!read_header(what, bytes, header, fault) || !known_type(what, header, swapped, fault)) {
            return false;
        }
        const size_t element = element_bytes(header.descr);
        uint64_t need = 0;
        if (!bytes_of(header.shape, element, need) || need != bytes.size()) {
            say(fault, {what, " is damaged: its header says ", shown(header.shape), " of `", header.descr, "`, and ",
                        bytes.size(), " bytes follow; write it again"});
            return false;
        }
        array.descr = header.descr;
        array.shape = header.shape;
        array.bytes.assign(bytes.begin(), bytes.end());
        if (swapped) {
            for (auto at = array.bytes.begin(); at != array.bytes.end(); at += static_cast<std::ptrdiff_t>(element)) {
                std::reverse(at, at + static_cast<std::ptrdiff_t>(element));
            }
        }
        if (header.fortran) {
            to_rows(array, element);
        }
        return true;
    }

    // What stands before the elements of an array.
    static std::string header_of(const Array &array) {
        std::string text = "{'descr': '" + array.descr + "', 'fortran_order': False, 'shape': " + shown(array.shape) + ", }";
        text.resize((fixed + text.size() + 1 + align - 1) / align * align - fixed - 1, ' ');
        text += '\n';
        std::string header("\x93NUMPY\x01\x00", 8);
        header += static_cast<char>(text.size() & 0xFF);
        header += static_cast<char>(text.size() >> 8);
        return header + text;
    }

    // Whether an array can be written; else the fault.
    static bool check(const Array &array, std::string &fault) {
        const size_t element = element_bytes(array.descr);
        uint64_t need = 0;
        const bool fits = element != 0 && array.shape.size() <= 64 && bytes_of(array.shape, element, need);
        if (!fits || need != array.bytes.size()) {
            say(fault, {"array `", array.name, "` cannot be written: ", array.bytes.size(), " bytes are not ",
                        shown(array.shape), " of `", array.descr, "`"});
            return false;
        }
        return true;
    }

private:
    // Bytes before the line, and to a multiple of what the whole is filled up.
    static constexpr size_t fixed = 10;
    static constexpr size_t align = 64;
    static constexpr size_t max_header = 1 << 16;

    // Takes the header from the front of the bytes.
    static bool read_header(const std::string &what, std::string_view &bytes, NpyHeader &header, std::string &fault) {
        if (bytes.substr(0, 6) != "\x93NUMPY" || bytes.size() < fixed) {
            const char *help = bytes.substr(0, 2) == "PK" ? "it is an archive: read it as `.npz`" : "write it with `numpy.save`";
            say(fault, {what, " is not in numpy's `.npy` format; ", help});
            return false;
        }
        const unsigned version = static_cast<uint8_t>(bytes[6]);
        const size_t digits = version == 1 ? 2 : 4;
        size_t length = 0;
        for (size_t at = 0; at < digits && 8 + digits <= bytes.size(); ++at) {
            length |= static_cast<size_t>(static_cast<uint8_t>(bytes[8 + at])) << (8 * at);
        }
        const size_t left = bytes.size() - std::min(bytes.size(), 8 + digits);
        std::string expected;
        if (version < 1 || version > 3) {
            say(fault, {what, " has format version ", version, "; versions 1 to 3 are read"});
        } else if (length > std::min(left, max_header)) {
            say(fault, {what, " is damaged: its header says that it has ", length, " bytes, and ", left, " follow"});
        } else if (!header.parse(bytes.substr(8 + digits, length), expected)) {
            say(fault, {what, " is damaged: ", expected, " expected in its header"});
        } else {
            bytes.remove_prefix(8 + digits + length);
            return true;
        }
        say(fault, {"; write it again with `numpy.save`"});
        return false;
    }

    // Brings the type to the form of the table.
    static bool known_type(const std::string &what, NpyHeader &header, bool &swapped, std::string &fault) {
        std::string_view kind = header.descr;
        swapped = kind.substr(0, 1) == ">";
        if (!kind.empty() && std::strchr("<>|=", kind[0]) != nullptr) {
            kind.remove_prefix(1);
        }
        for (const ElementType &type : element_types) {
            for (const char *descr : {type.descr, type.named}) {
                if (!kind.empty() && *descr != 0 && kind == descr + 1) {
                    header.descr = descr;
                    return true;
                }
            }
        }
        const std::string found = header.descr.substr(0, 100);
        say(fault, {what, " holds elements of type `", found, "`; booleans, numbers of 8 to 64 bits and ml_dtypes' bfloat16, "
                    "float8_e4m3fn and float8_e5m2 are read"});
        return false;
    }

    // Brings an array, of which the first index goes fastest, to the order of rows.
    static void to_rows(Array &array, size_t element) {
        std::vector<uint8_t> rows(array.bytes.size());
        std::vector<uint64_t> index(array.shape.size());
        size_t from = 0;
        for (size_t to = 0; to < rows.size(); to += element) {
            std::copy_n(array.bytes.begin() + static_cast<std::ptrdiff_t>(from), element,
                        rows.begin() + static_cast<std::ptrdiff_t>(to));
            // The next element of the row, and where it stands.
            for (size_t d = index.size(); d-- > 0 && ++index[d] == array.shape[d];) {
                index[d] = 0;
            }
            from = 0;
            for (size_t d = index.size(); d-- > 0;) {
                from = from * array.shape[d] + index[d];
            }
            from *= element;
        }
        array.bytes = std::move(rows);
    }
};

}  // namespace pto::host
