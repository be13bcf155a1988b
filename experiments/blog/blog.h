/* The parts of the study of the blog. */

#ifndef PERP_EXPERIMENT_BLOG_STUDY_H
#define PERP_EXPERIMENT_BLOG_STUDY_H

void exact_law(void);    /* perp's run beside the closed form */
void program_runs(void); /* the blog's program, run step by step, beside perp's */
void smoothed_law(void); /* tanh friction beside the exact law */

#endif
