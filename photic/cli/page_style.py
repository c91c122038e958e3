"""The look of the page, and the few lines of script that find a kernel."""

STYLE = """
:root{color-scheme:light dark;--back:#fbfbfa;--text:#1d2126;--dim:#626a73;--line:#dcdfe3;
--fill:#2563a8}
@media(prefers-color-scheme:dark){:root{--back:#15181c;--text:#e4e7ea;--dim:#98a1ab;--line:#30363d;
--fill:#6ba8e8}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:70rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .5rem}
h3{font-size:.95rem;margin:.75rem 0 .25rem}p{color:var(--dim);max-width:45rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr));gap:.75rem;margin:0}
dt{color:var(--dim)}dd{margin:0}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--dim);font-weight:500}
th:first-child,td:first-child,th:last-child,td:last-child{text-align:left}
td:last-child{white-space:normal;min-width:14rem}
summary{cursor:pointer;padding:.2rem 0;overflow-wrap:anywhere}
pre{overflow-x:auto;border:1px solid var(--line);padding:.75rem;font-size:.8rem;max-height:30rem}
.bar{display:grid;grid-template-columns:minmax(7rem,16rem) 1fr 6rem;gap:.75rem;align-items:center}
.bar i{background:var(--line);height:.7rem}.bar b{display:block;height:100%;background:var(--fill)}
.bar span:last-child{text-align:right;font-variant-numeric:tabular-nums}
svg{width:100%;max-width:48rem}svg text{fill:var(--dim);font-size:12px}
.grid path{stroke:var(--line)}.roof{fill:none;stroke:var(--text);stroke-width:2}
circle{fill:var(--fill);fill-opacity:.65}
@media(max-width:40rem){.bar{grid-template-columns:1fr auto;margin-bottom:.5rem}
.bar i{grid-row:2;grid-column:1/3}svg text{font-size:19px}td,th{padding:.25rem .4rem}}
.find{width:100%;max-width:20rem;padding:.4rem;margin-bottom:.5rem;font:inherit}
"""

SCRIPT = """
for (const find of document.querySelectorAll(".find"))
  find.addEventListener("input", () => {
    for (const one of find.parentElement.querySelectorAll("details"))
      one.hidden = !one.firstElementChild.textContent.includes(find.value);
  });
"""
