# Files as bytes of the program, found by name: what the controller serves is inside sonde.
#
# sonde_embed_files(target HEADER header ARRAY array FILES name=path...): adds a source to the target that
# defines `array`, as `header` declares it: a struct a file (its name, bytes, size), ended by one without a name.
# As a script (cmake -P) it writes that source.
function(sonde_embed_files target)
  cmake_parse_arguments(EMBED "" "HEADER;ARRAY" "FILES" ${ARGN})
  set(output "${CMAKE_BINARY_DIR}/${EMBED_ARRAY}.c")
  set(paths "")
  foreach(pair ${EMBED_FILES})
    string(REGEX REPLACE "^[^=]*=" "${CMAKE_SOURCE_DIR}/" path "${pair}")
    list(APPEND paths "${path}")
  endforeach()
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DHEADER=${EMBED_HEADER}" "-DARRAY=${EMBED_ARRAY}"
      "-DFILES=${EMBED_FILES}" "-DROOT=${CMAKE_SOURCE_DIR}" -P "${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake"
    DEPENDS ${paths} "${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  set(source "/* Written by cmake/embed_files.cmake. */\n#include \"${HEADER}\"\n\n#include <stddef.h>\n\n")
  set(rows "")
  set(number 0)
  foreach(pair ${FILES})
    string(REGEX REPLACE "=.*" "" name "${pair}")
    string(REGEX REPLACE "^[^=]*=" "" path "${pair}")
    file(READ "${ROOT}/${path}" bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)"
      "\\1\n" bytes "${bytes}")
    string(APPEND source "static const uint8_t file_${number}[] = {\n${bytes}\n};\n")
    string(APPEND rows "    {\"${name}\", file_${number}, sizeof(file_${number})},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(WRITE "${OUTPUT}" "${source}\nconst struct sn_embedded ${ARRAY}[] = {\n${rows}    {NULL, NULL, 0},\n};\n")
endif()
