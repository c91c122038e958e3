"""The look of the page; a few lines of script that find a kernel and begin wide pictures amidst."""

STYLE = """
:root{color-scheme:light dark;--back:#fbfbfa;--text:#1d2126;--dim:#5b636c;--line:#dcdfe3;
--fill:#2563a8;--good:#1d7f46;--bad:#b3372e;--c0:#cfe0f3;--c1:#d5ead9;--c2:#f6e3c8;--c3:#ead9ef;
--c4:#f6d8d5;--c5:#d3ebec}
@media(prefers-color-scheme:dark){:root{--back:#15181c;--text:#e4e7ea;--dim:#9ba4ae;--line:#30363d;
--fill:#6ba8e8;--good:#5cc487;--bad:#f08a80;--c0:#223c58;--c1:#234330;--c2:#4d3d1f;--c3:#42304a;
--c4:#532f2c;--c5:#1f4547}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:78rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2.25rem 0 .5rem}
h3{font-size:.95rem;margin:.75rem 0 .25rem}p{color:var(--dim);max-width:50rem;margin:.5rem 0}
a{color:var(--fill)}nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.75rem;margin:0}
dt{color:var(--dim)}dd{margin:0}
.wide{overflow-x:auto;max-width:100%}
.tall{max-height:85vh;overflow:auto;border:1px solid var(--line)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--dim);font-weight:500}
th:first-child,td:first-child,th:last-child,td:last-child{text-align:left}
td:last-child{white-space:normal;min-width:14rem}
.heat td,.heat th:last-child{text-align:right;min-width:4.5rem}
.heat td{background:color-mix(in srgb,var(--fill) calc(var(--part,0%)*.55),transparent)}
.heat td:last-child{white-space:nowrap}
.sizes td{height:5.5rem;vertical-align:bottom;position:relative;padding:0 .6rem}
.sizes i{position:absolute;bottom:0;left:.3rem;right:.3rem;background:var(--c0);max-height:70%}
.sizes span{position:relative}
details{margin:.15rem 0}
summary{cursor:pointer;padding:.2rem 0;overflow-wrap:anywhere}
pre{overflow:auto;border:1px solid var(--line);padding:.6rem;font-size:.8rem;max-height:32rem;
margin:0;counter-reset:line}
.code span{counter-increment:line;display:block;padding-left:3.5rem;position:relative}
.code span::before{content:counter(line);position:absolute;left:0;width:2.6rem;text-align:right;
color:var(--dim);user-select:none}
.bars{max-width:60rem}
.bar{display:grid;grid-template-columns:minmax(7rem,16rem) 1fr 6rem;gap:.75rem;align-items:center}
.bar span{overflow-wrap:anywhere}
.bar i{background:var(--line);height:.7rem}.bar b{display:block;height:100%;background:var(--fill)}
.bar span:last-child{text-align:right;font-variant-numeric:tabular-nums}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,32rem),1fr));gap:0 2rem}
.plots details{min-width:0}
.plot{display:block;width:100%;max-width:52rem}svg text{fill:var(--dim);font-size:12px}
.tall svg{display:block}
.grid path{stroke:var(--line)}.roof{fill:none;stroke:var(--text);stroke-width:1.5}
.dashed{stroke-dasharray:5 4}.best{stroke:var(--good);stroke-width:2}
circle{fill:var(--fill);fill-opacity:.6;stroke:var(--fill)}
.predicted{fill:none;fill-opacity:1;pointer-events:all}
.lost{fill:var(--dim);stroke:none;fill-opacity:.55}
circle.won{fill:var(--good);stroke:var(--good);fill-opacity:1}
circle.wrong{fill:var(--bad);stroke:var(--bad)}
path.wrong{stroke:var(--bad);stroke-width:2;fill:none}
.edge{fill:none;stroke:var(--dim);stroke-opacity:.55}
.box,.buffer{stroke:var(--line);fill:var(--back)}.tall text,.plot g+text{pointer-events:none}
.tall svg text{font-size:11.5px;fill:var(--text)}
.legend{display:flex;flex-wrap:wrap;gap:.35rem .6rem;margin:.5rem 0;font-size:.85rem}
.legend span{padding:.05rem .5rem;border:1px solid var(--line);border-radius:4px}
.source,.c0{fill:var(--c0);background:var(--c0)}.element,.c1{fill:var(--c1);background:var(--c1)}
.reduce,.c2{fill:var(--c2);background:var(--c2)}.copy,.c3{fill:var(--c3);background:var(--c3)}
.loop,.c4{fill:var(--c4);background:var(--c4)}.output,.c5{fill:var(--c5);background:var(--c5)}
.box.earlier{fill:none;stroke-dasharray:4 3;pointer-events:all}.legend .earlier{border-style:dashed}
.find{width:100%;max-width:20rem;padding:.4rem;margin-bottom:.5rem;font:inherit}
@media(max-width:40rem){.heat th:first-child{white-space:normal;min-width:9rem}
.bar{grid-template-columns:1fr auto;margin-bottom:.5rem}
.bar i{grid-row:2;grid-column:1/3}.plot text{font-size:19px}td,th{padding:.25rem .4rem}
main{padding:.75rem}.code span{padding-left:2.6rem}.code span::before{width:2rem}}
"""

SCRIPT = """
for (const find of document.querySelectorAll(".find"))
  find.addEventListener("input", () => {
    for (const one of find.parentElement.querySelectorAll("details"))
      one.hidden = !one.firstElementChild.textContent.includes(find.value);
  });
const centre = (one) => { one.scrollLeft = (one.scrollWidth - one.clientWidth) / 2; };
document.querySelectorAll(".tall").forEach(centre);
for (const one of document.querySelectorAll("details"))
  one.addEventListener("toggle", () => one.querySelectorAll(".tall").forEach(centre), {once: true});
"""
