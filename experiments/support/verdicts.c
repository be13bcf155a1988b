#include "verdicts.h"

#include <stdio.h>

int failures;

void verdict(const char *claim, int holds)
{
    printf("  %-5s %s\n", holds ? "holds" : "FAILS", claim);
    failures += !holds;
}
