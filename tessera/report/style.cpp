// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/style.hpp"
#include <fmt/format.h>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <ranges>

namespace tessera::report {
namespace {

struct Colour {
  const char *name, *light, *dark;
};

// Blue against orange, never red against green; text has a contrast of at least 4.5 to its background. The
// heat steps differ mainly in lightness, so that they survive greyscale printing.
constexpr std::array<Colour, 27> palette{{
    {"page", "#fbfbf9", "#121417"},  {"paper", "#ffffff", "#191c20"}, {"ink", "#1b1e22", "#e8eaed"},
    {"muted", "#5a626b", "#a0a8b1"}, {"rule", "#e2e3e1", "#2e3339"},  {"accent", "#1d5c9e", "#86b8f3"},
    {"bar", "#9dbfe2", "#3a6593"},   {"best", "#1d5c9e", "#86b8f3"},  {"other", "#b3b8be", "#5b636c"},
    {"mark", "#b4540a", "#f2a65e"},  {"wash", "#f3f4f1", "#20242a"},  {"bad", "#a8321f", "#ff9a86"},
    {"good", "#0f6b5c", "#63c9b4"},  {"heat0", "#eff4f9", "#1b2530"}, {"heat1", "#d6e4f1", "#21364c"},
    {"heat2", "#b1cde7", "#294e77"}, {"heat3", "#84afd9", "#3466a0"}, {"heat4", "#3d79b6", "#6ea3e0"},
    {"heat5", "#22598f", "#a0c7f5"}, {"heat6", "#0d3660", "#d8e9fd"}, {"ink0", "#12202f", "#eef3f8"},
    {"ink1", "#12202f", "#eef3f8"},  {"ink2", "#12202f", "#eef3f8"},  {"ink3", "#12202f", "#ffffff"},
    {"ink4", "#ffffff", "#0d1722"},  {"ink5", "#ffffff", "#0d1722"},  {"ink6", "#ffffff", "#0d1722"},
}};

// '$name' stands for a colour.
constexpr const char* chart_rules = R"(
svg.chart{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
 font-size:13px;font-variant-numeric:tabular-nums}
svg.chart text{fill:$ink;pointer-events:none}
svg.chart .paper{fill:$paper}
svg.chart .strong{font-weight:600}
svg.chart text.small{font-size:11.5px}
svg.chart text.muted{fill:$muted}
svg.chart text.mark-text{fill:$mark;font-weight:600}
svg.chart text.bad-text{fill:$bad;font-weight:600}
svg.chart .grid{stroke:$rule;stroke-width:1}
svg.chart .axis{stroke:$muted;stroke-width:1}
svg.chart .leader{fill:none;stroke:$muted;stroke-width:.75;opacity:.55}
svg.chart .bar{fill:$bar}
svg.chart .bar.best{fill:$best}
svg.chart .bar.other{fill:$other}
svg.chart .bar.wrong{fill:none;stroke:$bad;stroke-width:1.5;stroke-dasharray:4 3}
svg.chart .bar.missing{fill:none;stroke:$muted;stroke-width:1;stroke-dasharray:2 3}
svg.chart text.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:11.5px;white-space:pre}
svg.chart .failed{fill:$muted}
svg.chart .choice{pointer-events:none;fill:$paper;stroke:$accent;stroke-width:1.25}
svg.chart .spread{pointer-events:none;stroke:$ink;stroke-width:1.25}
svg.chart .opponent{stroke:$mark;stroke-width:1.5;stroke-dasharray:5 4}
svg.chart .roof{fill:none;stroke:$ink;stroke-width:2;stroke-linejoin:round}
svg.chart .below{fill:$wash}
svg.chart .point{fill:$accent;stroke:$paper;stroke-width:1.5}
svg.chart .point.best{fill:$mark}
svg.chart .point.other{fill:$other}
svg.chart .steps{fill:none;stroke:$mark;stroke-width:1.75}
svg.chart .series{fill:none;stroke-width:1.5}
svg.chart .series.s0{stroke:$accent} svg.chart .point.s0,svg.chart text.s0{fill:$accent}
svg.chart .series.s1{stroke:$good} svg.chart .point.s1,svg.chart text.s1{fill:$good}
svg.chart .series.s2{stroke:$bad} svg.chart .point.s2,svg.chart text.s2{fill:$bad}
svg.chart .series.s3{stroke:$ink} svg.chart .point.s3,svg.chart text.s3{fill:$ink}
svg.chart .series.s4{stroke:$muted} svg.chart .point.s4,svg.chart text.s4{fill:$muted}
svg.chart .series.dashed{stroke-dasharray:5 3}
svg.chart .empty{fill:none;stroke:$rule;stroke-width:1;stroke-dasharray:3 3}
svg.chart .ring{pointer-events:none;fill:none;stroke:$mark;stroke-width:2.5}
svg.chart .untouched{fill:$wash}
svg.chart .wanted{pointer-events:none;fill:$best}
svg.chart .sector{pointer-events:none;fill:none;stroke:$muted;stroke-width:1}
svg.chart .waits{fill:$mark}
svg.chart .wrong-cell{fill:none;stroke:$bad;stroke-width:1.5}
)";

