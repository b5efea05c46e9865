// The kernel that runs whole tokens: one block an SM, alive from the first embedding to the last sampled id. It goes through the stages of the
// schedule (schedule.hpp), calls the very operations of the single kernels, and waits only where the schedule says so. While a block waits, the
// weights of its next stage are on their way into shared memory. Layers and tokens are loops at run time; between tokens the best ids, or those
// drawn, become the next input, and stop ids end the loop, so the host is not asked.
#pragma once

#include <cstddef>
#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/load_struct.hpp>
#include <diecast/kernels/model_shape.hpp>
#include <diecast/kernels/schedule.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <ModelShape m, class CacheElement>
struct WholeToken {
  static constexpr int threads = m.team.threads;
  static constexpr bool cooperative = true;
  static constexpr Schedule order = make_schedule(m, 132);  // which stages follow each other is the same for any number of blocks
  static_assert(is_ordered(m, order), "two stages meet at one place in memory without an order between them");
  static_assert(finishes(order, 132, 1), "stages wait for each other in a circle");
  using Operations = ModelOperations<m, CacheElement>;

  struct Params {
    Schedule schedule;  // for as many blocks as the launch has
    typename Operations::Embed::Params embed;
    const typename Operations::Layer* layers;  // [layer_count]
    int layer_count;
    typename Operations::Head::Params head;
    typename Operations::Draw::Params draw;  // drawings null: all rows take their best ids, and the schedule has no draw
    int tokens;           // how many at most, for each row
    const int* stop_ids;  // [stop_count] a row ends with any of them
    int stop_count;
    int* ids;                  // [row] of the token rows: the input, replaced after each token
    int* positions;            // [row] of the token rows
    int* out;                  // [token, row] ids; -1 after a row's end, -2 where no id could be drawn
    int* ended;                // [row] 0 before, 1 after a stop id
    std::uint32_t* remaining;  // [1] rows that go on
    std::uint32_t* arrived;    // [Schedule::most] 0 before
  };
  union Shared {
    typename Operations::QkvAppend::Shared qkv;
    typename Operations::ProjectQkv::Shared project;
    typename Operations::Attention::Shared attention;
    typename Operations::Output::Shared output;
    typename Operations::GateUp::Shared gate_up;
    typename Operations::Down::Shared down;
    typename Operations::Head::Shared head;
    typename Operations::Draw::Shared draw;
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    typename Operations::Embed::Shared none{};
    for (int token = 0; token < p.tokens; ++token) {
      if (token > 0) {
        wait(ctx, p, order.count - 1, token);
        if (ctx.load(p.remaining, 0) == 0u) break;
      }
      if (begins<0>(ctx, p, token, 0)) {
        Operations::Embed::run(ctx, p.embed, none);
        ends<0>(ctx, p);
      }
      for (int layer = 0; layer < p.layer_count; ++layer) run_layer<order.layer_begin>(ctx, p, shared, token, layer);
      stage<order.layer_end, typename Operations::Head>(ctx, p, p.head, shared.head, token, p.layer_count - 1);
      if (begins<order.layer_end + 1>(ctx, p, token, p.layer_count - 1)) {
        Operations::Draw::run(ctx, p.draw, shared.draw, static_cast<std::uint32_t>(token));
        ends<order.layer_end + 1>(ctx, p);
      }
      if (begins<order.count - 1>(ctx, p, token, p.layer_count - 1)) {
        advance(ctx, p, token);
        ends<order.count - 1>(ctx, p);
      }
    }
  }

 private:
  template <int entry, ExecutionContext C>
  DIECAST_DEVICE static void run_layer(C& ctx, const Params& p, Shared& shared, int token, int layer) {
    if constexpr (entry < order.layer_end) {
      const typename Operations::Layer* of_layer = p.layers + layer;
      constexpr Stage what = order.at[entry].stage;
      if constexpr (what == Stage::qkv)
        layer_stage<entry, typename Operations::QkvAppend>(ctx, p, &of_layer->qkv, shared.qkv, token, layer);
      if constexpr (what == Stage::project)
        layer_stage<entry, typename Operations::ProjectQkv>(ctx, p, &of_layer->project, shared.project, token, layer);
      if constexpr (what == Stage::norm_rope) {
        typename Operations::NormRopeAppend::Shared none{};
        layer_stage<entry, typename Operations::NormRopeAppend>(ctx, p, &of_layer->norm_rope, none, token, layer);
      }
      if constexpr (what == Stage::attention)
        layer_stage<entry, typename Operations::Attention>(ctx, p, &of_layer->attention, shared.attention, token, layer);
      if constexpr (what == Stage::output)
        layer_stage<entry, typename Operations::Output>(ctx, p, &of_layer->output, shared.output, token, layer);
      if constexpr (what == Stage::gate_up)
        layer_stage<entry, typename Operations::GateUp>(ctx, p, &of_layer->gate_up, shared.gate_up, token, layer);
      if constexpr (what == Stage::down) layer_stage<entry, typename Operations::Down>(ctx, p, &of_layer->down, shared.down, token, layer);
      run_layer<entry + 1>(ctx, p, shared, token, layer);
    }
  }

