/* search.h - declares the search of all loaded objects for a definition. */
#ifndef BP_DROPIN_SEARCH_H
#define BP_DROPIN_SEARCH_H

#include <stdbool.h>

/* Returns the first definition of a name that `accepts` takes, of the objects in the order of their loading, also of
 * those that were opened locally; NULL if there is none. Its object stays loaded. Must not be called with a lock that a
 * constructor may need. */
void *bp__dropin_search(const char *name, bool (*accepts)(void *definition, const void *user), const void *user);

#endif
