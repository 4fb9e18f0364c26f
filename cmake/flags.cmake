# Compiler and linker flags, the same for every target.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_definitions(_GNU_SOURCE SONDE_VERSION="${PROJECT_VERSION}")
add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wundef -Wformat=2 -Wimplicit-fallthrough -Werror
  # A profiler should itself be easy to profile.
  -fno-omit-frame-pointer
  # A square root is one instruction, and libsonde needs no libm.
  -fno-math-errno)

if(SONDE_SANITIZE)
  add_compile_options(-fsanitize=${SONDE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SONDE_SANITIZE})
else()
  add_compile_options(-fstack-protector-strong)
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_compile_definitions(_FORTIFY_SOURCE=2)
  endif()
  if(NOT SONDE_STATIC)
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
  endif()
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-flto=auto -ffunction-sections -fdata-sections
    # Two checkouts give the same bytes, and nobody learns where this one was.
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
  add_link_options(-flto=auto -ffunction-sections -fdata-sections -Wl,--gc-sections)
endif()
