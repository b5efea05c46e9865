// Steps 3-5 on a device: a context's buffers, and one launch after another for each forward. The parameters of every launch are made once;
// what changes from step to step (rows, positions, where the cache's blocks are) lies in device memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/backend/layer_view.hpp>
#include <diecast/cuda/device_array.hpp>
#include <diecast/cuda/device_weights.hpp>
#include <diecast/cuda/door.hpp>
#include <diecast/cuda/plan.hpp>
#include <diecast/cuda/shape_of.hpp>
#include <diecast/cuda/step_arrays.hpp>
#include <diecast/kernels/model_shape.hpp>
#include <diecast/kernels/whole_token.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast::cuda {

template <kernels::ModelShape m, class CacheElement, class Device>
class DeviceContext final : public OnDevice {
 public:
  using Operations = kernels::ModelOperations<m, CacheElement>;

  DeviceContext(std::shared_ptr<Device> device, std::shared_ptr<const Spec> spec, std::shared_ptr<const DeviceWeights<Device>> weights,
                Capacity capacity, int tokens, Ways ways)
      : device_(std::move(device)),
        spec_(std::move(spec)),
        weights_(std::move(weights)),
        table_(tokens),
        capacity_(capacity),
        step_(device_, capacity.rows, table_.blocks()),
        ways_(ways) {
    capacity_.positions = (std::min)(table_.capacity(), spec_->context);
    const BufferSizes sizes = buffer_sizes<m, CacheElement>(capacity_, table_.blocks());
    for (auto& hidden : hidden_) hidden = {device_, "hidden", sizes.hidden};
    branch_ = {device_, "branch", sizes.branch};
    queries_ = {device_, "queries", sizes.queries};
    projected_ = {device_, "projected", sizes.projected};
    attended_ = {device_, "attended", sizes.attended};
    inner_ = {device_, "inner", sizes.inner};
    partials_ = {device_, "partials", sizes.partials};
    arrivals_ = {device_, "arrivals", std::span<const std::uint32_t>(std::vector<std::uint32_t>(sizes.arrivals))};
    logits_there_ = {device_, "logits", sizes.logits};
    best_ = {device_, "best", static_cast<std::size_t>(capacity.rows)};
    for (int layer = 0; layer < spec_->layers; ++layer) {
      keys_.emplace_back(device_, "keys", sizes.cache);
      values_.emplace_back(device_, "values", sizes.cache);
    }
    make_parameters();
  }

  BlockTable& table() override { return table_; }

  Logits forward(std::span<const Row> rows, Trace* trace = nullptr) override {
    check_rows(*spec_, table_, rows);
    for (const Row& row : rows) table_.append(row.sequence);
    logits_.clear();
    best_ids_.clear();
    for (std::size_t begin = 0; begin < rows.size(); begin += static_cast<std::size_t>(capacity_.rows))
      pass(rows.subspan(begin, (std::min)(rows.size() - begin, static_cast<std::size_t>(capacity_.rows))), trace);
    return {logits_, m.vocab};
  }

  std::vector<std::vector<int>> generate(std::span<const Row> rows, int tokens, std::span<const int> stop_ids) override {
    return generate(rows, tokens, stop_ids, {});
  }
  // drawings: how each row's ids are chosen (cuda/drawing.hpp); none: all are greedy.
  std::vector<std::vector<int>> generate(std::span<const Row> rows, int tokens, std::span<const int> stop_ids,
                                         std::span<const kernels::Drawing> drawings) {
    if (!drawings.empty() && drawings.size() != rows.size())
      throw Error(std::to_string(drawings.size()) + " ways to draw are given for " + std::to_string(rows.size()) + " rows", Blame::program);
    if (rows.size() > static_cast<std::size_t>(capacity_.rows))
      throw Error("one launch continues " + std::to_string(capacity_.rows) + " sequences at most, not " + std::to_string(rows.size()),
                  Blame::program);
    std::vector<Row> all;
    for (const Row& row : rows)
      for (int i = 0; i < tokens; ++i) all.push_back({row.id, row.position + i, row.sequence, true});
    check_rows(*spec_, table_, all);
    for (const Row& row : all) table_.append(row.sequence);
    std::vector<Row> first(rows.begin(), rows.end());
    for (Row& row : first) row.logits = true;
    step_.write(table_, first);
    run_whole(static_cast<int>(rows.size()), tokens, stop_ids, drawings);
    std::vector<int> written(rows.size() * static_cast<std::size_t>(tokens));
    ids_.read(written);
    std::vector<std::vector<int>> answers(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (int token = 0; token < tokens; ++token) {
        const int id = written[static_cast<std::size_t>(token) * rows.size() + row];
        if (id == -2)
          throw Error("the logits of step " + std::to_string(token) +
                      " leave no token that can be drawn: the weights in the model file are damaged");
        if (id < 0) break;
        answers[row].push_back(id);
        if (std::find(stop_ids.begin(), stop_ids.end(), id) != stop_ids.end()) break;
      }
      table_.truncate(rows[row].sequence, rows[row].position + static_cast<int>(answers[row].size()));
    }
    return answers;
  }

