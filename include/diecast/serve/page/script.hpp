// The page's script: two requests, one for the path and one for the answer, and what they say as boxes and bars. All text goes in as text.
#pragma once

namespace diecast::serve {

inline constexpr char page_script[] = R"js(
'use strict';
const $ = id => document.getElementById(id);
const make = (name, text, cls) => { const e = document.createElement(name); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
const ms = ns => ns / 1e6;
const shown = t => t >= 100 ? t.toFixed(0) : t >= 10 ? t.toFixed(1) : t >= 1 ? t.toFixed(2) : t.toFixed(3);
const visible = text => text === '' ? '\u2205' : text.replace(/ /g, '\u2423').replace(/\n/g, '\u23ce').replace(/\t/g, '\u21e5');
const percent = p => p >= 0.1 ? (100 * p).toFixed(1) + ' %' : p >= 0.0001 ? (100 * p).toFixed(2) + ' %' : p > 0 ? '< 0.01 %' : '\u2013';
const names = ['temperature', 'top_k', 'top_p', 'min_p'];
let is_chat = true, path = null, touched = new Set(), running = null;

// ---- what is asked

function add_message(role, content) {
  const row = make('div', undefined, 'message');
  if (is_chat) {
    const select = make('select');
    select.setAttribute('aria-label', 'Role');
    for (const one of ['system', 'user', 'assistant']) select.append(make('option', one));
    select.value = role;
    row.append(select);
  }
  const text = make('textarea');
  text.value = content;
  text.setAttribute('aria-label', is_chat ? 'Message' : 'Text to continue');
  row.append(text);
  if ($('messages').children.length) {
    const remove = make('button', 'Remove');
    remove.type = 'button';
    remove.onclick = () => row.remove();
    row.append(remove);
  }
  $('messages').append(row);
  return text;
}
function asked() {
  const body = { seed: Math.max(0, Math.floor(Number($('seed').value) || 0)) };
  if (is_chat) body.messages = [...$('messages').children].map(row => ({ role: row.querySelector('select').value, content: row.querySelector('textarea').value }));
  else body.prompt = $('messages').querySelector('textarea').value;
  for (const name of touched) body[name] = Number($(name).value);
  return body;
}
async function post(where, body, signal) {
  const headers = { 'Content-Type': 'application/json' };
  if ($('key').value) headers.Authorization = 'Bearer ' + $('key').value;
  const reply = await fetch(where, { method: 'POST', headers, body: JSON.stringify(body), signal });
  if (reply.ok) return reply;
  if (reply.status === 401) { $('keyed').hidden = false; $('key').focus(); }
  let sentence = 'status ' + reply.status;
  try { sentence = (await reply.json()).error.message; } catch { }
  throw new Error(sentence);
}

// ---- what came back

function show_stages(spans) {
  const stages = spans.filter(s => s.stage);
  const whole = stages.length ? stages[stages.length - 1].end_ns : 0;
  $('stages').caption.textContent = 'The first token was there after ' + shown(ms(whole)) + ' ms. Each stage begins where the one before ends.';
  const rows = [];
  for (const stage of stages) {
    const row = make('tr'), name = make('th', stage.name), cell = make('td'), track = make('div', undefined, 'track'), bar = make('i');
    name.scope = 'row';
    bar.style.left = 100 * stage.begin_ns / whole + '%';
    bar.style.width = 100 * (stage.end_ns - stage.begin_ns) / whole + '%';
    track.append(bar);
    cell.append(track);
    row.append(name, cell, make('td', shown(ms(stage.end_ns - stage.begin_ns)) + ' ms', 'number'));
    rows.push(row);
  }
  $('stages').tBodies[0].replaceChildren(...rows);
}
function show_text(pieces) {
  $('text').replaceChildren(...(pieces.length ? pieces.map(p => make('span', p.text, p.kind === 'template' ? '' : 'mark ' + p.kind)) : [make('span', 'The prompt came as ids.')]));
}
function show_tokens(tokens, cached) {
  $('tokens-note').textContent = tokens.length + ' tokens' + (cached ? ', the first ' + cached + ' of them from the prefix cache' : '') + '.';
  $('tokens').replaceChildren(...tokens.map(t => {
    const chip = make('li', visible(t.text), t.control ? 'chip control' : 'chip');
    chip.append(make('small', t.id));
    return chip;
  }));
}
function show_blocks(spans) {
  const inner = new Map();  // a long prompt takes several steps: their times together
  for (const s of spans) if (!s.stage && ['embed', 'block', 'head'].includes(s.name)) {
    const name = s.name === 'block' ? 'block ' + s.index : s.name;
    inner.set(name, (inner.get(name) || 0) + s.end_ns - s.begin_ns);
  }
  const most = Math.max(1, ...inner.values()), all = [...inner.values()].reduce((a, b) => a + b, 0);
  $('blocks').replaceChildren(...[...inner].map(([name, ns]) => {
    const bar = make('i', undefined, name.startsWith('block') ? '' : 'edge');
    bar.style.height = Math.max(2, 100 * ns / most) + '%';
    bar.title = name + ': ' + shown(ms(ns)) + ' ms';
    return bar;
  }));
  const times = [...inner].map(([name, ns]) => name + ' ' + shown(ms(ns)) + ' ms').join(', ');
  $('blocks').setAttribute('aria-label', 'Time of each part: ' + times);
  $('blocks-note').textContent = inner.size ? inner.size + ' parts, ' + shown(ms(all)) + ' ms together: embed at the left, a bar for each block, head at the right; the highest is ' + shown(ms(most)) + ' ms.' : 'This backend does not time its parts.';
}
function show_cache(answered) {
  const prompt = path.tokens.length, cached = path.usage.prompt_tokens_details.cached_tokens, size = path.cache.block_tokens, held = prompt + answered;
  const blocks = Math.min(Math.ceil(held / size), 400);
  const grid = $('cache');
  while (grid.children.length > blocks) grid.lastChild.remove();
  while (grid.children.length < blocks) {
    const block = make('div', undefined, 'block');
    for (let i = 0; i < size; ++i) block.append(make('i'));
    grid.append(block);
  }
  for (let b = Math.max(0, Math.floor((answered ? held - 2 : 0) / size) - 1); b < blocks; ++b)
    for (let i = 0; i < size; ++i) {
      const at = b * size + i;
      grid.children[b].children[i].className = at >= held ? '' : at >= prompt ? 'answer' : at >= cached ? 'prompt' : 'cached';
    }
  $('cache-note').textContent = held + ' of ' + path.cache.context + ' positions: ' + cached + ' from the prefix cache, ' + (prompt - cached) + ' computed for the prompt, ' + answered +
    ' of the answer. They fill ' + Math.ceil(held / size) + ' of the ' + path.cache.blocks + ' blocks of ' + size + '.';
}

// ---- the distribution: the same filters in the same order as the sampler's

function filtered(d, temperature, top_k, top_p, min_p) {
  const ranked = d.top.map(t => ({ logprob: t.logprob, count: 1 })).concat(d.rest);
  const best = ranked[0].logprob;
  let left = temperature === 0 ? 1 : top_k > 0 ? top_k : Infinity;
  for (const r of ranked) {
    r.relative = temperature === 0 ? 1 : Math.exp((r.logprob - best) / temperature);
    r.kept = Math.min(r.count, left);
    left -= r.kept;
  }
  let wanted = top_p * ranked.reduce((sum, r) => sum + r.kept * r.relative, 0), sum = 0;
  ranked.forEach((r, i) => {
    if (top_p < 1 && i > 0) r.kept = Math.min(r.kept, Math.max(0, Math.ceil((wanted - sum) / r.relative - 1e-9)));
    sum += r.kept * r.relative;
    if (r.relative < min_p) r.kept = 0;
  });
  const mass = ranked.reduce((all, r) => all + r.kept * r.relative, 0);
  for (const r of ranked) r.probability = r.kept * r.relative / mass;
  return ranked;
}
function show_distribution() {
  const values = Object.fromEntries(names.map(n => [n, Number($(n).value)]));
  $('temperature-shown').textContent = values.temperature === 0 ? 'greedy' : values.temperature.toFixed(2);
  $('top_k-shown').textContent = values.top_k === 0 ? 'all' : values.top_k;
  $('top_p-shown').textContent = values.top_p.toFixed(2);
  $('min_p-shown').textContent = values.min_p.toFixed(2);
  if (!path || !path.distribution) return;
  const d = path.distribution, ranked = filtered(d, values.temperature, values.top_k, values.top_p, values.min_p), rows = [];
  const most = Math.max(Math.exp(d.top[0].logprob), ranked[0].probability);
  const show = (text, before, after, cls) => {
    const row = make('tr', undefined, cls), name = make('th', text), cell = make('td'), track = make('div', undefined, 'track pair'), a = make('i'), b = make('i');
    name.scope = 'row';
    a.style.width = 100 * before / most + '%';
    b.style.width = 100 * after / most + '%';
    track.append(a, b);
    cell.append(track);
    row.append(name, cell, make('td', percent(before), 'number'), make('td', percent(after), 'number'));
    rows.push(row);
  };
  const listed = Math.min(20, d.top.length);
  for (let i = 0; i < listed; ++i)
    show(visible(d.top[i].text), Math.exp(d.top[i].logprob), ranked[i].probability, (ranked[i].kept ? '' : 'out') + (d.top[i].id === path.chosen.id ? ' won' : ''));
  const rest = ranked.slice(listed), others = rest.reduce((sum, r) => sum + r.count, 0);
  if (others) show(others + ' others', rest.reduce((sum, r) => sum + r.count * Math.exp(r.logprob), 0), rest.reduce((sum, r) => sum + r.probability, 0), '');
  $('distribution').tBodies[0].replaceChildren(...rows);
  $('kept').textContent = ranked.reduce((sum, r) => sum + r.kept, 0) + ' of ' + ranked.reduce((sum, r) => sum + r.count, 0) + ' tokens can be drawn.';
}

// ---- one question

async function stream(body, signal) {
  const reply = await post(is_chat ? '/v1/chat/completions' : '/v1/completions', body, signal);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '', tokens = 0, reason = '', last = {};
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    held += value;
    for (let end; (end = held.indexOf('\n\n')) >= 0; held = held.slice(end + 2)) {
      const data = held.slice(6, end);
      if (data === '[DONE]') continue;
      const event = JSON.parse(data);
      if (event.error) throw new Error(event.error.message);
      last = event;
      for (const choice of event.choices) {
        $('answer').append(is_chat ? choice.delta.content || '' : choice.text);
        if (choice.logprobs) tokens += (choice.logprobs.content || choice.logprobs.tokens).length;
        if (choice.finish_reason) reason = choice.finish_reason;
      }
      show_cache(tokens);
    }
  }
  const t = last.timing, cached = last.usage.prompt_tokens_details.cached_tokens;
  $('answer-note').textContent = tokens + ' tokens, ended by ' + reason + '. First token after ' + shown(t.ttft) + ' ms' + (cached ? ' (' + cached + ' of the prompt\u2019s tokens came from the cache that the first request filled)' : '') +
    (t.decode_per_token ? ', then ' + shown(t.decode_per_token) + ' ms each: ' + (1000 / t.decode_per_token).toFixed(0) + ' a second.' : '.');
}
async function ask() {
  if (running) { running.abort(); return; }
  running = new AbortController();
  $('go').firstChild.textContent = 'Stop ';
  $('status').className = '';
  $('status').textContent = 'Asking \u2026';
  $('answer').setAttribute('aria-busy', 'true');
  try {
    const body = asked();
    path = await (await post('/path/explain', body, running.signal)).json();
    $('path').hidden = false;
    $('answer').textContent = $('answer-note').textContent = '';
    for (const name of names) if (!touched.has(name)) $(name).value = path.sampling[name];
    show_stages(path.spans);
    show_text(path.text);
    show_tokens(path.tokens, path.usage.prompt_tokens_details.cached_tokens);
    show_blocks(path.spans);
    show_cache(0);
    $('chosen').replaceChildren('Chosen: ', make('strong', path.chosen ? visible(path.chosen.text) : 'nothing'), path.chosen ? ', id ' + path.chosen.id + ', which the model gives ' + percent(Math.exp(path.chosen.logprob)) + '.' : ': the prompt fills the context.');
    show_distribution();
    $('status').textContent = 'The first token after ' + shown(path.timing.ttft) + ' ms; the answer streams in.';
    await stream({ ...body, max_tokens: Math.max(1, Math.floor(Number($('most').value) || 1)), stream: true, stream_options: { include_usage: true }, logprobs: is_chat ? true : 0 }, running.signal);
    $('status').textContent = 'Done.';
  } catch (error) {
    $('status').className = error.name === 'AbortError' ? '' : 'error';
    $('status').textContent = error.name === 'AbortError' ? 'Stopped.' : error.message;
  }
  $('answer').setAttribute('aria-busy', 'false');
  $('go').firstChild.textContent = 'Ask ';
  running = null;
}

async function start() {
  try {
    const model = (await (await fetch('/v1/models')).json()).data[0];
    is_chat = model.chat;
    $('engine').textContent = model.id + ', a context of ' + model.context + ' tokens, engine ' + (model.system_fingerprint || '').slice(0, 12);
  } catch { $('keyed').hidden = false; }
  $('add').hidden = !is_chat;
  add_message('user', is_chat ? 'What is the capital of France?' : 'The sky is').select();
  if (location.hash === '#ask') ask();
}
$('add').onclick = () => {
  const rows = $('messages').children, before = rows.length ? rows[rows.length - 1].querySelector('select').value : '';
  add_message(before === 'user' ? 'assistant' : 'user', '').focus();
};
$('ask').onsubmit = event => { event.preventDefault(); ask(); };
document.addEventListener('keydown', event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(); } });
for (const name of names) $(name).oninput = () => { touched.add(name); show_distribution(); };
start();
)js";

}  // namespace diecast::serve
