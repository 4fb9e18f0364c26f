# The page of web/ and the script of reports: tools/page builds them once for all presets, here they become part of the
# program. sonde_page(target): the controller's; sonde_report_script(target): what convert/html_assets.h declares.
file(GLOB_RECURSE page_inputs CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/web/src/*" "${CMAKE_SOURCE_DIR}/web/flame/*")
foreach(name index.html icon.svg build.mjs package.json package-lock.json)
  list(APPEND page_inputs "${CMAKE_SOURCE_DIR}/web/${name}")
endforeach()
set(page_outputs page.bin page_files.c report.js report.css)
list(TRANSFORM page_outputs PREPEND "${CMAKE_BINARY_DIR}/")
add_custom_command(OUTPUT ${page_outputs}
  COMMAND "${CMAKE_SOURCE_DIR}/tools/page" "${CMAKE_BINARY_DIR}"
  DEPENDS ${page_inputs} "${CMAKE_SOURCE_DIR}/tools/page" COMMENT "Building the page" VERBATIM)
add_custom_target(page DEPENDS ${page_outputs})

function(sonde_page target)
  set(blob "${CMAKE_SOURCE_DIR}/src/daemon/page_blob.S")
  set_source_files_properties("${blob}" PROPERTIES OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/page.bin"
    INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}")
  target_sources(${target} PRIVATE "${blob}" "${CMAKE_BINARY_DIR}/page_files.c")
  add_dependencies(${target} page)
endfunction()

function(sonde_report_script target)
  sonde_embed(${target} SCRIPT "${CMAKE_BINARY_DIR}/report.js" STYLE "${CMAKE_BINARY_DIR}/report.css")
  add_dependencies(${target} page)
endfunction()
