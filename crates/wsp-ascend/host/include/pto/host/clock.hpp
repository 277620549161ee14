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
    int unit;
    uint32_t time;
    // Complete before any later instruction of its core is handed out: S reads only.
    bool at_once;

    pipe_t pipe() const { return static_cast<pipe_t>(unit % pipes); }
};

class Clocks {
public:
    // What follows is run by this core of a task for both.
    PTO_HOST_CODE void on(Side side) {
        side_ = side;
        both_ = true;
    }

    // Whether a task is for both cores, and this one runs what belongs to the other.
    bool is_other(Side side) const { return both_ && side != side_; }
    Side side() const { return side_; }

    // A unit of the running core begins an instruction.
    PTO_HOST_CODE Stamp begin(pipe_t pipe, bool only_reads) {
        const int unit = own(pipe);
        return {unit, ++runs_[at(unit)], pipe == PIPE_S && only_reads};
    }

    // Whether a unit knows that a run is complete.
    PTO_HOST_CODE bool knows(int unit, const Stamp &run) const {
        return (run.at_once && same_core(unit, run.unit)) || known_[at(unit)].runs[at(run.unit)] >= run.time;
    }

    // A unit has handed on its instruction.
    PTO_HOST_CODE void end(const Stamp &run) {
        if (completes_in_order(run.unit)) {
            known_[at(run.unit)].runs[at(run.unit)] = run.time;
        }
    }

    PTO_HOST_CODE void barrier(pipe_t pipe) {
        if (pipe != PIPE_ALL) {
            known_[at(own(pipe))].runs[at(own(pipe))] = runs_[at(own(pipe))];
            return;
        }
        Clock all{};
        for (int one = 0; one < pipes; ++one) {
            all.learn(complete(own(static_cast<pipe_t>(one))));
        }
        for (int one = 0; one < pipes; ++one) {
            known_[at(own(static_cast<pipe_t>(one)))].learn(all);
        }
    }

    // Happens when all earlier instructions of `from` are complete.
    void set(pipe_t from, pipe_t to, int id, Site site) { set({side_, from, to, id}, site); }

    // Holds back `to` until the event, and clears it.
    void wait(pipe_t from, pipe_t to, int id, Site site) { wait({side_, from, to, id}, site); }

    // An event for the other core, which any of its units may wait for.
    void set_between(pipe_t from, int id, Site site) { set({side_, from, PIPE_ALL, id}, site); }

    PTO_HOST_CODE void wait_between(pipe_t to, int id, Site site) {
        wait({side_ == Side::Cube ? Side::Vector : Side::Cube, PIPE_ALL, to, id}, site);
    }

    // No event is set at the end of a kernel.
    PTO_HOST_CODE void finish() const {
        for (const Flag &flag : flags_) {
            if (flag.set) {
                wrong("event-left-set", flag, flag.event, "is left set at the end", flag.site);
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

    // An event by the core that sets it, and its units; of one between cores, the unit of the other core is `PIPE_ALL`.
    struct Event {
        Side by;
        pipe_t from, to;
        int id;

        bool is_between() const { return from == PIPE_ALL || to == PIPE_ALL; }
        void say(std::string &text) const {
            if (is_between()) {
                host::say(text, {"event ", id, " of the ", name_of(by)});
            } else {
                host::say(text, {"event ", name_of(from), "->", name_of(to), " ", id});
            }
        }
    };

    struct Flag {
        bool set = false;
        Clock then{};
        // Who waited for it last, and the number of that wait there.
        int waiter = 0;
        uint32_t last_wait = 0;
        // Where it was set or waited for last, and as what.
        Site site{nullptr, 0};
        Event event{};
    };

    static size_t at(int unit) { return static_cast<size_t>(unit); }
    int own(pipe_t pipe) const { return unit_of(side_, pipe); }

    // What holds when all that a unit was given is complete.
    PTO_HOST_CODE Clock complete(int unit) const {
        Clock clock = known_[at(unit)];
        clock.runs[at(unit)] = runs_[at(unit)];
        clock.waits[at(unit)] = waits_[at(unit)];
        return clock;
    }

    PTO_HOST_CODE void set(const Event &event, Site site) {
        Flag &flag = find(event, site);
        const int from = own(event.from);
        if (flag.set) {
            wrong("event-set-twice", flag, event, "is set while it is set", site);
        }
        if (known_[at(from)].waits[at(flag.waiter)] < flag.last_wait) {
            wrong("event-set-early", flag, event, "is set again and its setter does not know that the wait is past",
                  site);
        }
        flag.then = complete(from);
        flag.set = true;
        flag.site = site;
        flag.event = event;
    }

    PTO_HOST_CODE void wait(const Event &event, Site site) {
        Flag &flag = find(event, site);
        const int to = own(event.to);
        if (!flag.set) {
            wrong("event-not-set", flag, event, "is waited for and not set", site);
        }
        // Of two units that wait for one event, both may be held back when it is set.
        if (known_[at(to)].waits[at(flag.waiter)] < flag.last_wait) {
            wrong("event-wait-early", flag, event, "may be taken while another unit still waits for it", site);
        }
        flag.set = false;
        flag.waiter = to;
        flag.last_wait = ++waits_[at(to)];
        flag.site = site;
        known_[at(to)].waits[at(to)] = flag.last_wait;
        // S hands out the instructions of all units of its core, so all know what it learns.
        for (int unit = 0; unit < units; ++unit) {
            if (unit == to || (is_scalar(to) && same_core(unit, to))) {
                known_[at(unit)].learn(flag.then);
                known_[at(unit)].waits[at(to)] = flag.last_wait;
            }
        }
    }

    [[noreturn]] PTO_HOST_CODE static void wrong(const char *rule, const Flag &flag, const Event &event, const char *what,
                                   Site site) {
        if (flag.site.file == nullptr) {
            fault(rule, {event, " ", what, " (", site, ")"});
        }
        fault(rule,
              {event, " ", what, " (", site, "); the last to ", flag.set ? "set" : "wait for", " it is ", flag.site});
    }

    PTO_HOST_CODE Flag &find(const Event &event, Site site) {
        const auto [by, from, to, id] = event;
        const bool between = event.is_between();
        const pipe_t other = from == PIPE_ALL ? to : from;
        const bool pair = between ? other >= 0 && other < pipes
                                  : from >= 0 && to >= 0 && from < pipes && to < pipes && from != to;
        if (!pair) {
            fault("event", {"an event of a unit with itself or with all does not exist (", site, ")"});
        }
        if (id < 0 || id >= (between ? events_between : events)) {
            fault("event", {event, " does not exist (", site, ")"});
        }
        const int side = static_cast<int>(by);
        return flags_[at(between ? sides * pipes * pipes * events + side * events_between + id
                                 : ((side * pipes + from) * pipes + to) * events + id)];
    }

    Side side_ = Side::Vector;
    bool both_ = false;
    std::array<Clock, units> known_{};
    Counts runs_{};
    Counts waits_{};
    std::array<Flag, static_cast<size_t>(sides * (pipes * pipes * events + events_between))> flags_{};
};

}  // namespace pto::host
