/**
 * Finds the lines of keys in a TOML text, which the parser doesn't report. Reads table headers and `key =` at the start
 * of lines, and skips multi-line strings. Keys within inline tables and arrays have no line of their own; `findLine`
 * returns that of the enclosing key. The text must be valid TOML.
 */

const part = String.raw`(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')`
const dotted = String.raw`${part}(?:\s*\.\s*${part})*`
const header = new RegExp(String.raw`^\s*(\[\[?)\s*(${dotted})\s*\]\]?`)
const assignment = new RegExp(String.raw`^\s*(${dotted})\s*=(.*)$`)

function split(path: string): string[] {
  return [...path.matchAll(new RegExp(part, 'g'))].map(([text]) => text.replace(/^["']|["']$/g, ''))
}

/** Returns the closing delimiter if a value opens a multi-line string. */
function opens(rest: string): string | undefined {
  const match = /"""|'''/.exec(rest)
  if (!match) return undefined
  return rest.slice(match.index + 3).includes(match[0]) ? undefined : match[0]
}

/**
 * Returns line numbers (from 1) of every table and key by dotted path; elements of `[[arrays]]` as `smtp.trusted[0]`.
 */
export function findKeyLines(toml: string): Map<string, number> {
  const lines = new Map<string, number>()
  const counts = new Map<string, number>()
  let table = ''
  let until: string | undefined
  toml.split('\n').forEach((line, index) => {
    if (until !== undefined) {
      if (line.includes(until)) until = undefined
      return
    }
    const note = (path: string) => {
      if (!lines.has(path)) lines.set(path, index + 1)
    }
    const head = header.exec(line)
    if (head) {
      table = split(head[2]!).join('.')
      note(table)
      if (head[1] === '[[') {
        const count = counts.get(table) ?? 0
        counts.set(table, count + 1)
        table = `${table}[${count}]`
        note(table)
      }
      return
    }
    const set = assignment.exec(line)
    if (!set) return
    note([table, ...split(set[1]!)].filter((name) => name !== '').join('.'))
    until = opens(set[2]!)
  })
  return lines
}

/** Returns the parent path: without its last `[0]` or name. Always shorter. */
function parent(path: string): string {
  return /\[\d+\]$/.test(path) ? path.replace(/\[\d+\]$/, '') : path.replace(/(?:^|\.)[^.]*$/, '')
}

/** Returns the line of a key, or of its nearest enclosing key or table; undefined when none is in the text. */
export function findLine(lines: ReadonlyMap<string, number>, path: string): number | undefined {
  for (let at = path; at !== ''; at = parent(at)) {
    const line = lines.get(at)
    if (line !== undefined) return line
  }
  return undefined
}
