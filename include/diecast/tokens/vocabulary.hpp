// What a tokenizer knows about each id, whichever its family: how the vocabulary spells it, what it writes, whether it is a control token.
// Checks the tables of a file: every claim in them is compared with what is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/arrays.hpp>
#include <diecast/files/model.hpp>
#include <diecast/text.hpp>
#include <diecast/tokens/strings.hpp>

namespace diecast {

class Vocabulary {
 public:
  explicit Vocabulary(const TokenizerTables& tables) : pieces_(tables.pieces.size(), total(tables.pieces)), control_(std::vector<std::uint8_t>(tables.pieces.size())) {
    const std::size_t count = tables.pieces.size();
    if (count == 0) throw Error("the tokenizer has no pieces");
    if (count > static_cast<std::size_t>((std::numeric_limits<int>::max)())) throw Error("the tokenizer has more than 2^31 pieces");
    if (!tables.kinds.empty() && tables.kinds.size() != count) {
      throw Error("the tokenizer has " + std::to_string(count) + " pieces, but " + std::to_string(tables.kinds.size()) + " token types");
    }
    for (const std::string& piece : tables.pieces) pieces_.push_back(piece.copy(pieces_.room(), piece.size()));
    for (std::size_t id = 0; id < tables.kinds.size(); ++id) control_.own()[id] = tables.kinds[id] == TokenKind::control;
    for (const AddedToken& token : tables.added) {
      check_id("the added token " + in_quotes(token.content), token.id);
      if (token.special) control_.own()[static_cast<std::size_t>(token.id)] = true;
    }
    check_ids(tables);
  }

  // As save() left it; `tables` have everything but the pieces and their kinds.
  Vocabulary(const TokenizerTables& tables, ArrayReader& from) : pieces_(from), control_(from.get<std::uint8_t>("the control tokens")) {
    if (pieces_.size() == 0 || pieces_.size() > static_cast<std::size_t>((std::numeric_limits<int>::max)()) || control_.size() != pieces_.size())
      from.fail("it has " + std::to_string(pieces_.size()) + " pieces and says of " + std::to_string(control_.size()) + " whether they are control tokens");
    for (const AddedToken& token : tables.added) check_id("the added token " + in_quotes(token.content), token.id);
    check_ids(tables);
  }
  void save(ArrayWriter& to) const {
    pieces_.save(to);
    to.put(control_.all());
  }

  int size() const { return static_cast<int>(control_.size()); }
  std::string_view piece(int id) const { return pieces_[index(id)]; }
  bool is_control(int id) const { return control_[index(id)] != 0; }

  std::size_t bytes() const { return pieces_.bytes(); }  // of all pieces as they are spelled

  std::size_t index(int id) const {
    if (id < 0 || id >= size()) check_id("a token", id);
    return static_cast<std::size_t>(id);
  }

 private:
  static std::size_t total(const std::vector<std::string>& pieces) {
    std::size_t bytes = 0;
    for (const std::string& piece : pieces) bytes += piece.size();
    return bytes;
  }
  void check_ids(const TokenizerTables& tables) const {
    check_id("the BOS token", tables.bos.value_or(0));
    check_id("the EOS token", tables.eos.value_or(0));
    check_id("the unknown token", tables.unknown.value_or(0));
    check_id("the padding token", tables.pad.value_or(0));
  }
  void check_id(std::string_view what, int id) const {
    if (id < 0 || id >= size()) throw Error(std::string(what) + " has the id " + std::to_string(id) + ", but ids go from 0 to " + std::to_string(size() - 1));
  }

  Strings pieces_;
  Array<std::uint8_t> control_;  // by id: 1 where it is one
};

}  // namespace diecast