std::string heat_rules() {
  std::string out;
  for (int i = 0; i < heat_steps; ++i)
    out += fmt::format("svg.chart .heat{0}{{fill:$heat{0}}}\nsvg.chart text.ink{0}{{fill:$ink{0}}}\n", i);
  return out;
}

std::string with_colours(std::string rules, Colours colours) {
  // The last ones first, because $ink is the beginning of $ink0.
  for (const Colour& colour : palette | std::views::reverse)
    boost::replace_all(rules, std::string("$") + colour.name,
                       colours == Colours::light ? colour.light : fmt::format("var(--{})", colour.name));
  return rules;
}

std::string variables(bool dark) {
  std::string out;
  for (const Colour& colour : palette)
    out += fmt::format("--{}:{};", colour.name, dark ? colour.dark : colour.light);
  return out;
}

constexpr const char* page_rules = R"(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:$page;color:$ink;font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.wrap{max-width:64rem;margin:0 auto;padding:0 1.5rem}
a{color:$accent}
:focus-visible{outline:2px solid $mark;outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:$paper;padding:.5rem 1rem}
header{padding:3.5rem 0 0}
.eyebrow{margin:0 0 .6rem;color:$muted;font-size:.8125rem;letter-spacing:.06em;text-transform:uppercase}
h1{margin:0;font-size:clamp(1.7rem,1.2rem + 2.2vw,2.5rem);line-height:1.15;letter-spacing:-.02em;font-weight:650;overflow-wrap:anywhere}
h2{margin:0 0 .3rem;font-size:1.4rem;line-height:1.25;letter-spacing:-.012em;font-weight:650;overflow-wrap:anywhere}
h3{margin:0 0 .25rem;font-size:1.05rem;line-height:1.35;font-weight:620;overflow-wrap:anywhere}
p{margin:0 0 .75rem;max-width:46rem}
.lede{margin:1rem 0 0;font-size:1.15rem;line-height:1.5;max-width:44rem}
.quiet{color:$muted;font-size:.9rem}
nav{margin:1rem 0 0;font-size:.9rem;display:flex;flex-wrap:wrap;gap:.35rem 1.4rem}
nav a{text-decoration:none}
nav a:hover{text-decoration:underline}
main>section{margin:3.5rem 0 0}
figure{margin:1.5rem 0 0;padding:1.4rem 1.5rem 1.1rem;background:$paper;border:1px solid $rule;border-radius:10px}
figcaption p{margin:0 0 .9rem;color:$muted;font-size:.9rem}
.scroll{overflow-x:auto}
.scroll:has(table){--under:$page;background:linear-gradient(270deg,var(--under) 30%,transparent) right/2.5rem 100% no-repeat local,
 linear-gradient(270deg,$rule,transparent) right/1.4rem 100% no-repeat scroll}
