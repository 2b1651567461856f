/* pool.h - the end of a group of tests that ran tasks on the library's threads. */
#ifndef BP_TESTS_SUPPORT_POOL_H
#define BP_TESTS_SUPPORT_POOL_H

/* For cmocka_run_group_tests(): stops the threads, so that none is left when leaks are looked for. */
int test_stop_pool(void **state);

#endif
