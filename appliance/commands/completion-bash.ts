/** completions/posthaste.bash. Pure. */
import { argumentTakes, commandTable, optionTakes, type CommandRow, type Takes } from './command-table.ts'

/** One line of a `case`: what is printed where the words are these. */
const arm = (pattern: string, words: readonly string[]): string =>
  `        ${pattern}) echo '${words.join(' ')}' ;;`

const quoted = ({ path }: CommandRow): string => `'${path.join(' ')}'`

/** What the shell is told to offer: words, or `@file`, or `@any` where it cannot know. */
const offer = (takes: Takes): readonly string[] =>
  takes === 'file' ? ['@file'] : typeof takes === 'string' ? ['@any'] : takes

function values(rows: readonly CommandRow[]): string[] {
  return rows.flatMap(({ path, options }) =>
    options
      .filter((option) => optionTakes(option) !== 'nothing' && option.long !== '--config')
      .map((option) => arm(`'${[...path, option.long!].join(' ')}'`, offer(optionTakes(option)))),
  )
}

function given(rows: readonly CommandRow[]): string[] {
  return rows.flatMap((row) => {
    const known = row.arguments.map(argumentTakes).filter((takes) => takes !== 'anything')
    return known.length === 0 ? [] : [arm(quoted(row), known.flatMap(offer))]
  })
}

const flags = ({ options }: CommandRow): string[] => [
  ...options.flatMap(({ short, long }) => [short, long].filter((one) => one !== undefined)),
  '--help',
]

/** The script, which needs nothing but bash 4: bash-completion loads it, or `source`. */
export function renderBashCompletion(): string {
  const rows = commandTable()
  const groups = rows.filter(({ children }) => children.length > 0)
  return `# Completion of posthaste for bash. Made by scripts/generate from the command line itself.

_posthaste_commands() {
    case $1 in
${groups.map((row) => arm(quoted(row), row.children)).join('\n')}
    esac
}

_posthaste_options() {
    case $1 in
${rows.map((row) => arm(quoted(row), flags(row))).join('\n')}
    esac
}

# What stands after an option: words, @file, or @any.
_posthaste_values() {
    case $1 in
        *' --config' | *' -c') echo '@file' ;;
${values(rows).join('\n')}
    esac
}

# What stands without an option.
_posthaste_arguments() {
    case $1 in
${given(rows).join('\n')}
    esac
}

_posthaste() {
    local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} path='' skip='' word offered i
    COMPREPLY=()
    # The equals sign of --option=value is a word of its own.
    if [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
    if [[ $cur == = ]]; then cur=''; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        if [[ $word == = ]]; then continue; fi
        if [[ $skip ]]; then
            skip=''
        elif [[ $word == -* ]]; then
            skip=$(_posthaste_values "$path $word")
        elif [[ " $(_posthaste_commands "$path") " == *" $word "* ]]; then
            path="\${path:+$path }$word"
        fi
    done
    offered=$(_posthaste_values "$path $prev")
    if [[ -z $offered && $cur == -* ]]; then
        offered=$(_posthaste_options "$path")
    elif [[ -z $offered ]]; then
        offered="$(_posthaste_commands "$path") $(_posthaste_arguments "$path")"
    fi
    if [[ $offered == *@file* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $offered != @any ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$cur")
    fi
}

complete -F _posthaste posthaste
`
}
