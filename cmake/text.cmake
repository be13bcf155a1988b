# A file as a string of C: cmake -DFROM=FILE -DTO=FILE.c -DNAME=perp__name -P cmake/text.cmake
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
get_filename_component(from ${FROM} NAME)
file(WRITE ${TO} "/* Made from ${from} by cmake/text.cmake. */\n#include \"export/code.h\"\nconst unsigned char ${NAME}[] = {\n${bytes}0};\n")