figure .scroll{--under:$paper}
svg.chart{display:block;height:auto}
svg.wide{max-width:100%}
svg.narrow{display:none}
.note{margin:.7rem 0 0;color:$muted;font-size:.85rem}
.absent{margin:1.5rem 0 0;padding:.9rem 1.2rem;border:1px dashed $rule;border-radius:10px;color:$muted;font-size:.9rem}
.absent strong{color:$ink;font-weight:600}
details{margin:.9rem 0 0}
summary{cursor:pointer;color:$accent;font-size:.9rem;width:fit-content;padding:.15rem 0}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;margin:.6rem 0 0;min-width:min(100%,30rem)}
caption{text-align:left;color:$muted;font-size:.85rem;padding:0 0 .4rem}
th,td{padding:.36rem .45rem .36rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid $rule;vertical-align:baseline}
th:last-child,td:last-child{padding-right:.2rem}
th{font-weight:600;color:$muted;font-size:.8125rem;vertical-align:bottom}
thead th{white-space:normal;min-width:3.2rem;line-height:1.3}
tbody th{color:$ink;font-size:.875rem;vertical-align:baseline}
.under{display:block;max-width:11rem;color:$muted;font-size:.75rem;font-weight:400;white-space:normal}
.scroll th:first-child{position:sticky;left:0;background:$page}
figure .scroll th:first-child{background:$paper}
.left{text-align:left}
.words{white-space:normal;min-width:16rem;overflow-wrap:anywhere}
td.none{color:$muted}
tr.best td,tr.best th{font-weight:650}
tr.wrong td,tr.wrong th{color:$bad}
th button{all:unset;cursor:pointer;position:relative}
th button:hover{color:$ink}
th button:focus-visible{outline:2px solid $mark}
th button::after{content:"";position:absolute;left:calc(100% + .1em);bottom:0;color:$accent}
th[aria-sort=ascending] button::after{content:"↑"}
th[aria-sort=descending] button::after{content:"↓"}
code,.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.84em}
td.code{white-space:pre-wrap;min-width:9rem;font-size:.78rem}
.source td.code{white-space:pre;tab-size:2}
td.zero{color:$muted}
.advice{margin:1.2rem 0 0;padding:0;list-style:none;counter-reset:advice}
.advice li{counter-increment:advice;position:relative;padding:1.05rem 0 1.05rem 2.9rem;border-top:1px solid $rule}
.advice li:last-child{border-bottom:1px solid $rule}
.advice li::before{content:counter(advice);position:absolute;left:.2rem;top:1.02rem;font-size:1.05rem;font-weight:650;color:$mark;font-variant-numeric:tabular-nums}
.advice p{margin:.15rem 0 0}
.advice .evidence{color:$muted;font-size:.9rem}
.listing{margin:1.2rem 0 0;padding:.4rem 0;background:$paper;border:1px solid $rule;border-radius:10px}
.listing .row{display:grid;grid-template-columns:3.2rem 4.6rem 4.2rem 4.2rem 4.6rem minmax(0,1fr);gap:0 .6rem;width:auto;padding:0 .9rem 0 0;
 color:$ink;font-size:.8125rem;line-height:1.5;font-variant-numeric:tabular-nums;border-left:3px solid transparent}
