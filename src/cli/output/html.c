/* html.c - writes the parts of a page that all reports have: its head, its style and tables. */
#include "html.h"

#include "svg.h"

#include <stdlib.h>
#include <string.h>

/* Colours of the markers after Okabe and Ito, darker on light and lighter on dark pages. */
static const char style_sheet[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d1d9e0;--card:#f6f8fa;--good:#1a7f37;"
    "--mid:#8a5a00;--bad:#c02a2a;--k0:#0072b2;--k1:#c4570a;--k2:#00805e;--k3:#a8407f;--k4:#2f7fb0;--k5:#8a6d00;"
    "--k6:#6a4fb3;--k7:#3d7a2a;--k8:#b03a2e;--k9:#4a5a6a;--k10:#00707a;--k11:#7a4a20}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#3d444d;--card:#161b22;"
    "--good:#3fb950;--mid:#d8a031;--bad:#ff7b72;--k0:#56b4e9;--k1:#f28b3c;--k2:#2fc79b;--k3:#e28fc0;--k4:#8fc7ee;"
    "--k5:#e0c341;--k6:#b3a0f0;--k7:#8fd07a;--k8:#ff8f80;--k9:#a8b8c8;--k10:#4fd0d8;--k11:#d8a878}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--bg);color:var(--fg);"
    "font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "h1{font-size:1.6rem;margin:.4rem 0}h2{font-size:1.3rem;margin:2.2rem 0 .4rem;padding-top:.6rem;"
    "border-top:1px solid var(--line)}h3{font-size:1.05rem;margin:1.4rem 0 .2rem}p{margin:.4rem 0;max-width:46rem}"
    ".soft,figcaption{color:var(--soft)}nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.6rem 0}"
    "a{color:var(--k0)}nav a{padding:.35rem 0}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.6rem;margin:1rem 0;padding:0}"
    ".cards div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}"
    ".cards dt{color:var(--soft);font-size:.85rem}.cards dd{margin:0;font-size:1.25rem;font-weight:600}"
    ".cards dd small{display:block;font-size:.8rem;font-weight:400;color:var(--soft)}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr));gap:1rem}"
    "figure{margin:0;padding:.5rem;background:var(--card);border:1px solid var(--line);border-radius:.5rem}"
    "figcaption{font-size:.9rem;padding:0 .2rem "
    ".3rem}svg{display:block;width:100%;height:auto;max-width:38rem;margin:0 auto}"
    "svg text{font:11.5px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--fg)}"
    ".grid{stroke:var(--line);stroke-width:.7;fill:none}.axis{stroke:var(--soft);fill:none}"
    ".roof{stroke:var(--fg);stroke-width:1.6;stroke-dasharray:5 3;fill:none}"
    ".band{stroke:var(--fg);stroke-opacity:.2;stroke-width:11;fill:none;stroke-linecap:round;stroke-linejoin:round}"
    ".line{fill:none;stroke:var(--k);stroke-width:1.4}.m{fill:var(--k)}.h{fill:none;stroke:var(--k);stroke-width:1.8}"
    ".c0{--k:var(--k0)}.c1{--k:var(--k1)}.c2{--k:var(--k2)}.c3{--k:var(--k3)}.c4{--k:var(--k4)}.c5{--k:var(--k5)}"
    ".c6{--k:var(--k6)}.c7{--k:var(--k7)}.c8{--k:var(--k8)}.c9{--k:var(--k9)}.c10{--k:var(--k10)}.c11{--k:var(--k11)}"
    ".c12{--k:var(--k0)}.c13{--k:var(--k1)}.c14{--k:var(--k2)}.c15{--k:var(--k3)}"
    ".scroll{overflow-x:auto;margin:.6rem 0;border:1px solid var(--line);border-radius:.5rem}"
    ".scroll:focus-visible{outline:2px solid var(--k0)}"
    "table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.4rem .6rem;color:var(--soft)}"
    "th,td{padding:.3rem .6rem;text-align:left;white-space:nowrap;border-top:1px solid var(--line)}"
    "thead th{background:var(--card);border-top:0}.n{text-align:right}td.wide{white-space:normal;min-width:14rem}"
    ".good{color:var(--good)}.mid{color:var(--mid)}.bad{color:var(--bad);font-weight:600}"
    "tr.ours td,tr.ours th{font-weight:600}summary{cursor:pointer;padding:.4rem 0}";

void html_text(bp__text *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    svg_escape(out, text);
    free(text);
}

void html_page_begin(bp__text *out, const char *title) {
    bp__text_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>");
    svg_escape(out, title);
    bp__text_addf(out, "</title><style>%s</style></head>\n<body>", style_sheet);
}

/* ---- Tables ---- */

void html_table_begin(bp__text *out, const char *caption, const char *headers) {
    bp__text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    svg_escape(out, caption);
    bp__text_add(out, "\"><table><caption>");
    svg_escape(out, caption);
    bp__text_add(out, "</caption><thead><tr>");
    while (*headers) {
        bool right = *headers == '>';
        headers += right;
        size_t length = strcspn(headers, "|");
        bp__text_addf(out, "<th scope=\"col\"%s>", right ? " class=\"n\"" : "");
        html_text(out, "%.*s", (int)length, headers);
        bp__text_add(out, "</th>");
        headers += length + (headers[length] == '|');
    }
    bp__text_add(out, "</tr></thead><tbody>\n");
}

void html_table_end(bp__text *out) {
    bp__text_add(out, "</tbody></table></div>\n");
}

void html_head_cell(bp__text *out, const char *text) {
    bp__text_add(out, "<th scope=\"row\">");
    svg_escape(out, text);
    bp__text_add(out, "</th>");
}

void html_cell(bp__text *out, const char *kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    bp__text_addf(out, kind[0] ? "<td class=\"%s\">" : "<td>", kind);
    svg_escape(out, text);
    bp__text_add(out, "</td>");
    free(text);
}
