// Beginnings that were computed before: a tree whose nodes are full blocks of the KV cache. A child is found by its sixteen tokens, compared one by
// one: there is no hash that could be equal for others. Requests of another salt begin at another root. A node holds its block beside the
// sequences that use it; when the cache is full the leaf goes that was used longest ago. Source: Zheng et al. 2024, RadixAttention.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <diecast/backend/block_table.hpp>

namespace diecast {

class PrefixCache {
  struct Node;

 public:
  // How far a sequence's blocks are in the tree. The sequence must hold them as long as its place is used.
  struct Place {
    std::string salt{};
    Node* node = nullptr;
    int blocks = 0;
  };

  explicit PrefixCache(BlockTable& table) : table_(&table) {}
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;
  ~PrefixCache() { clear(); }

  int blocks() const { return static_cast<int>(by_use_.size()); }

  // An empty sequence takes the longest known beginning of the ids, of whole blocks and without the last id, whose logits are needed.
  Place join(int sequence, const std::string& salt, std::span<const int> ids) {
    Place place{salt};
    advance(place, sequence, ids);
    return place;
  }
  // The same in the middle, for a sequence whose blocks are all full and known: perhaps others have gone on from there meanwhile.
  void advance(Place& place, int sequence, std::span<const int> ids) {
    if (table_->length(sequence) != place.blocks * BlockTable::block_tokens) return;
    std::vector<int> blocks;
    const auto root = roots_.find(place.salt);
    Children* children = place.node ? &place.node->children : root == roots_.end() ? nullptr : &root->second;
    for (; children && (static_cast<std::size_t>(place.blocks) + 1) * size < ids.size(); ++place.blocks) {
      const auto found = children->find(tokens_of(ids, static_cast<std::size_t>(place.blocks)));
      if (found == children->end()) break;
      place.node = found->second.get();
      blocks.push_back(place.node->block);
      children = &place.node->children;
    }
    if (blocks.empty()) return;
    table_->share(sequence, blocks);
    touch(place.node);
  }

  // The sequence's full blocks that hold these ids become known; more may lie behind them. Where another has computed the same, that block takes the own one's place.
  void extend(Place& place, int sequence, std::span<const int> ids) {
    const int full = (std::min)(table_->length(sequence), static_cast<int>(ids.size())) / BlockTable::block_tokens;
    if (place.blocks >= full) return;
    for (; place.blocks < full; ++place.blocks) {
      const auto index = static_cast<std::size_t>(place.blocks);
      const auto root = place.node ? roots_.end() : roots_.try_emplace(place.salt).first;
      Children& children = place.node ? place.node->children : root->second;
      const auto [child, is_new] = children.try_emplace(tokens_of(ids, index));
      if (is_new) {
        const int block = table_->blocks_of(sequence)[index];
        child->second = std::make_unique<Node>(Node{place.node, place.node ? nullptr : &root->first, &child->first, block, {}, {}});
        by_use_.push_front(child->second.get());
        child->second->use = by_use_.begin();
        table_->keep(block);
      } else {
        table_->replace(sequence, place.blocks, child->second->block);
      }
      place.node = child->second.get();
    }
    touch(place.node);
  }

  // Gives one block up that no sequence holds; whether there was one.
  bool evict() {
    if (table_->idle_blocks() == 0) return false;
    for (auto use = by_use_.rbegin(); use != by_use_.rend(); ++use)
      if ((*use)->children.empty() && table_->holders((*use)->block) == 1) {
        forget(*use);
        return true;
      }
    return false;
  }

  void clear() {
    while (!by_use_.empty()) forget(by_use_.back());
  }

 private:
  static constexpr std::size_t size = BlockTable::block_tokens;
  using Tokens = std::array<int, size>;
  using Children = std::map<Tokens, std::unique_ptr<Node>>;
  struct Node {
    Node* parent;
    const std::string* salt;  // of a child of a root
    const Tokens* tokens;
    int block;
    Children children;
    std::list<Node*>::iterator use;
  };

  static Tokens tokens_of(std::span<const int> ids, std::size_t block) {
    Tokens tokens;
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(block * size), size, tokens.begin());
    return tokens;
  }

  // A parent was always used later than its children: the last in the list is a leaf.
  void touch(Node* node) {
    for (; node; node = node->parent) by_use_.splice(by_use_.begin(), by_use_, node->use);
  }

  void forget(Node* node) {
    table_->drop(node->block);
    by_use_.erase(node->use);
    if (node->parent) {
      node->parent->children.erase(node->parent->children.find(*node->tokens));
    } else {
      const auto root = roots_.find(*node->salt);
      root->second.erase(root->second.find(*node->tokens));
      if (root->second.empty()) roots_.erase(root);
    }
  }

  BlockTable* table_;
  std::map<std::string, Children> roots_;  // by salt
  std::list<Node*> by_use_;                // the latest first
};

}  // namespace diecast
