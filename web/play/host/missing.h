/* What POSIX declares and this host's headers do not; perp.c has them. Included before every file. */

#ifndef PERP_PLAY_MISSING_H
#define PERP_PLAY_MISSING_H

#include <sys/types.h>

char *realpath(const char *path, char *real);
int fchown(int file, uid_t owner, gid_t group);
int fchmod(int file, mode_t mode);
int chmod(const char *path, mode_t mode);
int kill(pid_t process, int signal_number);

#endif
