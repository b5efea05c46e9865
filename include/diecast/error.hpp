// The one exception of the library: a sentence that says what is wrong, with both values, and where.
#pragma once

#include <stdexcept>
#include <string>

namespace diecast {

// Who can mend it decides the exit status of a program: 2 for the user (a wrong file, a wrong option), 1 for anything else.
enum class Blame { user, program };

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence, Blame blame = Blame::user) : std::runtime_error(sentence), blame_(blame) {}
  Blame blame() const noexcept { return blame_; }

 private:
  Blame blame_;
};

}  // namespace diecast