  void begin(std::span<const Row> rows) override {
    check_rows(*spec_, table_, rows);
    for (const Row& row : rows) table_.append(row.sequence);
    began_.asked = step_.write(table_, rows);
    began_.rows = static_cast<int>(rows.size());
    began_.longest = 0;
    for (const Row& row : rows) began_.longest = (std::max)(began_.longest, row.position + 1);
  }
  std::vector<kernels::Stage> layer_stages() const override {
    std::vector<kernels::Stage> stages;
    for (int i = order.layer_begin; i < order.layer_end; ++i) stages.push_back(order.at[i].stage);
    return stages;
  }
  void run(kernels::Stage stage, int layer) override {
    launch_stage(stage, layer, Grids<m, CacheElement>(capacity_, began_.rows, began_.longest));
  }
  std::vector<float> read(kernels::Place place) const override {
    const int heads = m.heads.heads * m.heads.head_dim;
    switch (place) {
      case kernels::hidden:
        return values_of(hidden_[0], began_.rows, m.hidden);
      case kernels::other_hidden:
        return values_of(hidden_[1], began_.rows, m.hidden);
      case kernels::branch:
        return values_of(branch_, began_.rows, m.hidden);
      case kernels::queries:
        return values_of(queries_, began_.rows, heads);
      case kernels::projected:
        return values_of(projected_, began_.rows, Operations::ProjectQkv::width);
      case kernels::attended:
        return values_of(attended_, began_.rows, heads);
      case kernels::inner:
        return values_of(inner_, began_.rows, m.mlp.width);
      case kernels::logits:
        return values_of(logits_there_, began_.asked, m.vocab);
      default:
        throw Error("place " + std::to_string(static_cast<unsigned>(place)) + " holds no rows of floats", Blame::program);
    }
  }
  std::vector<float> cached(int layer, bool keys, int sequence, int count) const override {
    using Layout = typename Operations::Attention::Layout;
    const auto& cache = (keys ? keys_ : values_)[static_cast<std::size_t>(layer)];
    std::vector<CacheElement> head(static_cast<std::size_t>(m.heads.head_dim));
    std::vector<float> out;
    for (int position = 0; position < count; ++position)
      for (int kv = 0; kv < m.heads.kv_heads; ++kv) {
        cache.read(head, static_cast<std::size_t>(Layout::offset(static_cast<std::int64_t>(table_.slot(sequence, position)), kv)));
        for (const CacheElement value : head) out.push_back(kernels::to_float(value));
      }
    return out;
  }
  double cache_rounding() const override {
    return std::is_same_v<CacheElement, float> ? 0.0 : std::is_same_v<CacheElement, kernels::Half> ? 0x1p-11 : 0x1p-8;
  }

  // Keys and values of a layer, layer after layer.
  std::size_t block_bytes() const override { return 2 * static_cast<std::size_t>(spec_->layers) * block_values * sizeof(CacheElement); }
  void read_block(int block, std::span<std::byte> to) const override {
    std::vector<CacheElement> one(block_values);
    for (std::size_t i = 0; i < 2 * keys_.size(); ++i) {
      cache_of(i).read(one, static_cast<std::size_t>(block) * block_values);
      std::memcpy(to.data() + i * block_values * sizeof(CacheElement), one.data(), block_values * sizeof(CacheElement));
    }
  }
  void write_block(int block, std::span<const std::byte> from) override {
    std::vector<CacheElement> one(block_values);
    for (std::size_t i = 0; i < 2 * keys_.size(); ++i) {
      std::memcpy(one.data(), from.data() + i * block_values * sizeof(CacheElement), block_values * sizeof(CacheElement));
      cache_of(i).write(one, static_cast<std::size_t>(block) * block_values);
    }
  }
  std::string block_layout() const override { return "device, elements of " + std::to_string(8 * sizeof(CacheElement)) + " bits"; }

  // The ids of the greatest logits, as the device chose them, in the order of the last forward's asking rows.
  std::span<const int> best_ids() const { return best_ids_; }

