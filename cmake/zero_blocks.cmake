# SPDX-License-Identifier: Apache-2.0
# KV block zeroing: plain C libraries, loaded with ctypes, so that neither torch nor Python is needed here.

add_library(zero_blocks_cpu MODULE csrc/zero_blocks/cpu.c csrc/zero_blocks/parallel.c)
set_target_properties(zero_blocks_cpu PROPERTIES PREFIX "" OUTPUT_NAME "_zero_blocks_cpu" SUFFIX ".so" C_STANDARD 11
                                                 C_VISIBILITY_PRESET hidden)
target_compile_options(zero_blocks_cpu PRIVATE -Wall -Wextra -O2)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
target_link_libraries(zero_blocks_cpu PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
install(TARGETS zero_blocks_cpu LIBRARY DESTINATION vllm_soak/zeroing)

set(VLLM_SOAK_CUDA "AUTO" CACHE STRING "Build zero_blocks_cuda: AUTO (where a toolkit is found), ON, OFF")
set_property(CACHE VLLM_SOAK_CUDA PROPERTY STRINGS AUTO ON OFF)
set(_toolkit_wanted 12.8) # the first one that knows sm_100 and sm_120

if(VLLM_SOAK_CUDA STREQUAL "AUTO")
  find_program(VLLM_SOAK_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  set(_why "no CUDA toolkit was found")
  if(VLLM_SOAK_NVCC)
    if(NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} "${VLLM_SOAK_NVCC}") # CMake itself looks on PATH only
    endif()
    check_language(CUDA) # also asks for a C++ compiler that nvcc accepts
    set(_why "nvcc cannot compile here")
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    message(STATUS "vllm-soak: zero_blocks_cuda is not built: ${_why}")
    return()
  endif()
elseif(NOT VLLM_SOAK_CUDA)
  message(STATUS "vllm-soak: zero_blocks_cuda is not built: VLLM_SOAK_CUDA=${VLLM_SOAK_CUDA}")
  return()
endif()

enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS _toolkit_wanted)
  set(_why "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is older than ${_toolkit_wanted}")
  if(NOT VLLM_SOAK_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "vllm-soak: ${_why}: install a newer toolkit, or leave out -DVLLM_SOAK_CUDA=ON.")
  endif()
  message(STATUS "vllm-soak: zero_blocks_cuda is not built: ${_why}")
  return()
endif()

# Code for 80, 90, 100 and 120, and PTX of 90 for every later one: that has bulk stores already.
add_library(zero_blocks_cuda MODULE csrc/zero_blocks/cuda.cu)
set_target_properties(zero_blocks_cuda PROPERTIES PREFIX "" OUTPUT_NAME "_zero_blocks_cuda" SUFFIX ".so"
                                                  CUDA_ARCHITECTURES "80-real;90;100-real;120-real"
                                                  CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
                                                  CUDA_RUNTIME_LIBRARY Static CUDA_VISIBILITY_PRESET hidden)
# The static runtime wants a few symbols of libstdc++; the engine's may be another one, so bring them.
target_link_options(zero_blocks_cuda PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
install(TARGETS zero_blocks_cuda LIBRARY DESTINATION vllm_soak/zeroing)
