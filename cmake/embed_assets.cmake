# Makes a C++ file of the dashboard's pages: each file of ASSETS (divided by |) in FOLDER with its media type and its
# bytes, plain and packed, and one hash of all of them, by which they are known to a browser. Run as a script.
cmake_minimum_required(VERSION 3.25)

set(type_of_html "text/html; charset=utf-8")
set(type_of_css "text/css; charset=utf-8")
set(type_of_js "text/javascript; charset=utf-8")
set(type_of_svg "image/svg+xml")

function(read_bytes file into)
  file(READ ${file} bytes HEX)
  if(bytes STREQUAL "")
    message(FATAL_ERROR "${file} is empty")
  endif()
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  set(${into} "${bytes}" PARENT_SCOPE)
endfunction()

string(REPLACE "|" ";" names "${ASSETS}")
list(SORT names)
set(all "")
foreach(name IN LISTS names)
  file(SHA256 ${FOLDER}/${name} hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)

set(count 0)
set(bytes "")
set(entries "")
foreach(name IN LISTS names)
  set(file ${FOLDER}/${name})
  if(name STREQUAL "index.html")
    file(READ ${file} text)
    string(REPLACE "@HASH@" ${hash} text "${text}")
    set(file ${WORK}/${name})
    file(WRITE ${file} "${text}")
  endif()
  execute_process(COMMAND ${GZIP} -9 -n -c ${file} OUTPUT_FILE ${WORK}/${name}.gz COMMAND_ERROR_IS_FATAL ANY)
  read_bytes(${file} plain)
  read_bytes(${WORK}/${name}.gz packed)
  get_filename_component(kind ${name} LAST_EXT)
  string(SUBSTRING ${kind} 1 -1 kind)
  math(EXPR count "${count} + 1")
  string(APPEND bytes "constexpr unsigned char plain_${count}[] = {${plain}};\n"
                      "constexpr unsigned char packed_${count}[] = {${packed}};\n")
  string(APPEND entries "      {\"${name}\", \"${type_of_${kind}}\", text(plain_${count}), text(packed_${count})},\n")
endforeach()

file(WRITE ${INTO} "// Made of dashboard/assets; change those.
#include \"dashboard/assets.hpp\"

namespace sluice::web {
namespace {

template <std::size_t Size>
std::string_view text(const unsigned char (&bytes)[Size]) {
  return {reinterpret_cast<const char*>(bytes), Size};
}

${bytes}
}  // namespace

const built_assets& built_in() {
  static const asset all[] = {
${entries}  };
  static const built_assets made{\"${hash}\", all};
  return made;
}

}  // namespace sluice::web
")
