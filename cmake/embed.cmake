# Text files as string_views inside a library, made at build time:
#
#   lockstep_embed(apiserver lockstep::apiserver builtin_types_text src/apiserver/schema/builtin_types.txt)
#
# defines `extern const std::string_view builtin_types_text` in that namespace; a header of the folder
# declares it. And a folder of text files:
#
#   lockstep_embed_folder(deploy lockstep::deploy embedded_chart deploy/chart/lockstep)
#
# defines `std::map<std::string, std::string, std::less<>> embedded_chart()`, by path from the folder.
# The same file is the script that writes the source (cmake -P).
if(CMAKE_SCRIPT_MODE_FILE AND DEFINED FOLDER)
  file(GLOB_RECURSE paths RELATIVE ${FOLDER} ${FOLDER}/*)
  list(SORT paths)
  string(CONCAT source
    "// Made from ${FOLDER} by cmake/embed.cmake.\n"
    "#include <functional>\n#include <map>\n#include <string>\n"
    "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
    "namespace ${SPACE} {\n"
    "std::map<std::string, std::string, std::less<>> ${SYMBOL}();\n"
    "std::map<std::string, std::string, std::less<>> ${SYMBOL}() {\n  return {\n")
  foreach(path IN LISTS paths)
    file(READ ${FOLDER}/${path} text)
    string(APPEND source "{\"${path}\", R\"lockstep_text(${text})lockstep_text\"},\n")
  endforeach()
  string(APPEND source "  };\n}\n}  // namespace ${SPACE}\n")
  file(WRITE ${OUTPUT} "${source}")
  return()
endif()
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${INPUT} text)
  string(CONCAT source
    "// Made from ${INPUT} by cmake/embed.cmake.\n"
    "#include <string_view>\n"
    "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
    "namespace ${SPACE} {\n"
    "extern const std::string_view ${SYMBOL};\n"
    "const std::string_view ${SYMBOL} = R\"lockstep_text(${text})lockstep_text\";\n"
    "}  // namespace ${SPACE}\n")
  file(WRITE ${OUTPUT} "${source}")
  return()
endif()

set(LOCKSTEP_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(lockstep_embed target space symbol file)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE input)
  set(output ${PROJECT_BINARY_DIR}/embed/${target}/${symbol}.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DSPACE=${space} -DSYMBOL=${symbol}
            -P ${LOCKSTEP_EMBED_SCRIPT}
    DEPENDS ${input} ${LOCKSTEP_EMBED_SCRIPT}
    COMMENT "Embedding ${file}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

function(lockstep_embed_folder target space symbol folder)
  set(input ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${input}/*)
  set(output ${PROJECT_BINARY_DIR}/embed/${target}/${symbol}.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${input} -DOUTPUT=${output} -DSPACE=${space} -DSYMBOL=${symbol}
            -P ${LOCKSTEP_EMBED_SCRIPT}
    DEPENDS ${files} ${LOCKSTEP_EMBED_SCRIPT}
    COMMENT "Embedding ${folder}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
