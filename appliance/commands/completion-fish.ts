/** completions/posthaste.fish. Pure. */
import type { Option } from 'commander'
import { argumentTakes, commandTable, optionTakes, type CommandRow, type Takes } from './command-table.ts'

const single = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const at = (path: readonly string[]): string =>
  `complete -c posthaste -n ${single(`__posthaste_at ${path.join(' ')}`.trim())}`

/** What follows: `-x` takes a value and no file, `-r -F` a file. */
function follows(takes: Takes): string {
  if (takes === 'nothing') return ''
  if (takes === 'file') return ' -r -F'
  return takes === 'anything' ? ' -x' : ` -x -a ${single(takes.join(' '))}`
}

function optionLine(path: readonly string[], option: Option): string {
  const { short, long, description } = option
  const names = `${short === undefined ? '' : ` -s ${short.slice(1)}`} -l ${long!.slice(2)}`
  return `${at(path)}${names}${follows(optionTakes(option))} -d ${single(description)}`
}

function argumentLines({ path, arguments: given }: CommandRow): string[] {
  return given.flatMap((one) => {
    const takes = argumentTakes(one)
    if (takes === 'file') return [`${at(path)} -F`]
    return typeof takes === 'string' ? [] : [`${at(path)} -a ${single(takes.join(' '))}`]
  })
}

function lines(row: CommandRow, rows: readonly CommandRow[]): string[] {
  const { path, children, options } = row
  const commands = children.map((name) => {
    const child = rows.find((one) => one.path.join(' ') === [...path, name].join(' '))!
    return `${at(path)} -a ${single(name)} -d ${single(child.description)}`
  })
  return [...commands, ...argumentLines(row), ...options.map((option) => optionLine(path, option))]
}

/** The script: a file of fish's completions directory. */
export function renderFishCompletion(): string {
  const rows = commandTable()
  const paths = rows.slice(1).map(({ path }) => single(path.join(' ')))
  return `# Completion of posthaste for fish. Made by scripts/generate from the command line itself.

set -g __posthaste_paths ${paths.join(' ')}

# True when the words that name a command, before the cursor, are these.
function __posthaste_at
    set -l tokens (commandline -opc)
    set -l path
    for token in $tokens[2..-1]
        if contains -- (string join -- ' ' $path $token) $__posthaste_paths
            set -a path $token
        end
    end
    test "$path" = "$argv"
end

complete -c posthaste -f
complete -c posthaste -s h -l help -d 'Show what a command takes'
${rows.flatMap((row) => lines(row, rows)).join('\n')}
`
}
