/** Compares two texts line by line. Pure. */

export interface DiffLine {
  /** Whether the line is in both texts, only in the new one, or only in the old one. */
  sign: ' ' | '+' | '-'
  text: string
}
/** A line, or a gap in place of lines that are in both texts. */
export type DiffRow = DiffLine | { gap: number }

/**
 * Maximum product of the texts' numbers of lines, which determines the time needed. Larger texts are shown as
 * completely replaced.
 */
const MOST_STEPS = 4_000_000
/** Number of unchanged lines shown around a change. */
const CONTEXT = 3

/** Puts each HTML tag on its own line, because generated HTML has few line breaks. */
export const splitTagLines = (html: string): string => html.replaceAll(/>[ \t]*</g, '>\n<')

/** Lists the lines of both texts in order. The unchanged lines are a longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }))
  const middle = between(a.slice(start, a.length - end), b.slice(start, b.length - end))
  return [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))]
}

function between(a: string[], b: string[]): DiffLine[] {
  const minus = (text: string): DiffLine => ({ sign: '-', text })
  const plus = (text: string): DiffLine => ({ sign: '+', text })
  if (a.length * b.length > MOST_STEPS) return [...a.map(minus), ...b.map(plus)]
  // common[i][j]: length of the longest common subsequence of a[i…] and b[j…].
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i]![j] =
        a[i] === b[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i]! })
      i++
      j++
    } else if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!))
      lines.push(minus(a[i++]!))
    else lines.push(plus(b[j++]!))
  }
  return lines
}

/** Replaces long runs of unchanged lines with gaps. */
export function collapseUnchanged(lines: readonly DiffLine[]): DiffRow[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  )
  const rows: DiffRow[] = []
  for (const [at, line] of lines.entries()) {
    const last = rows.at(-1)
    if (near[at]) rows.push(line)
    else if (last && 'gap' in last) last.gap++
    else rows.push({ gap: 1 })
  }
  return rows
}
