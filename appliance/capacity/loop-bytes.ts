/**
 * Limits how many bytes of each team's messages are processed per turn of the event loop, so that a team that sends at
 * full speed doesn't slow down other teams. Only counts; no I/O.
 */

export interface TurnThrottle {
  /**
   * Counts octets before they are processed. Returns a promise when the team has used its share of this turn; don't
   * read from the client until it resolves.
   * @param team null for strangers, who share one
   */
  take(team: string | null, octets: number): Promise<void> | undefined
}

/**
 * Maximum number of octets of one team per turn, about 0.2 ms of work. The chunk that exceeds the limit is still
 * processed as a whole.
 */
const SHARE = 64 * 1024

interface Waiting {
  octets: number
  begin: () => void
}

export function createTurnThrottle(): TurnThrottle {
  /** Octets processed in this turn, by team. */
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
