# Compiles for 64-bit ARM and links nothing: the preset "aarch64", of tools/check-aarch64. The compiler brings its own C
# library. The headers of the other libraries are those of this machine: Debian keeps headers that depend on the machine
# elsewhere, but for <sys/sdt.h>, which is written for all of them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(borrowed "${CMAKE_BINARY_DIR}/borrowed")
file(MAKE_DIRECTORY "${borrowed}/sys")
file(GLOB probes /usr/include/*-linux-gnu/sys/sdt*.h)
file(COPY ${probes} DESTINATION "${borrowed}/sys")
set(CMAKE_C_FLAGS_INIT "-idirafter ${borrowed} -idirafter /usr/include")
foreach(archive LIBIBERTY LIBDW LIBELF)
  set(${archive} none CACHE STRING "not linked")
endforeach()
