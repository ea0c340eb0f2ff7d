/** Output and prompts of commands: aligned text for people, one JSON object with --json. */
import { createInterface } from 'node:readline/promises'

/** Output of a command. */
export interface Output {
  /** Prints lines for people. Does nothing with --json. */
  text(...lines: string[]): void
  /** Prints the result as an API object. Does nothing without --json. */
  object(value: object): void
  /** Prints hints and errors to standard error, with or without --json. */
  error(line: string): void
}

/** Writes to the process's own streams. */
export function createOutput(json: boolean): Output {
  return {
    text(...lines) {
      if (!json) for (const line of lines) process.stdout.write(`${sanitizeForTerminal(line)}\n`)
    },
    object(value) {
      if (json) process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
    },
    error(line) {
      process.stderr.write(`${sanitizeForTerminal(line)}\n`)
    },
  }
}

/** Asks a question on the terminal. Returns true if the answer is `yes`. */
export async function confirmOnTerminal(question: string): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await asking.question(`${question} Type yes: `)).trim().toLowerCase() === 'yes'
  } finally {
    asking.close()
  }
}

/**
 * Replaces characters that a terminal would interpret: control characters (a remote server's reply must not move the
 * cursor or set the title) and marks that change the writing direction. Keeps line ends.
 */
export function sanitizeForTerminal(text: string): string {
  return text.replace(/[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '\u{fffd}')
}

/** Width of a terminal, in columns. */
const WIDTH = 80

/**
 * Formats rows as aligned columns, two spaces apart. If they are wider than a terminal, each row continues on indented
 * lines, all broken at the same columns; a cell that is too wide is broken between words.
 */
export function formatTable(head: string[], rows: string[][]): string[] {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const lines = linesOf(widths)
  return all.flatMap((row) =>
    lines.flatMap((columns, line) => {
      const cells = columns.map((column) =>
        column === columns.at(-1) ? row[column]! : row[column]!.padEnd(widths[column]!),
      )
      const text = cells.join('  ').trimEnd()
      if (columns.length === 1 && text.length + 2 > WIDTH) return wrapParagraph(text, line === 0 ? 0 : 2)
      // Skip empty cells on continuation lines.
      return line > 0 && text === '' ? [] : [(line === 0 ? '' : '  ') + text]
    }),
  )
}

/** Assigns columns to lines, as many as fit. */
function linesOf(widths: number[]): number[][] {
  const lines: number[][] = [[]]
  let taken = 0
  for (const [column, width] of widths.entries()) {
    if (lines.at(-1)!.length > 0 && taken + width > WIDTH) {
      lines.push([])
      taken = 2
    }
    lines.at(-1)!.push(column)
    taken += width + 2
  }
  return lines
}

/** Wraps a text into indented lines of at most 80 columns. Longer words stay whole, for copying. */
export function wrapParagraph(text: string, indent = 0): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && indent + line.length + 1 + word.length > WIDTH) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].map((one) => ' '.repeat(indent) + one)
}

/** Cuts a text to `width` characters, ending in `…`. */
export function truncate(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text
}

/** Formats a time, UTC to the second. */
export function formatInstant(ms: number | null): string {
  return ms === null ? '-' : new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

/** Formats a number of bytes: `12.3 MB`. */
export function formatBytes(count: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log10(count) / 3))
  const value = count / 1000 ** power
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`
}
