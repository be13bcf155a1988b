/* The sections of the LCP notes (2019-08), one file each. */

#ifndef PERP_EXPERIMENT_NOTES_H
#define PERP_EXPERIMENT_NOTES_H

void falling_block(void); /* 1 */
void forward(void);       /* 2.1 */
void direct(void);        /* 2.2, 2.3 */
void plane(void);         /* 2.4 */
void direct_2(void);      /* 2.5 */
void traditional(void);   /* 2.6 */
void mixed(void);         /* 2.6.1 */
void particle(void);      /* 2.7 */
void polygon(void);       /* 2.8 */
void perturbations(void); /* 3.2 */

#endif