.listing .row>span{text-align:right}
.listing .row>b{text-align:right;color:$muted;font-weight:400}
.listing .row>code{grid-column:6;white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4;font-size:.8125rem}
.listing .row>small{grid-column:6;color:$mark;font-size:.8125rem}
.listing .row>small.error{color:$bad}
.listing .heads{position:sticky;top:0;z-index:2;align-items:end;padding-bottom:.3rem;background:$paper;color:$muted;font-size:.75rem;line-height:1.25;border-bottom:1px solid $rule}
.listing .heads .text{text-align:left}
.listing .cost{border-left-color:$accent}
.listing .warning{border-left-color:$mark}
.listing .error{border-left-color:$bad}
.advice .error h3{color:$bad} .advice .error h3::before{content:"✖ "}
.advice .warning h3{color:$mark} .advice .warning h3::before{content:"▲ "}
.advice .cost h3{color:$accent} .advice .cost h3::before{content:"● "}
.listing .scroll{--under:$paper}
.listing .scroll th:first-child{background:$paper}
.listing details{margin:0}
.listing>details>summary{list-style:none;background:$wash}
.listing>details>summary::-webkit-details-marker{display:none}
.listing>details>summary b::before{content:"▸ ";color:$accent}
.listing details[open]>summary b::before{content:"▾ "}
.listing .row:target,.listing details:target>summary{background:$heat1}
.listing .row,.listing details{scroll-margin-top:3rem}
.listing .requests{padding:.2rem .9rem 1.4rem 1.2rem;border-bottom:1px solid $rule}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.provenance th{text-align:left;width:9rem;padding-right:1.5rem;vertical-align:baseline}
.provenance td{text-align:left;white-space:normal;overflow-wrap:anywhere}
footer{margin:4rem 0 0;padding:1.3rem 0 3rem;border-top:1px solid $rule;color:$muted;font-size:.85rem}
#tip{position:absolute;z-index:9;max-width:22rem;padding:.45rem .7rem;border-radius:6px;background:$ink;color:$page;font-size:.8125rem;line-height:1.45;white-space:pre-line;pointer-events:none;font-variant-numeric:tabular-nums}
svg.chart .mark:hover{filter:brightness(1.08)}
@media (max-width:50rem){
 .wrap{padding:0 1rem}
 header{padding-top:2rem}
 main>section{margin-top:2.6rem}
 figure{padding:1rem .9rem .8rem;margin-left:-.35rem;margin-right:-.35rem}
 svg.wide{display:none}
 svg.narrow{display:block}
 svg.narrow.fits{width:100%;max-width:27rem}
 .listing .row{grid-template-columns:2.6rem 0 3.2rem 3rem 0 minmax(0,1fr);gap:0 .3rem}
 .listing .less{display:none}
 .listing .row>small{grid-column:1/-1;padding-left:1.2rem}
 .listing .row>span:nth-of-type(2){grid-column:3}
}
@media print{
 body{font-size:10.5pt;background:#fff}
 .wrap{max-width:none;padding:0}
 header{padding-top:0}
 nav,.skip,summary,#tip{display:none}
 details::details-content{content-visibility:visible;block-size:auto}
 .listing>details>summary{display:grid}
 .listing>details:not([open])::details-content{content-visibility:hidden;block-size:0}
 .listing .heads{position:static}
 svg.wide{display:block}
 svg.narrow{display:none}
 figure{border:0;padding:0;break-inside:avoid}
 .scroll{overflow:visible}
 .scroll:has(table){background:none}
 table{font-size:8pt}
 th,td{padding-right:.6rem}
 tr,.advice li{break-inside:avoid}
 h2,h3,figcaption{break-after:avoid}
}
)";

}  // namespace

std::string chart_style(Colours colours) { return with_colours(chart_rules + heat_rules(), colours); }

std::string page_style() {
  return ":root{color-scheme:light dark;" + variables(false) +
         "}\n@media screen and (prefers-color-scheme:dark){:root{" + variables(true) + "}}\n" +
         with_colours(page_rules, Colours::variables) + chart_style(Colours::variables);
}

// The page's script sorts tables and shows tooltips without the browser's delay. The page is readable without
// it.
std::string page_script() {
  return R"JS('use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.title = 'Sort by this column';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = row => {
        const cell = row.cells[column];
        if (cell.classList.contains('none')) return null;
        return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
      };
      const order = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b :
          String(a).localeCompare(String(b), 'en', {numeric: true});
      const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
      rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : (down ? -1 : 1) * order(a, b));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}
const tip = document.createElement('div');
tip.id = 'tip';
tip.hidden = true;
tip.setAttribute('role', 'tooltip');
document.body.append(tip);
const tips = new WeakMap();
for (const mark of document.querySelectorAll('svg .mark')) {
  const title = mark.querySelector('title');
  if (!title) continue;
  tips.set(mark, title.textContent);
  title.remove();
}
const hide = () => { tip.hidden = true; };
document.addEventListener('pointermove', event => {
  const text = event.target instanceof Element ? tips.get(event.target) : undefined;
  if (text === undefined) return hide();
  tip.textContent = text;
  tip.hidden = false;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
  tip.style.left = Math.max(8, Math.min(event.clientX + 14, room)) + scrollX + 'px';
  tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10) + scrollY + 'px';
});
document.addEventListener('pointerleave', hide);
document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
)JS";
}

}  // namespace tessera::report
