// What the program says of itself to shells and to man: read from the very words that are parsed.
#include <algorithm>

#include <CLI/CLI.hpp>

#include <sluice/version.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "core/text.hpp"

namespace sluice::cli {
namespace {

using words = std::vector<std::string>;

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// --- What a command has. Its path is "" for the program, " throttler set" for a command of a command.

std::vector<const CLI::App*> commands_of(const CLI::App& of) { return of.get_subcommands({}); }

// By all names that it has.
words names_of(const CLI::App& command) {
  words names{command.get_name()};
  names.insert(names.end(), command.get_aliases().begin(), command.get_aliases().end());
  return names;
}

words names_of(const std::vector<const CLI::App*>& commands) {
  words names;
  for (const auto* one : commands)
    for (auto& name : names_of(*one))
      names.push_back(std::move(name));
  return names;
}

std::vector<const CLI::Option*> options_of(const CLI::App& of, bool positional) {
  return of.get_options([=](const CLI::Option* o) { return o->get_positional() == positional; });
}

// What may be said behind any command. Each has a --help of its own.
std::vector<const CLI::Option*> shared_options(const CLI::App& program) {
  auto options = options_of(program, false);
  std::erase(options, program.get_help_ptr());
  return options;
}

// "-h", "--help"
words names_of(const CLI::Option& option) {
  words names;
  for (const auto& name : option.get_snames())
    names.push_back("-" + name);
  for (const auto& name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

words names_of(const std::vector<const CLI::Option*>& options) {
  words names;
  for (const auto* option : options)
    for (auto& name : names_of(*option))
      names.push_back(std::move(name));
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool takes_several(const CLI::Option& option) { return option.get_items_expected_max() > 1; }
bool takes_file(const CLI::Option& option) { return option.get_type_name() == type_of_files; }

// The fixed words that it takes, from the braces in the name of its type; none when it takes any.
words values_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  auto at = type.find('{');
  words values;
  for (std::size_t end = 0; at != std::string::npos && type[at] != '}'; at = end) {
    end = type.find_first_of(",}", at + 1);
    if (end == std::string::npos) break;
    values.push_back(type.substr(at + 1, end - at - 1));
  }
  return values;
}

// Calls `each(command, path)` for the program and all of its commands.
template <class Each>
void for_each_command(const CLI::App& app, const std::string& path, const Each& each) {
  each(app, path);
  for (const auto* one : commands_of(app))
    for_each_command(*one, cat(path, ' ', one->get_name()), each);
}

// --- bash

// How an option is met by `case`: those of the program stand behind any command.
words patterns_of(const std::string& path, const CLI::Option& option) {
  words patterns;
  for (const auto& name : names_of(option))
    patterns.push_back(cat(path.empty() ? "*" : "", "\"", path, ' ', name, "\""));
  return patterns;
}

constexpr const char* bash_begins = R"(# Completes the words of sluice in bash: source <(sluice completion bash)
_sluice() {
  local IFS=$' \t\n' words=() word glued= command= before= place=0 key offer= files= i
  # bash has taken words apart at : and =
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ $word == [:=]* || $glued && $word ]]; then words[${#words[@]}-1]+=$word; else words+=("$word"); fi
    glued=
    if [[ $word == [:=]* ]]; then glued=1; fi
  done
  local current=${words[${#words[@]}-1]}
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [[ $before ]]; then before=; continue; fi
    case "$command $word" in
)";
constexpr const char* bash_goes_on = R"(      *) if [[ $word != -* ]]; then place=$((place + 1)); fi ;;
    esac
  done
  if [[ ! $before && $current == --*=* ]]; then before=${current%%=*} current=${current#*=}; fi
  key=${before:-$place}
  if [[ ! $before && $current == -* ]]; then key=-; fi
  case "$command $key" in
)";
constexpr const char* bash_ends = R"(  esac
  COMPREPLY=()
  if [[ $files ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  else
    mapfile -t COMPREPLY < <(compgen -W "$offer" -- "$current")
    if [[ ${COMPREPLY-} == *: ]]; then compopt -o nospace 2>/dev/null; fi
  fi
}
complete -F _sluice sluice
)";

std::string bash_completion(const CLI::App& program) {
  words with_value, commands;
  std::string offers, other_names;
  const auto offer = [&](const words& when, const words& what) {
    if (!what.empty()) offers += cat("    ", joined(when, "|"), ") offer='", joined(what, " "), "' ;;\n");
  };
  const auto shared = names_of(shared_options(program));
  for_each_command(program, "", [&](const CLI::App& command, const std::string& path) {
    if (!path.empty()) commands.push_back(cat('"', path, '"'));
    for (const auto* one : commands_of(command))
      for (const auto& name : one->get_aliases())
        other_names += cat("      \"", path, ' ', name, "\") command='", path, ' ', one->get_name(), "' ;;\n");
    for (const auto* option : options_of(command, false)) {
      if (!takes_value(*option)) continue;
      const auto patterns = patterns_of(path, *option);
      with_value.insert(with_value.end(), patterns.begin(), patterns.end());
      offer(patterns, values_of(*option));
    }
    const auto places = options_of(command, true);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto when = cat('"', path, ' ', i, '"');
      if (takes_file(*places[i])) offers += cat("    ", when, ") files=1 ;;\n");
      offer({when}, values_of(*places[i]));
    }
    offer({cat('"', path, " 0\"")}, names_of(commands_of(command)));
    auto options = names_of(options_of(command, false));
    if (!path.empty()) options.insert(options.end(), shared.begin(), shared.end());
    words when{cat('"', path, " -\"")};
    if (places.empty() && commands_of(command).empty()) when.push_back(cat('"', path, " 0\""));
    offer(when, options);
  });
  return cat(bash_begins, "      ", joined(with_value, "|"), ") before=$word ;;\n      ", joined(commands, "|"),
             ") command+=\" $word\" ;;\n", other_names, bash_goes_on, offers, bash_ends);
}

// --- zsh

// As it stands in single quotes in a word of _arguments or _describe.
std::string zsh_text(std::string text) {
  for (const std::string_view mark : {"\\", "[", "]", ":"})
    text = replaced(std::move(text), mark, cat("\\", mark));
  return replaced(std::move(text), "'", "'\\''");
}

std::string zsh_action(const CLI::Option& option) {
  if (takes_file(option)) return "_files";
  const auto values = values_of(option);
  if (values.empty()) return " ";
  // Behind a prefix goes on what nobody knows here.
  if (values.front().ends_with(':')) return " compadd -S \"\" - " + zsh_text(joined(values, " "));
  return cat('(', joined(values, " "), ')');
}

words zsh_options(const std::vector<const CLI::Option*>& options) {
  words all;
  for (const auto* option : options) {
    const auto names = names_of(*option);
    for (const auto& name : names) {
      auto spec = takes_several(*option) ? "*" : cat('(', joined(names, " "), ')');
      spec += cat(name, takes_value(*option) ? "=" : "", '[', zsh_text(summary(option->get_description())), ']');
      if (takes_value(*option)) spec += cat(':', names.back().substr(2), ':', zsh_action(*option));
      all.push_back(cat('\'', spec, '\''));
    }
  }
  return all;
}

constexpr const char* zsh_groups = R"( '1:command:->command' '*::word:->rest' && ret=0
  case $state in
    command) _describe command commands && ret=0 ;;
    rest) _call_function ret )";

std::string zsh_completion(const CLI::App& program) {
  std::string out = "#compdef sluice\n# Completes the words of sluice in zsh: source <(sluice completion zsh)\n";
  const auto shared = zsh_options(shared_options(program));
  for_each_command(program, "", [&](const CLI::App& command, const std::string& path) {
    auto specs = zsh_options(options_of(command, false));
    if (!path.empty()) specs.insert(specs.end(), shared.begin(), shared.end());
    const auto name = cat("_sluice", replaced(path, " ", "_"));
    out += cat(name, "() {\n  local curcontext=$curcontext state line ret=1\n");
    if (commands_of(command).empty()) {
      int place = 0;
      for (const auto* option : options_of(command, true))
        specs.push_back(cat('\'', takes_several(*option) ? "*" : cat(++place), ':', option->get_name(), ':',
                            zsh_action(*option), '\''));
      out += cat("  _arguments \\\n    ", joined(specs, " \\\n    "), "\n}\n");
      return;
    }
    out += "  local -a commands=(\n";
    std::string other_names;
    for (const auto* one : commands_of(command)) {
      for (const auto& called : names_of(*one))
        out += cat("    '", called, ':', zsh_text(summary(one->get_description())), "'\n");
      for (const auto& alias : one->get_aliases())
        other_names += cat(name, '_', alias, "() {\n  ", name, '_', one->get_name(), " \"$@\"\n}\n");
    }
    out += cat("  )\n  _arguments -C \\\n    ", joined(specs, " \\\n    "), zsh_groups, name,
               "_$line[1] ;;\n  esac\n  return ret\n}\n", other_names);
  });
  // Sourced, or called as what a folder of completions has under this name.
  return out + "if [[ $funcstack[1] == _sluice ]]; then _sluice \"$@\"; else compdef _sluice sluice; fi\n";
}

// --- man

// As it stands in a line of roff, with the signs that people copy.
std::string roff_text(std::string text) {
  text = replaced(std::move(text), "\\", "\\e");
  for (const auto& [mark, as] : {std::pair("-", "\\-"), {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"}, {"~", "\\(ti"}})
    text = replaced(std::move(text), mark, as);
  return text.starts_with('.') ? "\\&" + text : text;
}

// Lines that are indented are examples, to be shown as they are.
std::string roff_paragraphs(const std::string& help) {
  std::string out;
  bool in_example = false;
  for (std::size_t at = 0; at < help.size();) {
    const auto end = std::min(help.find('\n', at), help.size());
    const auto line = help.substr(at, end - at);
    at = end + 1;
    const bool is_example = line.starts_with("  ");
    if (is_example != in_example) out += is_example ? ".RS 4\n.nf\n" : ".fi\n.RE\n.PP\n";
    in_example = is_example;
    out += line.empty() ? ".PP\n" : roff_text(is_example ? line.substr(2) : line) + '\n';
  }
  return in_example ? out + ".fi\n.RE\n" : out;
}

// "--limit UINT", "ID"
std::string roff_name(const CLI::Option& option) {
  if (option.get_positional()) return cat("\\fI", option.get_name(), "\\fR");
  const auto type = option.get_type_name();
  std::string out = cat("\\fB", roff_text(joined(names_of(option), ", ")), "\\fR");
  if (takes_value(option)) out += cat(" \\fI", type.substr(0, type.find(':')), "\\fR");
  return out;
}

std::string roff_options(const std::vector<const CLI::Option*>& options) {
  std::string out;
  for (const auto* option : options) {
    const auto values = values_of(*option);
    auto help = option->get_description();
    if (!values.empty()) help += cat(help.empty() ? "" : "; ", "one of ", joined(values, ", "));
    if (!help.empty()) out += cat(".TP\n", roff_name(*option), '\n', roff_text(help), '\n');
  }
  return out;
}

std::string manual(const CLI::App& program) {
  std::string out = ".TH SLUICE 1 \"\" \"sluice " SLUICE_VERSION
                    "\" \"Sluice\"\n.SH NAME\nsluice \\- durable background jobs\n.SH SYNOPSIS\n.B "
                    "sluice\n\\fICOMMAND\\fR [\\fIWORDS\\fR] "
                    "[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n";
  std::string other_names;
  for_each_command(program, "", [&](const CLI::App& command, const std::string& path) {
    const auto places = options_of(command, true);
    auto options = options_of(command, false);
    if (!path.empty()) {
      std::erase(options, command.get_help_ptr());
      out += cat(".SS sluice", path);
      for (const auto* place : places) {
        const auto name = cat(roff_name(*place), takes_several(*place) ? "..." : "");
        out += place->get_required() ? " " + name : cat(" [", name, ']');
      }
      out += '\n';
    }
    out += roff_paragraphs(command.get_description());
    if (path.empty()) out += ".SH OPTIONS\n";
    out += roff_options(places) + roff_options(options);
    if (path.empty()) out += ".SH COMMANDS\n";
    for (const auto* one : commands_of(command))
      for (const auto& alias : one->get_aliases())
        other_names +=
            cat(".SS sluice", path, ' ', alias, "\nAnother name of sluice", path, ' ', one->get_name(), ".\n");
  });
  return out + other_names + ".SH EXIT STATUS\n0: done; 1: it failed; 2: wrong usage.\n";
}

}  // namespace

int describe(const command& c) {
  command unused;
  const auto program = make_app(unused);
  if (c.name == "manual") print(manual(*program));
  else print(c.shell == "bash" ? bash_completion(*program) : zsh_completion(*program));
  return 0;
}

}  // namespace sluice::cli
