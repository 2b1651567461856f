/* html.c - writes the parts of a page that all reports have: its head, its style and tables. */
#include "html.h"

#include "svg.h"

#include <stdlib.h>
#include <string.h>

/* Colours of the markers after Okabe and Ito, darker on light and lighter on dark pages. On narrow screens a row of a
 * table is a block, and a cell a line with the name of its column; on very wide ones facts have two columns. */
static const char style_sheet[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d1d9e0;--card:#f6f8fa;--good:#1a7f37;"
    "--mid:#8a5a00;--bad:#c02a2a;--note:#0a5fb4;--k0:#0072b2;--k1:#c4570a;--k2:#00805e;--k3:#a8407f;--k4:#2f7fb0;"
    "--k5:#8a6d00;--k6:#6a4fb3;--k7:#3d7a2a;--k8:#b03a2e;--k9:#4a5a6a;--k10:#00707a;--k11:#7a4a20}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#3d444d;--card:#161b22;"
    "--good:#3fb950;--mid:#d8a031;--bad:#ff7b72;--note:#6cb6ff;--k0:#56b4e9;--k1:#f28b3c;--k2:#2fc79b;--k3:#e28fc0;"
    "--k4:#8fc7ee;--k5:#e0c341;--k6:#b3a0f0;--k7:#8fd07a;--k8:#ff8f80;--k9:#a8b8c8;--k10:#4fd0d8;--k11:#d8a878}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0 auto;padding:1rem;max-width:78rem;background:var(--bg);color:var(--fg);"
    "font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "h1{font-size:1.6rem;line-height:1.25;margin:.4rem 0}h2{font-size:1.25rem;margin:2rem 0 .6rem;padding-top:.8rem;"
    "border-top:1px solid var(--line)}h3{font-size:1.02rem;margin:1.2rem 0 .4rem}p{margin:.4rem 0;max-width:46rem}"
    ".soft,figcaption{color:var(--soft)}nav{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin:.6rem 0}"
    "a{color:var(--note);text-underline-offset:.15em}nav a{padding:.3rem 0}"
    "code{font:.92em ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace;background:var(--card);"
    "border:1px solid var(--line);border-radius:.25rem;padding:.05em .3em;overflow-wrap:anywhere}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.6rem;margin:1rem 0;padding:0}"
    ".cards div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}"
    ".cards dt{color:var(--soft);font-size:.85rem}.cards dd{margin:0;font-size:1.25rem;font-weight:600}"
    ".cards dd small{display:block;font-size:.8rem;font-weight:400;color:var(--soft)}"
    ".compact{max-width:46rem}.counts{grid-template-columns:repeat(3,1fr);max-width:40rem}.counts dd{color:var(--s)}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr));gap:1rem}"
    "figure{margin:0;padding:.5rem;background:var(--card);border:1px solid var(--line);border-radius:.5rem}"
    "figcaption{font-size:.9rem;padding:0 .2rem .3rem}svg{display:block;width:100%;height:auto;max-width:38rem;"
    "margin:0 auto}"
    "svg text{font:11.5px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--fg)}"
    ".grid{stroke:var(--line);stroke-width:.7;fill:none}.axis{stroke:var(--soft);fill:none}"
    ".roof{stroke:var(--fg);stroke-width:1.6;stroke-dasharray:5 3;fill:none}"
    ".band{stroke:var(--fg);stroke-opacity:.2;stroke-width:11;fill:none;stroke-linecap:round;stroke-linejoin:round}"
    ".line{fill:none;stroke:var(--k);stroke-width:1.4}.m{fill:var(--k)}.h{fill:none;stroke:var(--k);stroke-width:1.8}"
    ".c0{--k:var(--k0)}.c1{--k:var(--k1)}.c2{--k:var(--k2)}.c3{--k:var(--k3)}.c4{--k:var(--k4)}.c5{--k:var(--k5)}"
    ".c6{--k:var(--k6)}.c7{--k:var(--k7)}.c8{--k:var(--k8)}.c9{--k:var(--k9)}.c10{--k:var(--k10)}.c11{--k:var(--k11)}"
    ".c12{--k:var(--k0)}.c13{--k:var(--k1)}.c14{--k:var(--k2)}.c15{--k:var(--k3)}"
    ".findings{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,28rem),1fr));gap:.6rem;padding:0;"
    "margin:.6rem 0;list-style:none}.findings li,.steps li{overflow-wrap:anywhere}"
    ".findings li{padding:.5rem .8rem;background:var(--card);border:1px solid var(--line);border-radius:.5rem;"
    "border-left:.3rem solid var(--s)}.findings b{color:var(--s)}.findings p{margin:.15rem 0;max-width:none}header "
    "p{max-width:none}"
    ".error{--s:var(--bad)}.warning{--s:var(--mid)}.note{--s:var(--note)}.ok{--s:var(--good)}"
    ".steps{padding-left:1.6rem;max-width:60rem}.steps li{margin:.5rem 0}.steps small{display:block;color:var(--soft);"
    "font-size:.85rem}"
    ".scroll{overflow-x:auto;margin:.6rem 0;border:1px solid var(--line);border-radius:.5rem}"
    ".scroll:focus-visible{outline:2px solid var(--k0)}"
    "table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.4rem .6rem;color:var(--soft)}"
    "th,td{padding:.3rem .6rem;text-align:left;vertical-align:top;white-space:nowrap;border-top:1px solid var(--line)}"
    "thead th{background:var(--card);border-top:0}.n{text-align:right}"
    ".wide,td[colspan]{white-space:normal;overflow-wrap:anywhere}.wide{min-width:11rem}"
    ".below td{border:0;padding-top:0}.below p{margin:0;max-width:none}"
    ".good{color:var(--good)}.mid{color:var(--mid)}.bad{color:var(--bad);font-weight:600}"
    "tr.ours td,tr.ours th{font-weight:600}summary{cursor:pointer;padding:.4rem 0;overflow-wrap:anywhere}"
    "@media(max-width:68rem){:not(.list)>.scroll thead{display:none}"
    ":not(.list)>.scroll :is(table,caption,tbody,tr,th,td){display:block}"
    ":not(.list)>.scroll tr{padding:.5rem .6rem;border-top:1px solid var(--line)}"
    ":not(.list)>.scroll :is(th,td){position:relative;padding:.1rem 0 .1rem 8rem;border:0;min-width:0;"
    "min-height:1.6rem;white-space:normal;overflow-wrap:anywhere;text-align:left}"
    ":not(.list)>.scroll td:empty{display:none}"
    ":not(.list)>.scroll tbody :is(th,td)::before{content:attr(data-name);position:absolute;left:0;width:7.5rem;"
    "color:var(--soft);font-weight:400}}"
    "@media(max-width:68rem){:not(.list)>.scroll .below{border:0;padding-top:0}"
    ":not(.list)>.scroll .below td{padding-left:0}:not(.list)>.scroll .below td::before{content:none}}"
    ".list :is(th,td){white-space:normal;overflow-wrap:anywhere;min-width:6rem}.list table{table-layout:fixed}"
    ".facts{display:grid;grid-template-columns:1fr;column-gap:2rem}.facts section{min-width:0}"
    ".facts .scroll caption{display:none}@media(min-width:68.01rem){.facts{grid-template-columns:1fr 1fr}"
    ".facts section{grid-column:1/-1}.facts .list{grid-column:auto}}"
    "@media(min-width:100rem){body{max-width:120rem;padding:1.5rem 3rem}.pairs{display:grid;grid-template-columns:1fr "
    "1fr;column-gap:1rem}}";

void html_text(bp__text *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    svg_escape(out, text);
    free(text);
}

void html_prose(bp__text *out, const char *text) {
    bool code = false;
    while (*text) {
        const size_t length = strcspn(text, "`");
        const bool closed = code || strchr(text + length + (text[length] != '\0'), '`');
        html_text(out, "%.*s", (int)length, text);
        text += length;
        if (*text && closed) {
            code = !code;
            bp__text_add(out, code ? "<code>" : "</code>");
        } else if (*text) {
            bp__text_add(out, "`");
        }
        text += *text != '\0';
    }
}

void html_page_begin(bp__text *out, const char *title) {
    bp__text_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>");
    svg_escape(out, title);
    bp__text_addf(out, "</title><style>%s</style></head>\n<body>", style_sheet);
}

/* ---- Tables ---- */

/* Returns the length of the name at *header, which moves behind the mark of alignment. */
static size_t header_length(const char **header, bool *right) {
    *right = **header == '>';
    *header += *right;
    return strcspn(*header, "|");
}

static const char *header_behind(const char *header, size_t length) {
    return header + length + (header[length] == '|');
}

void html_table_begin(html_table *table, bp__text *out, const char *caption, const char *headers) {
    *table = (html_table){.out = out, .headers = headers, .at = headers};
    bp__text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    svg_escape(out, caption);
    bp__text_add(out, "\"><table><caption>");
    svg_escape(out, caption);
    bp__text_add(out, "</caption><thead><tr>");
    while (*headers) {
        bool right;
        const size_t length = header_length(&headers, &right);
        bp__text_addf(out, "<th scope=\"col\"%s>", right ? " class=\"n\"" : "");
        html_text(out, "%.*s", (int)length, headers);
        bp__text_add(out, "</th>");
        headers = header_behind(headers, length);
    }
    bp__text_add(out, "</tr></thead><tbody>\n");
}

static void end_row(html_table *table) {
    bp__text_add(table->out, table->below ? "</td></tr>\n" : table->at == table->headers ? "" : "</tr>\n");
    table->at = table->headers;
    table->below = false;
}

void html_table_end(html_table *table) {
    end_row(table);
    bp__text_add(table->out, "</tbody></table></div>\n");
}

void html_row(html_table *table, const char *kind) {
    end_row(table);
    bp__text_addf(table->out, kind[0] ? "<tr class=\"%s\">" : "<tr>", kind);
}

/* Adds the name of the column, for the style sheet, which shows it on narrow screens. */
static void name_cell(html_table *table, const char *kind, int span) {
    bool right;
    const bool first = table->at == table->headers;
    const size_t length = header_length(&table->at, &right);
    bp__text_add(table->out, first ? "<th scope=\"row\"" : "<td");
    if (kind[0] || right) {
        bp__text_addf(table->out, " class=\"%s%s%s\"", kind, kind[0] && right ? " " : "", right ? "n" : "");
    }
    if (span > 1) {
        bp__text_addf(table->out, " colspan=\"%d\"", span);
    }
    bp__text_add(table->out, " data-name=\"");
    html_text(table->out, "%.*s", (int)length, table->at);
    bp__text_add(table->out, "\">");
    table->at = header_behind(table->at, length);
}

void html_cell(html_table *table, const char *kind, const char *format, ...) {
    const bool first = table->at == table->headers;
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    name_cell(table, kind, 1);
    html_prose(table->out, text);
    bp__text_add(table->out, first ? "</th>" : "</td>");
    free(text);
}

static int count_columns(const char *headers) {
    int count = *headers != '\0';
    for (; *headers; headers++) {
        count += *headers == '|';
    }
    return count;
}

void html_below(html_table *table, const char *name, const char *text) {
    if (!table->below) {
        end_row(table);
        bp__text_addf(table->out, "<tr class=\"below\"><td colspan=\"%d\">", count_columns(table->headers));
        table->below = true;
    }
    bp__text_add(table->out, "<p><span class=\"soft\">");
    html_text(table->out, "%s", name);
    bp__text_add(table->out, "</span> ");
    html_prose(table->out, text);
    bp__text_add(table->out, "</p>");
}

void html_rest(html_table *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    name_cell(table, "", count_columns(table->at));
    html_prose(table->out, text);
    bp__text_add(table->out, "</td>");
    free(text);
}
