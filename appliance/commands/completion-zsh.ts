/** completions/_posthaste, for zsh. Pure. */
import type { Option } from 'commander'
import {
  argumentTakes,
  argumentWord,
  commandTable,
  optionTakes,
  type CommandRow,
  type Takes,
} from './command-table.ts'

const single = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
/** Within `[…]` of a specification of _arguments. */
const bracketed = (text: string): string => text.replaceAll(/[[\]\\]/g, '\\$&')
/** Where a colon would end the text. */
const uncoloned = (text: string): string => text.replaceAll(/[:\\]/g, '\\$&')

const action = (takes: Takes): string =>
  takes === 'file' ? '_files' : typeof takes === 'string' ? '' : `(${takes.join(' ')})`

function optionSpec(option: Option): string {
  const { short, long, description } = option
  const takes = optionTakes(option)
  const value = takes === 'nothing' ? '' : `:${uncoloned(long!.slice(2))}:${action(takes)}`
  const told = `[${bracketed(description)}]${value}`
  return short === undefined
    ? single(`${long!}${told}`)
    : `'(${short} ${long!})'{${short},${long!}}${single(told)}`
}

const functionOf = (path: readonly string[]): string =>
  `_${['posthaste', ...path].join('_').replaceAll('-', '_')}`

function leaf({ path, options, arguments: given }: CommandRow): string {
  const specs = [
    ...options.map(optionSpec),
    single('(- *)--help[show what it takes]'),
    ...given.map((one, at) => {
      const where = one.variadic ? '*' : String(at + 1)
      return single(`${where}:${uncoloned(argumentWord(one))}:${action(argumentTakes(one))}`)
    }),
  ]
  return `${functionOf(path)}() {
    _arguments \\
${specs.map((spec) => `        ${spec}`).join(' \\\n')}
}`
}

function group({ path, children, options }: CommandRow, rows: readonly CommandRow[]): string {
  const described = children.map((name) => {
    const row = rows.find((one) => one.path.join(' ') === [...path, name].join(' '))!
    return `                ${single(`${uncoloned(name)}:${row.description}`)}`
  })
  const arms = children.map((name) => `                ${name}) ${functionOf([...path, name])} ;;`)
  const specs = [...options.map(optionSpec), single('(- *)--help[show what it takes]')]
  return `${functionOf(path)}() {
    local curcontext="$curcontext" state line
    local -a commands
    _arguments -C ${specs.join(' ')} '1: :->command' '*:: :->rest'
    case $state in
        command)
            commands=(
${described.join('\n')}
            )
            _describe -t commands command commands
            ;;
        rest)
            case $words[1] in
${arms.join('\n')}
            esac
            ;;
    esac
}`
}

/** The script: a file named _posthaste in a directory of $fpath. */
export function renderZshCompletion(): string {
  const rows = commandTable()
  const functions = rows.map((row) => (row.children.length > 0 ? group(row, rows) : leaf(row)))
  return `#compdef posthaste
# Completion of posthaste for zsh. Made by scripts/generate from the command line itself.

${functions.join('\n\n')}

# Loaded by compinit this file is the function; sourced, it only defines it.
if [ "$funcstack[1]" = "_posthaste" ]; then
    _posthaste "$@"
else
    compdef _posthaste posthaste
fi
`
}
