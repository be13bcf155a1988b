/* Which parts and functions of a library in the language some texts use. */

#ifndef PERP_TEST_LIBRARY_USE_H
#define PERP_TEST_LIBRARY_USE_H

/* What `library` defines, a text as in lib/, and none of n texts uses: its names, a blank behind each. A part that a used one is made from is used.
 * To be freed. */
char *unused_of(const char *library, char *const *text, int n);

/* The models in files that match the pattern, and between ```perp and ``` in a document, that have `use "library"`. Each to be freed, and the list;
 * *n is how many. Call with *n = 0 first, or with a list to add to. */
char **add_models_using(char **list, int *n, const char *library, const char *pattern);

#endif
