# A script and a style as objects of the program: what a report needs is inside sonde, not beside it.
#
# sonde_embed(target SCRIPT file STYLE file): adds the source of convert/html_assets.h to the target.
# As a script (cmake -P) it writes that source: the bytes, and the hash by which a page's policy admits them.
function(sonde_embed target)
  cmake_parse_arguments(EMBED "" "SCRIPT;STYLE" "" ${ARGN})
  set(output "${CMAKE_BINARY_DIR}/html_assets.c")
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DSCRIPT=${EMBED_SCRIPT}" "-DSTYLE=${EMBED_STYLE}"
      -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${EMBED_SCRIPT} ${EMBED_STYLE} "${CMAKE_SOURCE_DIR}/cmake/embed.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# The base64 of bytes that are given in hexadecimal; their count is not a multiple of three.
function(to_base64 hex result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(LENGTH "${hex}" length)
  math(EXPR missing "(6 - ${length} % 6) % 6 / 2")
  string(REPEAT "00" ${missing} zeroes)
  set(hex "${hex}${zeroes}")
  set(text "")
  foreach(at RANGE 0 ${length} 6)
    string(SUBSTRING "${hex}" ${at} 6 three)
    if(NOT three STREQUAL "")
      foreach(shift 18 12 6 0)
        math(EXPR digit "(0x${three} >> ${shift}) & 63")
        string(SUBSTRING "${digits}" ${digit} 1 digit)
        string(APPEND text "${digit}")
      endforeach()
    endif()
  endforeach()
  string(LENGTH "${text}" length)
  math(EXPR length "${length} - ${missing}")
  string(SUBSTRING "${text}" 0 ${length} text)
  string(REPEAT "=" ${missing} padding)
  set(${result} "${text}${padding}" PARENT_SCOPE)
endfunction()

function(embed name file)
  file(READ "${file}" bytes HEX)
  file(SHA256 "${file}" hash)
  to_base64("${hash}" hash)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)"
    "\\1\n" bytes "${bytes}")
  file(APPEND "${OUTPUT}" "static const uint8_t ${name}[] = {\n${bytes}\n};\n"
    "const struct sn_html_asset sn_html_${name} = {\"sha256-${hash}\", ${name}, sizeof(${name})};\n\n")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(WRITE "${OUTPUT}" "/* Written by cmake/embed.cmake. */\n#include \"convert/html_assets.h\"\n\n")
  embed(script "${SCRIPT}")
  embed(style "${STYLE}")
endif()
