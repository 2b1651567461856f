/* client_module.c - opens the module that the first argument names and runs its client_main() with the other ones, as
 * Python does with an extension module. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    int (*client_main)(int, char **) = NULL;
    void *module = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *found = module ? dlsym(module, "client_main") : NULL;
    if (!found) {
        printf("%s\n", dlerror());
        return 1;
    }
    memcpy(&client_main, &found, sizeof client_main);
    return client_main(count - 1, words + 1);
}