 private:
  static constexpr kernels::Schedule order = kernels::make_schedule(m, 1);  // which stage follows which
  static constexpr std::size_t block_values =                              // of a block of the cache, K or V of one layer
      static_cast<std::size_t>(m.heads.kv_heads) * kernels::cache_block_tokens * static_cast<std::size_t>(Operations::Attention::Layout::stride);
  struct Began {
    int rows = 0, asked = 0, longest = 0;
  };

  DeviceArray<CacheElement, Device>& cache_of(std::size_t i) { return (i % 2 == 0 ? keys_ : values_)[i / 2]; }
  const DeviceArray<CacheElement, Device>& cache_of(std::size_t i) const { return (i % 2 == 0 ? keys_ : values_)[i / 2]; }

  static std::vector<float> values_of(const DeviceArray<float, Device>& array, int rows, int width) {
    std::vector<float> values(array.size() == 0 ? 0 : static_cast<std::size_t>(rows) * static_cast<std::size_t>(width));
    array.read(values);
    return values;
  }

  void pass(std::span<const Row> rows, Trace* trace) {
    const int asked = step_.write(table_, rows);
    int longest = 0;
    for (const Row& row : rows) longest = (std::max)(longest, row.position + 1);
    const Grids<m, CacheElement> grids(capacity_, static_cast<int>(rows.size()), longest);
    if (ways_.tensor_cores && static_cast<int>(rows.size()) >= kernels::tile_rows / 2) {
      prefill(static_cast<int>(rows.size()), grids);
      if (asked > 0) {
        device_->template launch<typename Operations::Head>(grids.head, head_);
        read_head(asked);
      }
      return;
    }
    if (ways_.whole) {
      run_whole(static_cast<int>(rows.size()), 1, {}, {});
      if (asked > 0) read_head(asked);
      return;
    }
    {
      const Trace::Scope span(trace, "embed");
      launch_stage(kernels::Stage::embed, 0, grids);
    }
    for (int layer = 0; layer < spec_->layers; ++layer) {
      const Trace::Scope span(trace, "block", layer);
      for (int i = order.layer_begin; i < order.layer_end; ++i) launch_stage(order.at[i].stage, layer, grids);
    }
    if (asked == 0) return;
    const Trace::Scope span(trace, "head");
    launch_stage(kernels::Stage::head, 0, grids);
    read_head(asked);
  }

