/* pool.h - stops the thread pool after a group of tests. */
#ifndef BP_TESTS_SUPPORT_POOL_H
#define BP_TESTS_SUPPORT_POOL_H

/* For cmocka_run_group_tests(): stops the threads, so that none exists when leaks are searched for. */
int test_stop_pool(void **state);

#endif
