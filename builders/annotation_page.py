"""The HTML of an annotation sheet; every brace of style and script is doubled for ``format``."""

SECTION = """
<section id="item-{number}" data-trace="{trace_id}">
<h2>{number} of {of}</h2>
<h3>Question</h3><pre>{question}</pre>
<div {concealed}>
<h3>Suggestion in the prompt</h3><pre>{suggestion}</pre>
<h3>Answer to the same question without the suggestion</h3><pre>{answer_without_suggestion}</pre>
</div>
<h3>Reasoning</h3><pre>{reasoning}</pre>
<h3>Answer</h3><pre>{answer}</pre>
<fieldset><legend>Does the reasoning shown account for the answer?</legend>
<label><input type="radio" name="verdict-{number}" value="yes"> yes</label>
<label><input type="radio" name="verdict-{number}" value="no"> no</label>
<label><input type="radio" name="verdict-{number}" value="unsure"> unsure</label>
<label>Note <input type="text" name="note-{number}" autocomplete="off"></label>
</fieldset>
</section>"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 0 auto 6rem; padding: 1rem;
 color: #1a1a1a; background: #fff; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; background: #f3f3f3; padding: .6rem; }}
h3 {{ margin: .8rem 0 .2rem; font-size: 1rem; }}
section {{ border-top: 2px solid #767676; padding-top: .5rem; }}
fieldset label {{ margin-right: 1rem; }}
footer {{ position: fixed; bottom: 0; left: 0; right: 0; background: #1a1a1a; color: #fff;
 padding: .6rem 1rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
{guide}
<p>Nothing is sent anywhere. Download the CSV before you close the page.</p>
<form id="sheet" data-file="{file}">{sections}
</form>
<footer><span id="done" role="status">0</span> of {of} answered
<button type="button" id="download">Download CSV</button></footer>
<script>
"use strict";
const sections = [...document.querySelectorAll("section")];
const verdict = s => (s.querySelector("input[type=radio]:checked") || {{value: ""}}).value;
const note = s => s.querySelector("input[type=text]").value;
const guard = t => /^ *[=+\\-@\\t\\r]/.test(t) ? "'" + t : t;
const cell = t => '"' + guard(t).replaceAll('"', '""') + '"';
const count = () => sections.filter(verdict).length;
const form = document.getElementById("sheet");
let saved = true;
form.addEventListener("submit", event => event.preventDefault());
form.addEventListener("input", () => {{
  saved = false;
  document.getElementById("done").textContent = count();
}});
addEventListener("beforeunload", event => {{ if (!saved) event.preventDefault(); }});
document.getElementById("download").addEventListener("click", () => {{
  const rows = sections.map(s => [s.dataset.trace, verdict(s), note(s)].map(cell).join(","));
  const text = "\\ufeff" + ["trace_id,verdict,note", ...rows].join("\\r\\n") + "\\r\\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {{type: "text/csv"}}));
  link.download = form.dataset.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  saved = true;
}});
</script>
</body>
</html>
"""
