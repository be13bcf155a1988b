/* Internal: derivatives of a stretch through located events, backward. What a run did is noted in
 * records, and gone back through. */

#ifndef PERP_SRC_BACKWARD_H
#define PERP_SRC_BACKWARD_H

#include "simulate/collocation.h"
#include "simulate/records.h"
#include "simulate/sensitivity.h"

typedef enum perp__noted {
    PERP__NOTED_SOLVED,  /* a step of the run's own problem */
    PERP__NOTED_IN_MODE, /* one in a mode */
    PERP__NOTED_AGAIN,   /* the one before did end at an event */
    PERP__NOTED_JUMP,    /* two short steps for what happens at once */
    PERP__NOTED_SHORT,   /* a short step as a real one */
    PERP__NOTED_ROW,     /* a row */
    PERP__NOTED_LEFT     /* the states of the row before it go on, at its time */
} perp__noted;

/* Where in the stretch a record is of: its step, whose inputs go in lines from one time to the
 * other. */
typedef struct perp__stamp {
    long step;
    double begin, end;
    perp__noted kind;
    int row;      /* the row that ended the step, or -1; of a row: was the last a short step? */
    int is_given; /* a short step ended at a given time */
} perp__stamp;

/* What has derivatives, and what they are backward. Arrays are the caller's. */
typedef struct perp__backward {
    perp__records records;
    perp__stamp stamp; /* of the step in hand */
    size_t mark;       /* where its records begin */
    int is_new;        /* nothing was noted yet: there is no step to end at an event */
    int wants_row;     /* the row of the step in hand has weights */
    perp__step *whole, *probe;
    perp__sensitivity *of_whole, *of_probe[2];
    perp__collocation_slopes *slopes;
    double *state, time;  /* derivatives by the states and the time where we are */
    double *param;        /* sum so far */
    double *given;        /* twice the tables: at the end of the record, and before it */
    double *now, *before; /* of the record, by what each table was set to last, and before that */
    double *pend_state, pend_time; /* what a step that did not end so gets besides */
    int is_pending;
    double *rate, *var,
        *slope; /* weights of a row: at a time that does not move; vars; states before the row */
    double *eta, *move, *by_length, *weight; /* scratch */
    double step; /* of the run: states before a row are so far from it */
    perp__arena arena;
} perp__backward;

/* 0 when memory is out. */
int perp__backward_create(perp__backward *b);
void perp__backward_clear(perp__backward *b);

/* Of the records of a step, about. */
size_t perp__backward_bytes(const perp__backward *b);

/* Notes. */
void perp__backward_note_solved(perp__backward *b);
void perp__backward_note_in_mode(perp__backward *b, perp__noted kind, int row);
void perp__backward_note_short(perp__backward *b, perp__noted kind, int is_given);
void perp__backward_note_row(perp__backward *b, int is_short);
void perp__backward_note_left(perp__backward *b);

/* Through the last record. *stamp: its place. weight: of its row's columns, if it has one, else
 * NULL. b->now and b->before are then its derivatives by values of the tables. Returns 0 if the
 * step's sides do not determine it. */
int perp__backward_pop(perp__backward *b, perp__stamp *stamp,
                       const double *(*weight)(void *context, const perp__stamp *stamp),
                       void *context);

#endif
