// What signals mean to the programs: a closed pipe is an error with a sentence of its own where it is written to, and a file that became shorter while it
// was mapped (or whose disk fails) is one sentence and the end, since nobody could go on with half of a model.
#pragma once

#include <csignal>

#include <unistd.h>

namespace diecast::tools {

inline void take_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGBUS, [](int) {
    constexpr char sentence[] = "a file that is in use cannot be read any more: it became shorter than it was when it was opened, or its disk failed\n";
    if (::write(2, sentence, sizeof sentence - 1) < 0) ::_exit(1);
    ::_exit(2);
  });
}

}  // namespace diecast::tools
