const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** One number and one unit, short or in words: `10m`, `2 hours`, `1 day`. */
const pattern = /^(\d{1,9})\s*(?:(s)(?:ecs?|econds?)?|(m)(?:ins?|inutes?)?|(h)(?:rs?|ours?)?|(d)(?:ays?)?)$/i

/** Reads a duration as people write it. Milliseconds; undefined when it is none. */
export function readDuration(text: string): number | undefined {
  const match = pattern.exec(text.trim())
  if (!match) return undefined
  const [, count, ...found] = match
  const unit = found.find((letter) => letter !== undefined)!
  return Number(count) * units[unit.toLowerCase()]!
}