  void read_head(int asked) {
    const std::size_t before = logits_.size(), count = static_cast<std::size_t>(asked) * static_cast<std::size_t>(m.vocab);
    logits_.resize(before + count);
    logits_there_.read(std::span<float>(logits_).subspan(before));
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(asked));
    best_.read(keys);
    for (const std::uint64_t key : keys) best_ids_.push_back(kernels::best_id(key));
  }

  // One launch for all layers, and for as many tokens as are asked: the kernel's arrays of the rows' ends and ids.
  void run_whole(int rows, int tokens, std::span<const int> stop_ids, std::span<const kernels::Drawing> drawings) {
    using Whole = kernels::WholeToken<m, CacheElement>;
    const std::size_t count = static_cast<std::size_t>(rows);
    if (whole_layers_.size() == 0) whole_layers_ = {device_, "layers", std::span<const typename Operations::Layer>(layers_)};
    stop_ids_ = {device_, "stop ids", stop_ids};
    ids_ = {device_, "new ids", count * static_cast<std::size_t>(tokens)};
    ended_ = {device_, "ended", std::span<const int>(std::vector<int>(count))};
    counters_ = {device_, "counters", std::span<const std::uint32_t>(std::vector<std::uint32_t>(kernels::Schedule::most + 1))};
    int* const at = step_.rows.data();
    drawings_ = {device_, "drawings", drawings};
    drawn_ = {device_, "drawn", drawings.size()};
    typename Whole::Params params{kernels::make_schedule(m, capacity_.processors, !drawings.empty()),
                                  embed_,
                                  whole_layers_.data(),
                                  spec_->layers,
                                  head_,
                                  {head_.rows, head_.logits, head_.best, drawings_.data(), head_.drawable, drawn_.data()},
                                  tokens,
                                  stop_ids_.data(),
                                  static_cast<int>(stop_ids.size()),
                                  at + 2,
                                  at + 2 + capacity_.rows,
                                  ids_.data(),
                                  ended_.data(),
                                  counters_.data() + kernels::Schedule::most,
                                  counters_.data()};
    device_->template launch<Whole>(capacity_.processors, params);
  }

  // A prompt's layers: products and attention on tensor cores.
  void prefill(int rows, const Grids<m, CacheElement>& grids) {
    const int tiles = (rows + kernels::tile_rows - 1) / kernels::tile_rows,
              of_block = Grids<m, CacheElement>::warps * kernels::tile_outputs;
    const auto blocks = [&](int outputs) { return grid(capacity_, static_cast<std::int64_t>(ceil_divide(outputs, of_block)) * tiles, 1); };
    // Branches that are normalised are added first, so that what the product reads are hidden states.
    const auto settled = [&](auto params) {
      if constexpr (m.norm_after) {
        device_->template launch<typename Operations::AddBranch>(grid(capacity_, rows, Grids<m, CacheElement>::warps), {params.rows, params.stream});
        params.stream.hidden = params.stream.updated;
      }
      return params;
    };
    device_->template launch<typename Operations::Embed>(grids.embed, embed_);
    for (const typename Operations::Layer& layer : layers_) {
      const auto gate_up = [&] { device_->template launch<typename Operations::PrefillGateUp>(blocks(m.mlp.width), settled(layer.gate_up)); };
      if constexpr (Operations::fused_qkv) {
        device_->template launch<typename Operations::PrefillQkv>(blocks(Operations::ProjectQkv::width), settled(layer.qkv));
      } else {
        device_->template launch<typename Operations::PrefillProject>(blocks(Operations::ProjectQkv::width), settled(layer.project));
        device_->template launch<typename Operations::NormRopeAppend>(grids.norm_rope, layer.norm_rope);
      }
      if (m.branches == kernels::Branches::beside) gate_up();
      if constexpr (Operations::has_flash_attention) {
        using Flash = typename Operations::FlashAttention;
        device_->template launch<Flash>(grid(capacity_, ceil_divide(rows, Flash::token_rows) * Flash::parts, 1), layer.attention);
      } else {
        device_->template launch<typename Operations::Attention>(grids.attention, layer.attention);
      }
      device_->template launch<typename Operations::PrefillOutput>(blocks(m.hidden), layer.output);
      if (m.branches == kernels::Branches::in_order) gate_up();
      device_->template launch<typename Operations::PrefillDown>(blocks(m.hidden), layer.down);
    }
  }

  // The kernel of one stage, over the rows of the step.
  void launch_stage(kernels::Stage stage, int layer, const Grids<m, CacheElement>& grids) {
    const typename Operations::Layer* const at = &layers_[static_cast<std::size_t>(layer)];
    switch (stage) {
      case kernels::Stage::embed:
        return device_->template launch<typename Operations::Embed>(grids.embed, embed_);
      case kernels::Stage::qkv:
        if constexpr (Operations::fused_qkv) device_->template launch<typename Operations::QkvAppend>(grids.qkv, at->qkv);
        return;
      case kernels::Stage::project:
        if constexpr (!Operations::fused_qkv) device_->template launch<typename Operations::ProjectQkv>(grids.project, at->project);
        return;
      case kernels::Stage::norm_rope:
        if constexpr (!Operations::fused_qkv) device_->template launch<typename Operations::NormRopeAppend>(grids.norm_rope, at->norm_rope);
        return;
      case kernels::Stage::attention:
        return device_->template launch<typename Operations::Attention>(grids.attention, at->attention);
      case kernels::Stage::output:
        return device_->template launch<typename Operations::Output>(grids.output, at->output);
      case kernels::Stage::gate_up:
        return device_->template launch<typename Operations::GateUp>(grids.gate_up, at->gate_up);
      case kernels::Stage::down:
        return device_->template launch<typename Operations::Down>(grids.down, at->down);
      case kernels::Stage::head:
        return device_->template launch<typename Operations::Head>(grids.head, head_);
      case kernels::Stage::draw:
      case kernels::Stage::advance:
        return;  // parts of the kernel that runs whole tokens
    }
  }

  void make_parameters() {
    const kernels::TokenRows rows = step_.addresses();
    const kernels::PagedTable paged{step_.blocks.data(), step_.blocks_per_sequence};
    const Attention& a = spec_->attention;
    const auto scale = static_cast<float>(spec_->residual_scale.value_or(1.0));
    embed_ = {
        rows,        weights_->embedding, static_cast<float>(spec_->embedding_scale.value_or(1.0)), weights_->position, hidden_[0].data(),
        best_.data()};
    for (int number = 0; number < spec_->layers; ++number) {
      const auto at = static_cast<std::size_t>(number);
      const LayerAddresses& w = weights_->layers[at];
      const LayerView view = view_of(*spec_, number);
      const kernels::Angles angles = view.frequencies.empty() ? kernels::Angles{} : angles_of(view);
      const kernels::Cache<CacheElement> cache{keys_[at].data(), values_[at].data()};
      // Where branches are added by who reads them, attention's reader moves the hidden states to the other place and the MLP's moves them back.
      const float* before = number > 0 ? branch_.data() : nullptr;
      const kernels::Norm after = number > 0 ? weights_->layers[at - 1].after_mlp : kernels::Norm{};
      float* const second = m.norm_after ? hidden_[1].data() : nullptr;
      const kernels::Stream into_attention{hidden_[0].data(), w.attention_norm, before, after, scale, second};
      const kernels::Stream into_mlp{m.norm_after ? hidden_[1].data() : hidden_[0].data(),
                                     w.mlp_norm,
                                     branch_.data(),
                                     w.after_attention,
                                     scale,
                                     m.norm_after ? hidden_[0].data() : nullptr};
      float* const added = m.norm_after ? branch_.data() : hidden_[0].data();
      typename Operations::Layer layer{};
      layer.qkv = {rows, into_attention, w.q, w.k, w.v, angles, paged, cache, queries_.data()};
      layer.project = {rows, into_attention, w.q, w.k, w.v, projected_.data()};
      layer.norm_rope = {rows, projected_.data(), w.q_norm, w.k_norm, epsilon_of(spec_->norm), angles, paged, cache, queries_.data()};
      layer.attention = {rows,
                         queries_.data(),
                         paged,
                         cache,
                         attention_scale(a),
                         static_cast<float>(a.soft_cap.value_or(0.0)),
                         view.window.value_or(0),
                         most_chunks(capacity_.positions),
                         partials_.data(),
                         arrivals_.data(),
                         attended_.data()};
      layer.output = {rows, w.output, attended_.data(), added, scale};
      layer.gate_up = {rows, into_mlp, w.gate, w.up, inner_.data()};
      layer.down = {rows, w.down, inner_.data(), added, scale};
      layers_.push_back(layer);
    }
    const kernels::Norm after = weights_->layers.empty() ? kernels::Norm{} : weights_->layers.back().after_mlp;
    const kernels::Stream into_head{hidden_[0].data(), weights_->final_norm, branch_.data(), after, scale, nullptr};
    head_ = {rows,
             into_head,
             weights_->head,
             static_cast<float>(spec_->logit_divisor.value_or(1.0)),
             static_cast<float>(spec_->logit_soft_cap.value_or(0.0)),
             m.vocab,
             logits_there_.data(),
             best_.data()};
  }

  // Layers that turn in the same way share a table.
  kernels::Angles angles_of(const LayerView& view) {
    for (const auto& [frequencies, stretch, table] : angle_tables_)
      if (frequencies == view.frequencies && stretch == view.stretch) return {table->cosines.data(), table->sines.data()};
    if (static_cast<int>(view.frequencies.size()) != m.rotary.value / 2)
      throw Error("a layer turns " + std::to_string(2 * view.frequencies.size()) + " values of a head, others " +
                  std::to_string(m.rotary.value) + ": these kernels are compiled for one number");
    angle_tables_.push_back({view.frequencies, view.stretch, std::make_unique<AngleTable<Device>>(device_, view, capacity_.positions)});
    const AngleTable<Device>& made = *angle_tables_.back().table;
    return {made.cosines.data(), made.sines.data()};
  }

  struct Angle {
    std::vector<double> frequencies;
    double stretch;
    std::unique_ptr<AngleTable<Device>> table;
  };

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Spec> spec_;
  std::shared_ptr<const DeviceWeights<Device>> weights_;
  BlockTable table_;
  Capacity capacity_;
  StepArrays<Device> step_;
  Ways ways_;
  DeviceArray<float, Device> hidden_[2], branch_, queries_, projected_, attended_, inner_, partials_, logits_there_;
  DeviceArray<std::uint32_t, Device> arrivals_;
  DeviceArray<std::uint64_t, Device> best_;
  std::vector<DeviceArray<CacheElement, Device>> keys_, values_;
  std::vector<Angle> angle_tables_;
  typename Operations::Embed::Params embed_{};
  std::vector<typename Operations::Layer> layers_;
  typename Operations::Head::Params head_{};
  DeviceArray<typename Operations::Layer, Device> whole_layers_;
  DeviceArray<int, Device> stop_ids_, ids_, ended_, drawn_;
  DeviceArray<kernels::Drawing, Device> drawings_;
  DeviceArray<std::uint32_t, Device> counters_;
  std::vector<float> logits_;
  std::vector<int> best_ids_;
  Began began_;
};

}  // namespace diecast::cuda
