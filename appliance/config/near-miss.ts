/** Edits (insert, drop, replace, swap of neighbours) that turn one word into the other. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1)
      row.push(best)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

/** The candidate that was probably meant, at most a third of the word away; undefined when none is near. */
export function nearMiss(word: string, candidates: readonly string[]): string | undefined {
  const plain = word.toLowerCase().replaceAll('-', '_').slice(0, 100)
  const scored = candidates.map((candidate) => ({
    candidate,
    edits: distance(plain, candidate.toLowerCase()),
  }))
  const best = scored.sort((a, b) => a.edits - b.edits)[0]
  return best && best.edits <= Math.max(1, Math.floor(word.length / 3)) ? best.candidate : undefined
}
