// What each unit knows of the others, as vectors of counts.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fault.hpp"
#include "unit.hpp"

namespace pto::host {

// A run of an instruction on a unit.
struct Stamp {
    pipe_t unit;
    uint32_t time;
    // Complete before any later instruction is handed out: S reads only.
    bool at_once;
};

class Clocks {
public:
    // A unit begins an instruction.
    Stamp begin(pipe_t unit, bool only_reads) { return {unit, ++runs_[at(unit)], unit == PIPE_S && only_reads}; }

    // Whether a unit knows that a run is complete.
    bool knows(pipe_t unit, const Stamp &run) const {
        return run.at_once || known_[at(unit)].runs[at(run.unit)] >= run.time;
    }

    // A unit has handed on its instruction.
    void end(const Stamp &run) {
        if (completes_in_order(run.unit)) {
            known_[at(run.unit)].runs[at(run.unit)] = run.time;
        }
    }

    void barrier(pipe_t unit) {
        if (unit != PIPE_ALL) {
            known_[at(unit)].runs[at(unit)] = runs_[at(unit)];
            return;
        }
        known_.fill({runs_, waits_});
    }

    // Happens when all earlier instructions of `from` are complete.
    void set(pipe_t from, pipe_t to, int id, Site site) {
        Flag &flag = find(from, to, id, site);
        if (flag.set) {
            wrong("event-set-twice", flag, {from, to, id}, "is set while it is set", site);
        }
        if (known_[at(from)].waits[at(to)] < flag.last_wait) {
            wrong("event-set-early", flag, {from, to, id},
                  "is set again and its setter does not know that the wait is past", site);
        }
        flag.then = known_[at(from)];
        flag.then.runs[at(from)] = runs_[at(from)];
        flag.then.waits[at(from)] = waits_[at(from)];
        flag.set = true;
        flag.site = site;
    }

    // Holds back `to` until the event, and clears it.
    void wait(pipe_t from, pipe_t to, int id, Site site) {
        Flag &flag = find(from, to, id, site);
        if (!flag.set) {
            wrong("event-not-set", flag, {from, to, id}, "is waited for and not set", site);
        }
        flag.set = false;
        flag.last_wait = ++waits_[at(to)];
        flag.site = site;
        known_[at(to)].waits[at(to)] = flag.last_wait;
        // S hands out the instructions of all units, so all know what it learns.
        for (int unit = 0; unit < units; ++unit) {
            if (to == PIPE_S || unit == to) {
                known_[at(unit)].learn(flag.then);
                known_[at(unit)].waits[at(to)] = flag.last_wait;
            }
        }
    }

    // No event is set at the end of a kernel.
    void finish() const {
        for (int place = 0; place < units * units * events; ++place) {
            const Flag &flag = flags_[static_cast<size_t>(place)];
            if (flag.set) {
                const int pair = place / events;
                wrong("event-left-set", flag,
                      {static_cast<pipe_t>(pair / units), static_cast<pipe_t>(pair % units), place % events},
                      "is left set at the end", flag.site);
            }
        }
    }

private:
    using Counts = std::array<uint32_t, units>;

    // Runs and waits of each unit that are known to be complete.
    struct Clock {
        Counts runs{};
        Counts waits{};

        void learn(const Clock &more) {
            for (size_t unit = 0; unit < runs.size(); ++unit) {
                runs[unit] = runs[unit] > more.runs[unit] ? runs[unit] : more.runs[unit];
                waits[unit] = waits[unit] > more.waits[unit] ? waits[unit] : more.waits[unit];
            }
        }
    };

    struct Flag {
        bool set = false;
        Clock then{};
        uint32_t last_wait = 0;
        // Where it was set or waited for last.
        Site site{nullptr, 0};
    };

    static size_t at(int unit) { return static_cast<size_t>(unit); }

    // An event by the place of its flag.
    struct Event {
        pipe_t from, to;
        int id;

        void say(std::string &text) const { host::say(text, {"event ", name_of(from), "->", name_of(to), " ", id}); }
    };

    [[noreturn]] static void wrong(const char *rule, const Flag &flag, const Event &event, const char *what,
                                   Site site) {
        if (flag.site.file == nullptr) {
            fault(rule, {event, " ", what, " (", site, ")"});
        }
        fault(rule,
              {event, " ", what, " (", site, "); the last to ", flag.set ? "set" : "wait for", " it is ", flag.site});
    }

    Flag &find(pipe_t from, pipe_t to, int id, Site site) {
        const bool pair = from >= 0 && to >= 0 && from < units && to < units && from != to;
        if (!pair) {
            fault("event", {"an event of a unit with itself or with all does not exist (", site, ")"});
        }
        if (id < 0 || id >= events) {
            fault("event", {Event{from, to, id}, " does not exist (", site, ")"});
        }
        return flags_[static_cast<size_t>((from * units + to) * events + id)];
    }

    std::array<Clock, units> known_{};
    Counts runs_{};
    Counts waits_{};
    std::array<Flag, static_cast<size_t>(units * units * events)> flags_{};
};

}  // namespace pto::host
