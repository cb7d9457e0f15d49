# Text files as string_views inside a library, made at build time:
#
#   lockstep_embed(apiserver lockstep::apiserver builtin_types_text src/apiserver/builtin_types.txt)
#
# defines `extern const std::string_view builtin_types_text` in that namespace; a header of the folder
# declares it. The same file is the script that writes the source (cmake -P).
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
  set(input ${PROJECT_SOURCE_DIR}/${file})
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
