# The Python package: target perp_python. pip names its interpreter, Python_EXECUTABLE; else python3 and the system's own are looked at for one
# that has headers, cffi, and what the tests need.

if(PERP_SANITIZE)
    return()
endif()
set(PERP_PYTHON "")
set(candidates python3 /usr/bin/python3)
set(needs "cffi, numpy, pytest")
if(Python_EXECUTABLE)
    set(candidates ${Python_EXECUTABLE})
    set(needs cffi)
endif()
foreach(candidate ${candidates})
    execute_process(COMMAND ${candidate} -c "import ${needs}, sysconfig; print(sysconfig.get_paths()['include'], end='')"
        OUTPUT_VARIABLE include RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT failed AND EXISTS ${include}/Python.h)
        set(PERP_PYTHON ${candidate})
        break()
    endif()
endforeach()
if(NOT PERP_PYTHON)
    message(STATUS "no Python with headers, ${needs}: the package perp is not built; scripts/setup installs Debian's")
    return()
endif()

file(GLOB PERP_HEADERS CONFIGURE_DEPENDS include/perp/*)
file(GLOB PERP_PACKAGE CONFIGURE_DEPENDS python/perp/*)
set(package ${CMAKE_BINARY_DIR}/python/perp)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/python/_perp.c
    COMMAND ${PERP_PYTHON} ${CMAKE_SOURCE_DIR}/python/declarations.py ${CMAKE_C_COMPILER} ${CMAKE_SOURCE_DIR}/include
            ${CMAKE_BINARY_DIR}/python/_perp.c
    DEPENDS python/declarations.py python/bodies.c ${PERP_HEADERS} VERBATIM)
add_library(perp_python MODULE ${CMAKE_BINARY_DIR}/python/_perp.c)
set_target_properties(perp_python PROPERTIES PREFIX "" OUTPUT_NAME _perp SUFFIX .abi3.so LIBRARY_OUTPUT_DIRECTORY ${package})
target_include_directories(perp_python SYSTEM PRIVATE ${include})
target_compile_definitions(perp_python PRIVATE Py_LIMITED_API=0x03090000)
target_link_libraries(perp_python PRIVATE perp)
add_dependencies(perp_python perp_cli)
add_custom_command(TARGET perp_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${PERP_PACKAGE} ${package}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${package}/bin
    COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:perp_cli> ${package}/bin)
set_property(TARGET perp_python APPEND PROPERTY LINK_DEPENDS ${PERP_PACKAGE})

install(TARGETS perp_python DESTINATION perp COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${PERP_PACKAGE} DESTINATION perp COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:perp_cli> DESTINATION perp/bin COMPONENT python EXCLUDE_FROM_ALL)
