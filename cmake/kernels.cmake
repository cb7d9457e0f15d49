# CUDA kernels as PTX inside a library, made at build time without a CUDA toolkit:
#
#   lockstep_kernel(gpu memory sm_70)
#
# compiles src/gpu/kernels/memory.cu and defines `extern const std::string_view memory_ptx` in lockstep::gpu. What
# follows the architecture are further options for the compiler.
find_program(LOCKSTEP_KERNEL_COMPILER NAMES clang++-19 REQUIRED)

function(lockstep_kernel target name architecture)
  set(folder ${PROJECT_SOURCE_DIR}/src/${target}/kernels)
  set(ptx ${PROJECT_BINARY_DIR}/kernels/${name}.ptx)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/kernels)
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${LOCKSTEP_KERNEL_COMPILER} -x cuda --cuda-device-only -nocudainc -nocudalib
            --cuda-gpu-arch=${architecture} -std=c++20 -O3 ${ARGN} -Wall -Wextra -S ${folder}/${name}.cu -o ${ptx}
    DEPENDS ${folder}/${name}.cu ${folder}/device.h
    COMMENT "Compiling kernel ${name} for ${architecture}"
    VERBATIM)
  lockstep_embed(${target} lockstep::${target} ${name}_ptx ${ptx})
endfunction()
