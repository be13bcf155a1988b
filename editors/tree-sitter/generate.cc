// For test.mjs: a grammar in JSON to the C code of its parser, by the generator that tree-sitter-cli 0.13 has as source.

#include "tree_sitter/compiler.h"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

int main()
{
    std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
    TSCompileResult result = ts_compile_grammar(text.c_str(), nullptr);
    if (result.error_type) std::fprintf(stderr, "%s\n", result.error_message);
    if (!result.error_type) std::fputs(result.code, stdout);
    return result.error_type ? 1 : 0;
}
