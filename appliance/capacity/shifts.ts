/**
 * Limits how many bytes of each team's messages are processed per turn of the event loop, so that a team that sends at full speed doesn't
 * slow down the others. Only counts; no I/O.
 */

export interface Shifts {
  /**
   * To be called before octets are looked at. A promise where the team has had its share of this turn: it resolves in a later one, and until
   * then nothing more is to be read from the client.
   * @param team null: strangers, who share one
   */
  take(team: string | null, octets: number): Promise<void> | undefined
}

/** Octets of one team in one turn; a piece that begins within them is taken whole. Some 0.2 ms. */
const SHARE = 64 * 1024

interface Waiting {
  octets: number
  begin: () => void
}

export function createShifts(): Shifts {
  /** Octets of this turn by team. */
  const taken = new Map<string, number>()
  const lines = new Map<string, Waiting[]>()
  let planned = false

  const fits = (team: string): boolean => (taken.get(team) ?? 0) < SHARE
  const count = (team: string, octets: number): void => {
    taken.set(team, (taken.get(team) ?? 0) + octets)
    if (planned) return
    planned = true
    setImmediate(nextTurn)
  }
  const nextTurn = (): void => {
    planned = false
    taken.clear()
    for (const [team, line] of lines) {
      while (line.length > 0 && fits(team)) {
        const { octets, begin } = line.shift()!
        count(team, octets)
        begin()
      }
      if (line.length === 0) lines.delete(team)
    }
  }

  return {
    take(teamId, octets) {
      const team = teamId ?? ''
      const line = lines.get(team)
      if (!line && fits(team)) return void count(team, octets)
      return new Promise((resolve) => {
        const waiting = { octets, begin: resolve }
        if (line) line.push(waiting)
        else lines.set(team, [waiting])
      })
    },
  }
}
