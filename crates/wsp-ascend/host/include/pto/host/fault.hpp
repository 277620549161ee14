// Faults of a run.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "text.hpp"

// State of one library: packages that are libraries of one process have theirs each.
#define PTO_HOST_STATE __attribute__((visibility("hidden")))

namespace pto::host {

// Where a kernel says something.
struct Site {
    const char *file;
    int line;

    void say(std::string &text) const { host::say(text, {file, ":", line}); }
};

// Thrown where a driver records faults.
struct Fault {
    std::string text;
};

// What a fault does: it ends the program with code 3, or is thrown to the driver.
enum class OnFault { Exit, Record };
PTO_HOST_STATE inline OnFault on_fault = OnFault::Exit;

// A rule is broken. The text begins with the word of the rule.
[[noreturn, gnu::cold]] PTO_HOST_APART void fault(const char *rule, Pieces pieces) {
    std::string text;
    say(text, {"fault [", rule, "]: "});
    say(text, pieces);
    if (on_fault == OnFault::Record) {
        throw Fault{text};
    }
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(3);
}

}  // namespace pto::host

// The place of a call, as the last parameter of a function.
#define PTO_HOST_SITE ::pto::host::Site site = {__builtin_FILE(), __builtin_LINE()}
