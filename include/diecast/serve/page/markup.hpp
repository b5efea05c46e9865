// The page's markup: the steps in their order, each with a heading; empty until somebody asks.
#pragma once

namespace diecast::serve {

inline constexpr char page_begin[] = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The path to the first token</title>
<style>)html";

inline constexpr char page_middle[] = R"html(</style>
</head>
<body>
<header>
  <h1>The path to the first token</h1>
  <p id="engine">&nbsp;</p>
</header>
<main>
<form id="ask" aria-label="What to ask">
  <div id="messages"></div>
  <div class="row">
    <button type="button" id="add">Add a message</button>
    <label>Longest answer <input id="most" type="number" min="1" max="100000" value="128"> tokens</label>
    <label>Seed <input id="seed" type="number" min="0" max="9007199254740991" value="1"></label>
    <label id="keyed" hidden>API key <input id="key" type="password" autocomplete="off"></label>
    <button type="submit" id="go">Ask <kbd>Ctrl Enter</kbd></button>
  </div>
</form>
<p id="status" role="status" aria-live="polite">Type a message and ask: every step until the first token appears below.</p>

<div id="path" hidden>
<section aria-labelledby="h-answer">
  <h2 id="h-answer">The answer</h2>
  <p id="answer" aria-live="polite" aria-busy="false"></p>
  <p id="answer-note" class="note"></p>
</section>
<section aria-labelledby="h-time">
  <h2 id="h-time">Where the time went</h2>
  <table id="stages"><caption></caption><tbody></tbody></table>
</section>
<section aria-labelledby="h-text">
  <h2 id="h-text"><span class="step">1</span> Template: the messages become one text</h2>
  <p class="note"><span class="mark control">control tokens</span> <span class="mark typed">what was typed</span> <span class="mark">what the template wrote</span></p>
  <pre id="text" tabindex="0" aria-label="The prompt's text"></pre>
</section>
<section aria-labelledby="h-tokens">
  <h2 id="h-tokens"><span class="step">2</span> Tokens: the text becomes ids</h2>
  <p id="tokens-note" class="note"></p>
  <ol id="tokens"></ol>
</section>
<section aria-labelledby="h-blocks">
  <h2 id="h-blocks"><span class="step">3&ndash;5</span> Embed, blocks, head: the ids become logits</h2>
  <p id="blocks-note" class="note"></p>
  <div id="blocks" role="img"></div>
  <h3>KV cache</h3>
  <p id="cache-note" class="note" role="status"></p>
  <div id="cache" aria-hidden="true"></div>
</section>
<section aria-labelledby="h-sample">
  <h2 id="h-sample"><span class="step">6</span> Sample: the logits become one token</h2>
  <p id="chosen"></p>
  <div class="sliders">
    <label>Temperature <output id="temperature-shown"></output><input id="temperature" type="range" min="0" max="2" step="0.05"></label>
    <label>Top-k <output id="top_k-shown"></output><input id="top_k" type="range" min="0" max="64" step="1"></label>
    <label>Top-p <output id="top_p-shown"></output><input id="top_p" type="range" min="0" max="1" step="0.01"></label>
    <label>Min-p <output id="min_p-shown"></output><input id="min_p" type="range" min="0" max="0.5" step="0.01"></label>
  </div>
  <p class="note">Drag: the bars follow at once; the next question uses these values. <span class="mark before">model</span> <span class="mark after">what is drawn from</span></p>
  <table id="distribution">
    <thead><tr><th scope="col">Token</th><th scope="col">Probability</th><th scope="col" class="number">model</th><th scope="col" class="number">drawn</th></tr></thead>
    <tbody></tbody>
  </table>
  <p id="kept" class="note" role="status"></p>
</section>
</div>
</main>
<script>)html";

inline constexpr char page_end[] = R"html(</script>
</body>
</html>
)html";

}  // namespace diecast::serve
