/** Shares a memory budget in octets round robin over teams, so that one team's backlog delays only itself. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'

export interface MemoryLimits {
  /** Maximum number of octets in use at the same time. One job may always run, however large it is. */
  total: number
  /** Maximum number of octets of one team at the same time. A larger job runs when no other job of the team does. */
  team: number
  /** Maximum number of waiting jobs of one team. */
  waiting: number
  /** Maximum wait in milliseconds. */
  waitMs: number
}

export interface MemoryScheduler {
  /**
   * Resolves when the job may start; dispose of the result to free the memory. Refuses: `overloaded` when the team has
   * too many jobs waiting, or the wait is too long.
   * @param team null for strangers, who share one queue
   */
  take(team: string | null, octets: number): Promise<Disposable>
  figures(): { used: number; limit: number; waiting: number; refused: number }
}

interface Job {
  octets: number
  begin: () => void
}

export function createMemoryScheduler(clock: Clock, limits: MemoryLimits): MemoryScheduler {
  return new Line(clock, limits)
}

class Line implements MemoryScheduler {
  readonly #clock: Clock
  readonly #limits: MemoryLimits
  /** Waiting jobs by team, in round-robin order. */
  readonly #queues = new Map<string, Job[]>()
  /** Number of octets in use by team. */
  readonly #running = new Map<string, number>()
  #used = 0
  #waiting = 0
  #refused = 0

  constructor(clock: Clock, limits: MemoryLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  figures(): { used: number; limit: number; waiting: number; refused: number } {
    return { used: this.#used, limit: this.#limits.total, waiting: this.#waiting, refused: this.#refused }
  }

  async take(teamId: string | null, octets: number): Promise<Disposable> {
    const team = teamId ?? ''
    const queue = this.#queues.get(team) ?? []
    if (queue.length === 0 && this.#fits(team, octets)) return this.#begin(team, octets)
    if (queue.length >= this.#limits.waiting) {
      this.#refused++
      throw refuse('overloaded')
    }
    return this.#turnOf(team, queue, octets)
  }

  /** Waits in the team's queue. Refuses: `overloaded`. */
  #turnOf(team: string, queue: Job[], octets: number): Promise<Disposable> {
    this.#waiting++
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting--
        cancel()
      }
      const job: Job = {
        octets,
        begin: () => {
          leave()
          resolve(this.#begin(team, octets))
        },
      }
      const cancel = this.#clock.after(this.#limits.waitMs, () => {
        queue.splice(queue.indexOf(job), 1)
        if (queue.length === 0) this.#queues.delete(team)
        leave()
        this.#refused++
        reject(refuse('overloaded'))
      })
      queue.push(job)
      this.#queues.set(team, queue)
    })
  }

  #fits(team: string, octets: number): boolean {
    const mine = this.#running.get(team) ?? 0
    const { total, team: mostOfTeam } = this.#limits
    return (this.#used === 0 || this.#used + octets <= total) && (mine === 0 || mine + octets <= mostOfTeam)
  }

  #begin(team: string, octets: number): Disposable {
    this.#used += octets
    this.#running.set(team, (this.#running.get(team) ?? 0) + octets)
    let done = false
    return {
      [Symbol.dispose]: () => {
        if (done) return
        done = true
        this.#used -= octets
        const left = this.#running.get(team)! - octets
        if (left > 0) this.#running.set(team, left)
        else this.#running.delete(team)
        this.#next()
      },
    }
  }

  /** Starts the jobs that fit. A team whose job has started moves to the end of the queue. */
  #next(): void {
    for (const [team, queue] of [...this.#queues]) {
      const job = queue[0]!
      if (!this.#fits(team, job.octets)) continue
      queue.shift()
      this.#queues.delete(team)
      if (queue.length > 0) this.#queues.set(team, queue)
      job.begin()
    }
  }
}
