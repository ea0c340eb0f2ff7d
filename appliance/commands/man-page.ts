/** docs/man/posthaste.1, in the man(7) macros that man-db and mandoc know alike. Pure. */
import type { Option } from 'commander'
import { argumentWord, commandTable, type CommandRow } from './command-table.ts'

/** The options that every command has are told once. */
const COMMON = new Set(['--config', '--json'])

/** A text that troff prints as it is: no escapes, no requests at the start of a line, hyphens that can be searched for and pasted. */
export function troff(text: string): string {
  return text
    .replaceAll('\\', '\\(rs')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('~', '\\(ti')
    .replaceAll('^', '\\(ha')
    .replace(/^\./, '\\&.')
}

/** Lines of the source stay below 80 bytes, escapes and all. */
const WIDTH = 60

/** A paragraph, broken into lines between words. */
function prose(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > WIDTH) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map(troff)
}

const sentence = (text: string): string[] => prose(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`)

function describeOption({ flags, description, argChoices, defaultValue, mandatory }: Option): string[] {
  const choices = argChoices ? `: ${argChoices.join(', ')}` : ''
  const preset = defaultValue === undefined ? '' : ` (default: ${String(defaultValue)})`
  return [
    '.TP',
    `\\fB${troff(flags)}\\fR`,
    ...sentence(`${description}${choices}${preset}${mandatory ? ' (required)' : ''}`),
  ]
}

function describeCommand({ path, description, arguments: given, options }: CommandRow): string[] {
  const words = given.map((one) => ` \\fI${troff(argumentWord(one))}\\fR`).join('')
  const own = options.filter(({ long }) => !COMMON.has(long ?? ''))
  const explained = given.filter((one) => one.description !== '')
  return [
    `.SS ${troff(path.join(' '))}${words}`,
    ...sentence(description),
    ...explained.flatMap((one) => {
      const choices = one.argChoices ? `: ${one.argChoices.join(', ')}` : ''
      return ['.TP', `\\fI${troff(argumentWord(one))}\\fR`, ...prose(`${one.description}${choices}.`)]
    }),
    ...own.flatMap(describeOption),
  ]
}

/** What a section of files or variables says: a term, then what it is. */
const terms = (rows: readonly (readonly [string, string])[]): string[] =>
  rows.flatMap(([term, meaning]) => ['.TP', `\\fI${troff(term)}\\fR`, ...prose(meaning)])

const FILES: readonly (readonly [string, string])[] = [
  ['/etc/posthaste/posthaste.toml', 'The configuration, unless --config names another file.'],
  [
    '/var/lib/posthaste',
    'The data directory, unless data_dir names another one: the spool with all that is kept.',
  ],
]

/** The whole page. It has no date: it changes with the commands, not with the calendar. */
export function renderManPage(): string {
  const [program, ...rows] = commandTable()
  const commands = rows.filter(({ children }) => children.length === 0)
  return [
    '.\\" Made by scripts/generate from the command line itself.',
    '.TH POSTHASTE 1 "" "Posthaste" "User Commands"',
    '.SH NAME',
    'posthaste \\- self\\-hosted email delivery service',
    '.SH SYNOPSIS',
    '.B posthaste',
    '.I command',
    '.RI [ argument ...]',
    '.RB [ \\-c',
    '.IR file ]',
    '.RB [ \\-\\-json ]',
    '.SH DESCRIPTION',
    ...prose(program!.description),
    ...prose(
      'Commands work on the configured storage, whether the daemon runs or not. Without any configuration they work on the sandbox.',
    ),
    '.SH OPTIONS',
    'Every command takes these:',
    '.TP',
    '\\fB\\-c, \\-\\-config\\fR \\fIfile\\fR',
    'Configuration file.',
    '.TP',
    '\\fB\\-\\-json\\fR',
    'Print the result as JSON: the same objects as the API.',
    '.TP',
    '\\fB\\-h, \\-\\-help\\fR',
    'Show what a command takes.',
    '.PP',
    'The program itself takes:',
    '.TP',
    '\\fB\\-V, \\-\\-version\\fR',
    'Print the version.',
    '.SH COMMANDS',
    ...commands.flatMap(describeCommand),
    '.SH EXIT STATUS',
    ...terms([
      ['0', 'Done.'],
      [
        '1',
        'Refused or failed, with one line on standard error that says why; or a check found something wrong.',
      ],
      ['2', 'Wrong usage.'],
    ]),
    '.SH ENVIRONMENT',
    ...terms([['POSTHASTE_SECTION__KEY', 'Beats the key of that section in the configuration file.']]),
    '.SH FILES',
    ...terms(FILES),
    '.SH SEE ALSO',
    '.BR systemctl (1),',
    '.BR journalctl (1)',
    '',
  ].join('\n')
}
