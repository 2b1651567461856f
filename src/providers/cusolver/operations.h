/* operations.h - declares the routes of the operations for the table in operations.c, and the multiplications and
 * additions of an item. */
#ifndef BP_PROVIDERS_CUSOLVER_OPERATIONS_H
#define BP_PROVIDERS_CUSOLVER_OPERATIONS_H

#include "providers/cusolver/cusolver.h"

void bp__cusolver_route_qr(bp__cusolver_builder *b);
void bp__cusolver_route_eigh(bp__cusolver_builder *b);
void bp__cusolver_route_svd(bp__cusolver_builder *b);

double bp__cusolver_work_qr(const bp_linalg_problem *l);
double bp__cusolver_work_eigh(const bp_linalg_problem *l);
double bp__cusolver_work_svd(const bp_linalg_problem *l);

#endif
