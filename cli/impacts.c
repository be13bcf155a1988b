/* The impacts of a run: lines of the summary, --json, --events (docs/formats.md). */

#include "impacts.h"

#include <math.h>
#include <string.h>

void cli_impacts_print(FILE *out, const cli_impacts *x)
{
    const cli_impact *largest = &x->largest;
    if (x->count <= 0) return;
    fprintf(out, "%ld impact%s, %s%.3g%s%s at t = %.6g s (%s", x->count, x->count == 1 ? "" : "s",
            x->count == 1 ? "" : "the largest ", largest->is.impulse, largest->unit[0] ? " " : "",
            largest->unit, largest->is.time, largest->contact);
    fprintf(out, "%s%s)", largest->bodies[0] ? ": " : "", largest->bodies);
    if (isfinite(x->energy))
        fprintf(out, "; energy %s: %.3g J", x->energy < 0 ? "gained" : "lost", fabs(x->energy));
    else
        fprintf(out, "; energy not known: units do not tell it");
    fprintf(out, "\n");
}

static cJSON *impact_json(const cli_impact *x)
{
    cJSON *o = cJSON_CreateObject();
    cli_json_add_number(o, "time", x->is.time);
    cli_json_add_text(o, "contact", x->contact);
    cli_json_add_text(o, "bodies", x->bodies[0] ? x->bodies : NULL);
    cli_json_add_number(o, "impulse", x->is.impulse);
    cli_json_add_number(o, "friction", x->is.friction);
    cli_json_add_text(o, "unit", x->unit);
    cli_json_add_number(o, "energy", x->is.energy);
    cJSON_AddItemToObject(o, "point",
                          isnan(x->is.point[0]) ? cJSON_CreateNull()
                                                : cJSON_CreateDoubleArray(x->is.point, 3));
    return o;
}

cJSON *cli_impacts_json(const cli_impacts *x, cli_impact_list *list)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "count", (double)x->count);
    cli_json_add_number(o, "energy", x->energy);
    cJSON_AddItemToObject(o, "largest",
                          x->count > 0 ? impact_json(&x->largest) : cJSON_CreateNull());
    cJSON_AddItemToObject(o, "list", list->json ? list->json : cJSON_CreateArray());
    list->json = NULL;
    return o;
}

perp_status cli_events_open(perp__output *file, const char *path, perp_diag *diag)
{
    if (!perp__output_open(file, path, 0)) return perp__cannot_write(diag, path);
    fprintf(file->file, "t,contact,bodies,impulse,friction,unit,energy,x,y,z\n");
    return PERP_OK;
}

/* A field, in quotes where it has a comma or a quote. */
static void write_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\n"))
        perp__output_quoted(out, text);
    else
        fputs(text, out);
}

/* Empty if not known. */
static void write_number(FILE *out, double x)
{
    char text[PERP_NUMBER_SIZE];
    perp_number_write(x, text);
    fprintf(out, ",%s", isnan(x) ? "" : text);
}

static void write_row(perp__output *file, const cli_impact *x)
{
    FILE *out = file->file;
    char text[PERP_NUMBER_SIZE];
    perp_number_write(x->is.time, text);
    fprintf(out, "%s,", text);
    write_text(out, x->contact);
    fputc(',', out);
    write_text(out, x->bodies);
    write_number(out, x->is.impulse);
    write_number(out, x->is.friction);
    fputc(',', out);
    write_text(out, x->unit);
    write_number(out, x->is.energy);
    for (int k = 0; k < 3; k++) write_number(out, x->is.point[k]);
    fputc('\n', out);
}

perp_status cli_events_close(perp__output *file, const char *path, int is_whole, perp_diag *diag)
{
    if (!file->file) return PERP_OK;
    return perp__output_close(file, is_whole ? PERP__REPLACE : PERP__PARTIAL)
               ? PERP_OK
               : perp__cannot_write(diag, path);
}

int cli_impact_list_is_wanted(const cli_impact_list *list)
{
    return list->events.file || list->json;
}

void cli_impact_list_add(cli_impact_list *list, const cli_impact *impact)
{
    if (list->events.file) write_row(&list->events, impact);
    if (list->json) cJSON_AddItemToArray(list->json, impact_json(impact));
}
