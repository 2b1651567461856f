/* support_launch.h - runs programs as `backplane launch` does. */
#ifndef SUPPORT_LAUNCH_H
#define SUPPORT_LAUNCH_H

/* Runs a shell command whose program calls the hooks library through the audit object. `environment` has further
 * variables, such as "A=1 B=2". Returns the exit status, and the output in a static buffer. */
int launch(const char *environment, const char *command, const char **output);

/* Returns whether the build has the hooks library and the audit object. If not, prints why. */
int can_launch(void);

#endif
