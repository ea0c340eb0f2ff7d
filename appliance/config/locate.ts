/**
 * Finds the lines of keys in a TOML text, which the parser does not tell. It reads table headers and `key =` at the
 * beginning of lines, and steps over multi-line strings. Keys inside inline tables and inside arrays get no line of their own:
 * ask for the key around them instead, as `locate` does. The text must have passed the parser.
 */

const part = String.raw`(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')`
const dotted = String.raw`${part}(?:\s*\.\s*${part})*`
const header = new RegExp(String.raw`^\s*(\[\[?)\s*(${dotted})\s*\]\]?`)
const assignment = new RegExp(String.raw`^\s*(${dotted})\s*=(.*)$`)

function split(path: string): string[] {
  return [...path.matchAll(new RegExp(part, 'g'))].map(([text]) => text.replace(/^["']|["']$/g, ''))
}

/** Where a value leaves a multi-line string open: the delimiter that ends it. */
function opens(rest: string): string | undefined {
  const match = /"""|'''/.exec(rest)
  if (!match) return undefined
  return rest.slice(match.index + 3).includes(match[0]) ? undefined : match[0]
}

/** Line numbers, from 1, of every table and key, under their dotted paths; elements of `[[arrays]]` as `smtp.trusted[0]`. */
export function keyLines(toml: string): Map<string, number> {
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

/** The path one step up: without its last `[0]`, or its last name. Always shorter. */
function parent(path: string): string {
  return /\[\d+\]$/.test(path) ? path.replace(/\[\d+\]$/, '') : path.replace(/(?:^|\.)[^.]*$/, '')
}

/** The line of a key, or of the nearest thing around it; undefined when nothing of it is in the text. */
export function locate(lines: ReadonlyMap<string, number>, path: string): number | undefined {
  for (let at = path; at !== ''; at = parent(at)) {
    const line = lines.get(at)
    if (line !== undefined) return line
  }
  return undefined
}
