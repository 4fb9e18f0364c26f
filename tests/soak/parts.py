"""The parts of `make soak`: the long forms of what `make test` samples. A new one is a row of PARTS.

A part is a command that exits with 0, with 77 when it cannot run here, or with anything else when it failed. Lines of its
output that tests/soak/run keeps:

  figure: TEXT                what was measured
  skipped: REASON             why it, or a part of it, could not run
  tried again: REASON         what was repeated inside it
"""
import collections

# settings: {variable of the environment: its full value}; the environment of tests/soak/run may have others.
# program: the build whose sonde is driven. Tests that look for their tools beside sonde need "dev".
Part = collections.namedtuple("Part", "name shows settings command program", defaults=["release"])

PARTS = (
    Part("record_places", "every one of many short processes is in the recording of a machine",
         {"PROCESSES": "10000"}, ["tests/integration/record_places_test", "Short.test_short_processes"]),
    Part("hub", "no consumer misses an event, or gets it twice, while sessions are exchanged under load",
         {"EXCHANGES": "300"}, ["tests/integration/hub_test", "ExchangeTest.test_sessions_are_exchanged_under_load"]),
    Part("counters", "every number is the one that Microsoft's client reads, also of the sample service under load",
         {}, ["tests/interop/counters_test", "30", "shop"], "dev"),
    Part("store_kill", "the store has all that it acknowledged after kills, and a day of 256 processes goes in without growth",
         {"KILLS": "10000", "REPLAY_SECONDS": "86400"}, ["tests/integration/store_kill_test"]),
    Part("many_targets", "one controller watches many runtimes, each every second",
         {"TARGETS": "256", "ROUNDS": "20"}, ["tests/apart", "tests/integration/many_targets_test"]),
    Part("short_lives", "no short program hangs because it is watched, beside as many that are not",
         {"STARTS": "10000", "CONTROL": "10000"}, ["tests/apart", "tests/integration/short_lives_test"], "dev"),
    Part("home", "a browser's tab with live charts does not grow",
         {"SONDE_MINUTES": "60"}, ["tests/apart", "tests/browser/home_test", "do not grow"], "dev"),
    Part("history", "charts of the past, in steps of several intervals, are what was measured",
         {"SONDE_HISTORY_SECONDS": "1200"}, ["tests/apart", "tests/browser/history_test", "an hour"], "dev"),
    Part("trace_names", "a trace has its names when its target is killed late",
         {"DEATH_SECONDS": "60"}, ["tests/integration/trace_names_test", "Names.test_tiering_is_busy",
                                   "Names.test_hot_code_without_an_event_that_names_it"]),
    Part("stacks_snapshots", "looks at the stacks of a busy process hurt neither side, and show what can be",
         {"LOOKS": "100000"}, ["tests/integration/stacks_snapshots_test"]),
    Part("shop_illness", "each illness of the sample service is shown by its command, on each runtime",
         {"SICK_SECONDS": "60", "SICK_MAJORS": "8 9 10"}, ["tests/integration/shop_illness_test"]),
    Part("nth", "unit tests live on whichever call of malloc, read, write, mmap or pthread_create fails", {}, ["tests/nth/soak"]),
    Part("controller_kill", "a controller that is killed again and again keeps what it acknowledged, and begins by itself",
         {"KILLS": "1000"}, ["tests/apart", "tests/integration/controller_kill_test"]),
    Part("races", "the thread sanitizer sees no race in unit tests and under the suites of the controller", {}, ["tests/soak/races"]),
    Part("sessions", "sessions that kill -9 dropped leave a runtime as it was",
         {"SESSIONS": "10000"}, ["tests/soak/sessions"]),
    Part("same_bytes", "a whole build in another folder, and all that is given away, are the same bytes",
         {"SAME_BYTES": "all"}, ["tests/integration/same_bytes_test"]),
)
