// Texts of faults, put together in one place: what instructions say of themselves costs little to compile.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "code.hpp"

namespace pto::host {

// A part of a text: words, a number, or what has `void say(std::string&) const`.
class Piece {
public:
    Piece(const char *words) : value_(words), say_(say_words) {}
    Piece(const std::string &words) : value_(words.c_str()), say_(say_words) {}
    template <typename N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>
    Piece(N number) : number_(static_cast<double>(number)), say_(nullptr) {}
    template <typename T, typename = decltype(std::declval<const T &>().say(std::declval<std::string &>()))>
    Piece(const T &value) : value_(&value), say_(say_value<T>) {}

    PTO_HOST_CODE void say(std::string &text) const {
        if (say_ != nullptr) {
            say_(text, value_);
            return;
        }
        char digits[32];
        // Numbers of bytes and elements are exact in `double`.
        std::snprintf(digits, sizeof digits, "%.15g", number_);
        text += digits;
    }

private:
    static void say_words(std::string &text, const void *value) { text += static_cast<const char *>(value); }
    template <typename T>
    static void say_value(std::string &text, const void *value) {
        static_cast<const T *>(value)->say(text);
    }

    const void *value_ = nullptr;
    double number_ = 0;
    void (*say_)(std::string &, const void *);
};

using Pieces = std::initializer_list<Piece>;

[[gnu::cold]] PTO_HOST_APART void say(std::string &text, Pieces pieces) {
    for (const Piece &piece : pieces) {
        piece.say(text);
    }
}

}  // namespace pto::host