  template <int entry, class Op, ExecutionContext C, class OpShared>
  DIECAST_DEVICE static void layer_stage(C& ctx, const Params& p, const typename Op::Params* params, OpShared& shared, int token,
                                         int layer) {
    if (ctx.block() >= p.schedule.at[entry].workers) return;
    stage<entry, Op>(ctx, p, load_struct(ctx, params), shared, token, layer);
  }

  // Before the block waits for what the stage needs of others, it asks for the weights that it begins with.
  template <int entry, class Op, ExecutionContext C, class OpShared>
  DIECAST_DEVICE static void stage(C& ctx, const Params& p, const typename Op::Params& of_op, OpShared& shared, int token, int layer) {
    if (ctx.block() >= p.schedule.at[entry].workers) return;
    if constexpr (requires { typename Op::Products; }) {
      Op::Products::template request<Op>(ctx, of_op, shared);
      begins<entry>(ctx, p, token, layer);
      Op::run(ctx, of_op, shared, Requested::yes);
    } else {
      begins<entry>(ctx, p, token, layer);
      Op::run(ctx, of_op, shared);
    }
    ends<entry>(ctx, p);
  }

  // Whether the block has work in this stage; if so, what the stage needs is finished.
  template <int entry, ExecutionContext C>
  DIECAST_DEVICE static bool begins(C& ctx, const Params& p, int token, int layer) {
    if (ctx.block() >= p.schedule.at[entry].workers) return false;
    DIECAST_UNROLL
    for (int i = 0; i < Schedule::most_waits; ++i) {
      const int other = p.schedule.at[entry].waits[i];
      if (other >= 0) wait(ctx, p, other, runs_before<entry>(other, p.layer_count, token, layer));
    }
    return true;
  }
  template <int entry, ExecutionContext C>
  DIECAST_DEVICE static void ends(C& ctx, const Params& p) {
    ctx.barrier();  // what the block's threads have written is known to the one that says so
    if (ctx.thread() == 0) ctx.atomic_add(p.arrived, entry, 1u, Order::release);
  }

  // How often `other` has been run when `entry` of this token and layer begins.
  template <int entry>
  DIECAST_DEVICE static int runs_before(int other, int layers, int token, int layer) {
    constexpr bool entry_in_layer = entry >= order.layer_begin && entry < order.layer_end;
    const bool in_layer = other >= order.layer_begin && other < order.layer_end, earlier = other < entry;
    if (!in_layer) return token + (earlier ? 1 : 0);
    if (entry_in_layer) return token * layers + layer + (earlier ? 1 : 0);
    return token * layers + (earlier ? layers : 0);
  }
  template <ExecutionContext C>
  DIECAST_DEVICE static void wait(C& ctx, const Params& p, int entry, int runs) {
    if (ctx.thread() == 0)
      ctx.wait_at_least(p.arrived, entry, static_cast<std::uint32_t>(runs) * static_cast<std::uint32_t>(p.schedule.at[entry].workers));
    ctx.barrier();  // what thread 0 knows now, all threads of the block know
  }

  // One warp: every row's id becomes its next input.
  template <ExecutionContext C>
  DIECAST_DEVICE static void advance(C& ctx, const Params& p, int token) {
    if (ctx.warp() != 0) return;
    const int rows = row_count(ctx, p.embed.rows);
    int going = 0;
    for (int begin = 0; begin < rows; begin += warp_lanes) {
      const int row = begin + ctx.lane();
      bool goes = false;
      if (row < rows) {
        const bool had_ended = ctx.load(p.ended, row) != 0;
        const int chosen = p.draw.drawings != nullptr ? ctx.load(p.draw.ids, row) : best_or_none(ctx.load(p.head.best, row));
        const int id = had_ended ? -1 : chosen;
        bool ends = had_ended || chosen < 0;
        for (int i = 0; i < p.stop_count; ++i) ends = ends || id == ctx.load_constant(p.stop_ids, i);
        ctx.store(p.out, static_cast<std::int64_t>(token) * rows + row, id);
        ctx.store(p.ended, row, ends ? 1 : 0);
        goes = !ends;
        if (goes) {  // a row that has ended is computed again at its last place until all have
          ctx.store(p.ids, row, id);
          ctx.store(p.positions, row, ctx.load(p.positions, row) + 1);
        }
      }
      going += ctx.popcount(ctx.ballot(goes));
    }
    if (ctx.lane() == 0) ctx.store(p.remaining, 0, static_cast<std::uint32_t>(going));
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
