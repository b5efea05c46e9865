// The page's looks: one column, the reader's own light or dark, large enough for a thumb.
#pragma once

namespace diecast::serve {

inline constexpr char page_style[] = R"css(
:root { color-scheme: light dark; --line: #c8ccd0; --soft: #f1f3f5; --ink: #16191c; --dim: #5a626b; --paper: #fff; --accent: #0b62c4; --accent-ink: #fff; --control: #b4400f; --typed: #0b62c4; --before: #9aa3ad; --cached: #2f8f5b; }
@media (prefers-color-scheme: dark) { :root { --line: #3a4149; --soft: #20252a; --ink: #e6e9ec; --dim: #a0a9b2; --paper: #15181b; --accent: #6cb2ff; --accent-ink: #0b1622; --control: #ffa074; --typed: #7fbcff; --before: #5f6973; --cached: #63c48f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.5rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
header p, .note { color: var(--dim); margin: .25rem 0 .5rem; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
.step { display: inline-block; min-width: 1.6em; padding: 0 .35em; border-radius: .8em; text-align: center; background: var(--accent); color: var(--accent-ink); font-size: .85em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
button, input, select, textarea { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .3rem; padding: .4rem .6rem; min-height: 2.5rem; }
button { cursor: pointer; background: var(--soft); }
#go { background: var(--accent); color: var(--accent-ink); border-color: var(--accent); margin-left: auto; }
#go:disabled { opacity: .5; cursor: default; }
kbd { font-size: .75em; opacity: .8; }
.row, .message { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .5rem 0; }
.message textarea { flex: 1 1 16rem; min-height: 4rem; resize: vertical; }
.row input[type=number] { width: 7rem; }
pre, #answer { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: .75rem; border-radius: .3rem; margin: 0; min-height: 3rem; }
pre { max-height: 24rem; overflow: auto; }
pre, .chip, #distribution tbody th { font-family: ui-monospace, monospace; }
.mark { padding: 0 .2em; border-radius: .2em; }
.control { color: var(--control); border: 1px solid currentColor; font-weight: 600; }
.typed { color: var(--typed); text-decoration: underline; text-underline-offset: .2em; }
.before::before, .after::before { content: ""; display: inline-block; width: 1em; height: .7em; margin-right: .3em; background: var(--before); }
.after::before { background: var(--accent); }
#tokens { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem; margin: 0; padding: 0; max-height: 20rem; overflow: auto; }
.chip { border: 1px solid var(--line); border-radius: .3rem; padding: .1rem .35rem; background: var(--soft); white-space: pre; }
.chip.control { border-color: var(--control); }
.chip small { display: block; color: var(--dim); font-size: .7rem; font-weight: 400; }
table { width: 100%; border-collapse: collapse; }
caption { text-align: left; padding-bottom: .5rem; }
th { text-align: left; font-weight: 400; white-space: pre; padding-right: .5rem; }
td { padding: .1rem 0; }
#stages td:nth-child(2), #distribution td:nth-child(2) { width: 65%; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-left: .5rem; }
.track { position: relative; height: 1.1rem; background: var(--soft); }
.track i { position: absolute; top: 0; bottom: 0; min-width: 2px; background: var(--accent); }
.pair i { height: .5rem; bottom: auto; min-width: 0; }
.pair i:first-child { background: var(--before); }
.pair i:last-child { top: .55rem; }
tr.out th { opacity: .5; text-decoration: line-through; }
tr.won th { font-weight: 700; color: var(--accent); }
tr.won th::after { content: " \2190"; }
#blocks { display: flex; align-items: flex-end; gap: 2px; height: 7rem; }
#blocks i { flex: 1 1 0; min-width: 2px; background: var(--accent); }
#blocks i.edge { background: var(--control); }
#cache { display: flex; flex-wrap: wrap; gap: .3rem; }
.block { display: grid; grid-template-columns: repeat(8, .45rem); gap: 1px; padding: 2px; border: 1px solid var(--line); border-radius: .2rem; }
.block i { height: .45rem; background: var(--soft); }
.block i.cached { background: var(--cached); }
.block i.prompt { background: var(--before); }
.block i.answer { background: var(--accent); }
.sliders { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .5rem 1rem; }
.sliders input { width: 100%; padding: 0; }
.sliders output { float: right; font-variant-numeric: tabular-nums; }
.error { color: var(--control); font-weight: 600; }
@media (max-width: 30rem) { #stages td:nth-child(2) { width: 40%; } #distribution { table-layout: fixed; } #distribution th { width: 30%; overflow: hidden; text-overflow: ellipsis; } #distribution td:nth-child(2), #distribution th:nth-child(2) { width: 26%; }
  #distribution .number { width: 22%; font-size: .85rem; } .block { grid-template-columns: repeat(8, .35rem); } }
@media (prefers-reduced-motion: no-preference) { .track i { transition: width .1s, left .1s; } }
)css";

}  // namespace diecast::serve
