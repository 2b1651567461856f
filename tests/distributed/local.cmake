# Programs that a launcher of MPI starts on several ranks. They use the public interface only, and no header of MPI.
find_package(Python3 COMPONENTS Interpreter)
set(ranks_programs ${CMAKE_CURRENT_BINARY_DIR}/distributed)
foreach(program values refusals spectra volume files engines singular)
    add_executable(ranks_${program} ${CMAKE_CURRENT_LIST_DIR}/ranks_${program}.c ${CMAKE_CURRENT_LIST_DIR}/ranks_common.c)
    target_include_directories(ranks_${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(ranks_${program} PRIVATE backplane backplane_flags m dl pthread)
    set_target_properties(ranks_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ranks_programs})
    add_dependencies(ranks_${program} ${runtime_parts})
endforeach()
add_library(ranks_count MODULE ${CMAKE_CURRENT_LIST_DIR}/count.c)
target_link_libraries(ranks_count PRIVATE backplane_flags dl)
set_target_properties(ranks_count PROPERTIES PREFIX "" OUTPUT_NAME count C_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY ${ranks_programs})

# Adds a test: the arguments of run.py after BUILD. Ranks wait for each other, so that a test takes two processors.
function(add_ranks_test name)
    if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
        add_project_test(distributed_${name} ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/run.py ${CMAKE_BINARY_DIR} ${ARGN})
        set_tests_properties(distributed_${name} PROPERTIES PROCESSORS 2)
    endif()
endfunction()

# MPICH polls without giving up the processor, so that it has no more ranks than two here.
foreach(case openmpi:1 openmpi:2 openmpi:4 mpich:1 mpich:2)
    string(REPLACE ":" ";" case ${case})
    list(GET case 0 mpi)
    list(GET case 1 ranks)
    foreach(program values refusals spectra files)
        add_ranks_test(${mpi}_${ranks}_${program} ${mpi} ${ranks} --says " 0 failed" ${ranks_programs}/ranks_${program})
    endforeach()
endforeach()
add_ranks_test(openmpi_2_singular openmpi 2 --says " 0 failed" ${ranks_programs}/ranks_singular)

# The same on MKL's ScaLAPACK.
foreach(case openmpi:2 openmpi:4 mpich:2)
    string(REPLACE ":" ";" case ${case})
    list(GET case 0 mpi)
    list(GET case 1 ranks)
    foreach(program values refusals spectra singular)
        add_ranks_test(mkl_${mpi}_${ranks}_${program} ${mpi} ${ranks} --engine mkl --says " 0 failed" ${ranks_programs}/ranks_${program})
        if((ranks EQUAL 4 OR mpi STREQUAL mpich) AND TEST distributed_mkl_${mpi}_${ranks}_${program})
            set_tests_properties(distributed_mkl_${mpi}_${ranks}_${program} PROPERTIES LABELS long)
        endif()
    endforeach()
    add_ranks_test(engines_${mpi}_${ranks} ${mpi} ${ranks} --engine both --says " 0 failed" ${ranks_programs}/ranks_engines)
    if(ranks EQUAL 4 AND TEST distributed_engines_${mpi}_${ranks})
        set_tests_properties(distributed_engines_${mpi}_${ranks} PROPERTIES LABELS long)
    endif()
endforeach()
add_ranks_test(mkl_volume openmpi 4 --engine mkl --says " 0 failed" --preload ${ranks_programs}/count.so --set BACKPLANE_REGISTRY_DEEPBIND=off
    ${ranks_programs}/ranks_volume)
if(TEST distributed_mkl_volume)
    set_tests_properties(distributed_mkl_volume PROPERTIES LABELS long)
endif()
add_ranks_test(engines_mixed openmpi 2 --engine both --says " 0 failed" --set BACKPLANE_REGISTRY_DEEPBIND=off ${ranks_programs}/ranks_engines mixed)
# Libraries that must not be opened in a program.
find_library(real_scalapack NAMES libscalapack-openmpi.so.2.2)
if(real_scalapack AND NOT CMAKE_CROSSCOMPILING)
    foreach(case 1:crash 2:hang 3:wrong)
        string(REPLACE ":" ";" case ${case})
        list(GET case 0 number)
        list(GET case 1 name)
        set(folder ${ranks_programs}/engine-${name})
        add_library(engine_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/engine_double.c)
        target_compile_definitions(engine_${name} PRIVATE BROKEN_ENGINE=${number})
        target_link_libraries(engine_${name} PRIVATE backplane_flags -Wl,--no-as-needed ${real_scalapack})
        set_target_properties(engine_${name} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME libscalapack-openmpi.so.2.2
            C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${folder})
        add_ranks_test(engine_${name} openmpi 2 --says " 0 failed" --set BACKPLANE_REGISTRY_LIBRARY_PATH=${folder}
            --set BACKPLANE_REGISTRY_PROBE_TIMEOUT=2000 ${ranks_programs}/ranks_engines ${name})
    endforeach()
endif()
# One rank has no library: all refuse.
add_ranks_test(engines_absent openmpi 2 --says " 0 failed" --preload libmpi.so.40 ${ranks_programs}/ranks_engines absent)
foreach(ranks 2 4 9 16)
    add_ranks_test(volume_${ranks} openmpi ${ranks} --says " 0 failed" --preload ${ranks_programs}/count.so --set BACKPLANE_REGISTRY_DEEPBIND=off
        ${ranks_programs}/ranks_volume)
endforeach()

# A matrix that four ranks have written is read by other numbers of ranks, with another MPI too.
set(checkpoint ${ranks_programs}/checkpoint.npy)
add_ranks_test(save openmpi 4 --says " 0 failed" ${ranks_programs}/ranks_files save ${checkpoint})
add_ranks_test(load_openmpi_1 openmpi 1 --says " 0 failed" ${ranks_programs}/ranks_files load ${checkpoint})
add_ranks_test(load_openmpi_2 openmpi 2 --says " 0 failed" ${ranks_programs}/ranks_files load ${checkpoint})
add_ranks_test(load_mpich_2 mpich 2 --says " 0 failed" ${ranks_programs}/ranks_files load ${checkpoint})
if(TEST distributed_save)
    set_tests_properties(distributed_save PROPERTIES FIXTURES_SETUP checkpoint)
    set_tests_properties(distributed_load_openmpi_1 distributed_load_openmpi_2 distributed_load_mpich_2 PROPERTIES FIXTURES_REQUIRED checkpoint)
endif()

if(TEST distributed_volume_16)
    set_tests_properties(distributed_volume_9 distributed_volume_16 PROPERTIES LABELS long)
endif()

# Two hosts, with a network between them, which is cut in one of the tests.
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
    set(two_hosts ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/two_hosts.py)
    add_project_test(distributed_two_hosts ${two_hosts} --says " 0 failed" ${ranks_programs}/ranks_refusals)
    add_project_test(distributed_two_hosts_files ${two_hosts} --says " 0 failed" ${ranks_programs}/ranks_files save ${ranks_programs}/two-hosts.npy)
    add_project_test(distributed_two_hosts_cut ${two_hosts} --cut ${ranks_programs}/ranks_refusals cut)
    add_project_test(distributed_two_hosts_command ${two_hosts} --says " 0 failed" --command $<TARGET_FILE:backplane_cli> ${ranks_programs}/ranks_engines hosts)
    set_tests_properties(distributed_two_hosts distributed_two_hosts_files distributed_two_hosts_cut distributed_two_hosts_command
        PROPERTIES PROCESSORS 2 RESOURCE_LOCK hosts)
endif()

# Ranks that are lost: the job fails, within the time limit.
foreach(mpi openmpi mpich)
    add_ranks_test(${mpi}_skip ${mpi} 2 --fails --says "rank 0 has told the loss" ${ranks_programs}/ranks_refusals skip)
    add_ranks_test(${mpi}_kill ${mpi} 2 --fails ${ranks_programs}/ranks_refusals kill)
    add_ranks_test(${mpi}_kill_during ${mpi} 2 --fails ${ranks_programs}/ranks_refusals during)
endforeach()
add_ranks_test(openmpi_exit openmpi 2 --fails ${ranks_programs}/ranks_refusals exit)
add_ranks_test(openmpi_finalize openmpi 2 --says " 0 failed" ${ranks_programs}/ranks_refusals finalize)
add_ranks_test(mpich_finalize mpich 2 --says " 0 failed" ${ranks_programs}/ranks_refusals finalize)
add_ranks_test(no_mpi none 1 --says "BP_COMM_INIT" ${ranks_programs}/ranks_refusals alone)
# An MPI under the launcher of another one: each process would compute everything.
add_ranks_test(wrong_launcher mpich 2 --fails --says "the launcher belongs to another MPI" --preload libmpi.so.40
    ${ranks_programs}/ranks_values)
