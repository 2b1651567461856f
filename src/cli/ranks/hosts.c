/* hosts.c - reads the option --hosts: how many ranks each host has. */
#include "cli/ranks/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct host {
    char *name;
    int64_t ranks; /* 0: it is not given */
} host;

struct ranks_hosts {
    char *text; /* the names are in it */
    int count;
    host *list;
};

/* Names of hosts and addresses. A name that begins with '-' would be an option of the launcher. */
static bool is_name(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return *text && *text != '-' && strspn(text, letters) == strlen(text);
}

static int read_host(host *h, char *text) {
    char *colon = strchr(text, ':'), *end = NULL;
    h->name = text;
    h->ranks = 0;
    if (colon) {
        *colon = '\0';
        errno = 0;
        h->ranks = strtoll(colon + 1, &end, 10);
    }
    if (!is_name(text) || (colon && (errno || end == colon + 1 || *end || h->ranks < 1 || h->ranks > RANKS_MOST))) {
        return cli_fail(CLI_USAGE, "--hosts has '%s%s%s'; it must be a name, or a name and ranks such as %s:2", text,
                        colon ? ":" : "", colon ? colon + 1 : "", is_name(text) ? text : "host");
    }
    return CLI_OK;
}

/* Divides the ranks: the first hosts have one more. Hosts without a rank are left out. */
static void divide(ranks_hosts *hosts, int64_t ranks) {
    const int64_t share = ranks / hosts->count, rest = ranks % hosts->count;
    for (int i = 0; i < hosts->count; i++) {
        hosts->list[i].ranks = share + (i < rest);
    }
    hosts->count = share > 0 ? hosts->count : (int)rest;
}

static int check_sum(const ranks_hosts *hosts, int64_t ranks) {
    int64_t sum = 0, given = 0;
    for (int i = 0; i < hosts->count; i++) {
        sum += hosts->list[i].ranks;
        given += hosts->list[i].ranks > 0;
    }
    if (given > 0 && given < hosts->count) {
        return cli_fail(CLI_USAGE, "--hosts has the ranks of some hosts only; give them for all, or for none");
    }
    return given == 0 || sum == ranks
               ? CLI_OK
               : cli_fail(CLI_USAGE, "--hosts has %lld ranks, but -n is %lld", (long long)sum, (long long)ranks);
}

static int read_list(ranks_hosts *hosts, int64_t ranks) {
    char *rest = hosts->text;
    int code = CLI_OK;
    while (code == CLI_OK && rest) {
        char *comma = strchr(rest, ',');
        if (comma) {
            *comma = '\0';
        }
        code = read_host(&hosts->list[hosts->count++], rest);
        rest = comma ? comma + 1 : NULL;
    }
    code = code == CLI_OK ? check_sum(hosts, ranks) : code;
    if (code == CLI_OK && hosts->list[0].ranks == 0) {
        divide(hosts, ranks);
    }
    return code;
}

int ranks_hosts_read(const char *text, int64_t ranks, ranks_hosts **made) {
    ranks_hosts *hosts = cli_allocate(sizeof *hosts);
    hosts->text = cli_format("%s", text);
    hosts->list = cli_allocate((strlen(text) + 1) * sizeof *hosts->list);
    hosts->count = 0;
    const int code = read_list(hosts, ranks);
    if (code != CLI_OK) {
        ranks_hosts_free(hosts);
        hosts = NULL;
    }
    *made = hosts;
    return code;
}

void ranks_hosts_free(ranks_hosts *hosts) {
    if (hosts) {
        free(hosts->text);
        free(hosts->list);
        free(hosts);
    }
}

int64_t ranks_hosts_most(const ranks_hosts *hosts) {
    int64_t most = 0;
    for (int i = 0; i < hosts->count; i++) {
        most = hosts->list[i].ranks > most ? hosts->list[i].ranks : most;
    }
    return most;
}

char *ranks_hosts_list(const ranks_hosts *hosts) {
    char *list = cli_format("%s", "");
    for (int i = 0; i < hosts->count; i++) {
        char *longer =
            cli_format("%s%s%s:%lld", list, i > 0 ? "," : "", hosts->list[i].name, (long long)hosts->list[i].ranks);
        free(list);
        list = longer;
    }
    return list;
}
