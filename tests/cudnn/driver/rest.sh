# rest.sh STUB SOURCE - prints C functions that return 0 for all functions of CUDA's driver, by the toolkit's stub of it,
# that the source does not have.
{
    nm -D --defined-only "$1" | awk '{ print $3 }' | grep '^cu'
    echo cuModuleGetLoadingMode
} | sort -u | while read -r name; do
    grep -q "[ (]$name[,()]" "$2" || echo "int $name(void);
__attribute__((visibility(\"default\"))) int $name(void) { return 0; }"
done
