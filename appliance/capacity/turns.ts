/** Whose turn it is to use memory: a budget of octets, handed out round robin by team, so that one team's backlog delays only itself. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'

export interface TurnLimits {
  /** Octets in use at once. One job may always run, however large it is. */
  total: number
  /** Octets of one team at once; a job larger than this runs when the team has none. */
  team: number
  /** Jobs of one team that may wait. */
  waiting: number
  /** Longest wait in milliseconds. */
  waitMs: number
}

export interface Turns {
  /**
   * Resolves when the job may begin; dispose of it when the memory is free again.
   * Refuses: `overloaded` when the team has too many jobs waiting, or the wait is too long.
   * @param team null: strangers, who share one turn
   */
  take(team: string | null, octets: number): Promise<Disposable>
  figures(): { used: number; limit: number; waiting: number; refused: number }
}

interface Job {
  octets: number
  begin: () => void
}

export function createTurns(clock: Clock, limits: TurnLimits): Turns {
  const queues = new Map<string, Job[]>()
  const running = new Map<string, number>()
  let [used, waiting, refused] = [0, 0, 0]

  const fits = (team: string, octets: number): boolean => {
    const mine = running.get(team) ?? 0
    return (used === 0 || used + octets <= limits.total) && (mine === 0 || mine + octets <= limits.team)
  }
  const start = (team: string, octets: number): Disposable => {
    used += octets
    running.set(team, (running.get(team) ?? 0) + octets)
    let done = false
    return {
      [Symbol.dispose]() {
        if (done) return
        done = true
        used -= octets
        const left = running.get(team)! - octets
        if (left > 0) running.set(team, left)
        else running.delete(team)
        next()
      },
    }
  }
  /** Begins what fits; a team whose job has begun goes to the end of the line. */
  const next = (): void => {
    for (const [team, queue] of [...queues]) {
      const [job] = queue
      if (!job || !fits(team, job.octets)) continue
      queue.shift()
      queues.delete(team)
      if (queue.length > 0) queues.set(team, queue)
      job.begin()
    }
  }

  return {
    async take(teamId, octets) {
      const team = teamId ?? ''
      const queue = queues.get(team)
      if (!queue && fits(team, octets)) return start(team, octets)
      if ((queue?.length ?? 0) >= limits.waiting) {
        refused++
        throw refuse('overloaded')
      }
      const { promise, resolve, reject } = Promise.withResolvers<Disposable>()
      const job: Job = { octets, begin: () => undefined }
      const leave = (): void => {
        waiting--
        cancel()
      }
      const cancel = clock.after(limits.waitMs, () => {
        const line = queues.get(team)!
        line.splice(line.indexOf(job), 1)
        if (line.length === 0) queues.delete(team)
        leave()
        refused++
        reject(refuse('overloaded'))
      })
      job.begin = () => {
        leave()
        resolve(start(team, octets))
      }
      waiting++
      queues.set(team, [...(queue ?? []), job])
      return promise
    },
    figures: () => ({ used, limit: limits.total, waiting, refused }),
  }
}
