/** Starts the daemon, kills it as planned, and restarts it. At the end, lets it finish its work. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import { CRASH_POINTS } from '../watch/crash-points.ts'
import { killAtCheckpoint, runCommand, startDaemon, type Daemon } from './daemon.ts'
import type { ApiTarget } from './api-client.ts'
import { drainMail, type CrashTraffic } from './drain.ts'
import type { Exchangers } from './exchanger.ts'
import type { Ledger } from './ledger.ts'
import { formatKillName, type PlannedKill } from './plan.ts'
import type { PostgresServer } from './postgres-server.ts'
import type { TestEnvironment } from './environment.ts'

export interface KillerDeps {
  stage: TestEnvironment
  ledger: Ledger
  clock: Clock
  exchangers: Pick<Exchangers, 'conversations'>
  /** The database server, if the test may kill it. */
  server: Pick<PostgresServer, 'kill' | 'start'> | undefined
  /** Counts a new run of the daemon, and returns its number. */
  nextRun: () => number
}

/**
 * Number of emails that clients may send at full speed after each start. The rest of the time, queued mail is
 * delivered.
 */
const BURST = 150
/** Number of messages that other servers may send after each start. */
const ARRIVALS = 30
/** Time limit for a start, a stop, and reaching a crash point, in milliseconds; long enough for a busy machine. */
const START_MS = 180_000
const STOP_MS = 40_000
const POINT_MS = 40_000
/**
 * Retry all queued mail after this many kills, because a daemon that dies during an attempt delays the delivery for a
 * minute or longer.
 */
const RETRY_EVERY = 8
/** Time to read the remaining data from the sockets of a dead process before the next one starts, in milliseconds. */
const SETTLE_DOWN_MS = 10

export class Killer {
  /** Problems other than lost mail: a daemon that didn't start, or exited unexpectedly. */
  readonly faults: string[] = []
  /** Duration of each start in milliseconds. */
  readonly starts: number[] = []
  traffic: CrashTraffic | undefined
  readonly #deps: KillerDeps
  #daemon: Daemon | undefined
  #run = 0
  /** The running retry; one at a time, because commands would pile up on a slow machine. */
  #retrying: Promise<void> | undefined

  constructor(deps: KillerDeps) {
    this.#deps = deps
  }

  /** Starts a daemon and ends it as planned. If it doesn't reach its crash point, it is killed anyway. */
  async kill(planned: PlannedKill): Promise<void> {
    const point = planned.kind === 'point' ? `${planned.point}:${planned.count}` : undefined
    const daemon = this.#start(point)
    const hit = await this.#hit(daemon, planned)
    const { exchangers, ledger, clock } = this.#deps
    const open = exchangers.conversations()
    daemon.signal('SIGKILL')
    const end = await daemon.ended
    const at = clock.now()
    this.#noteTakenOver(daemon)
    if (end === 'SIGKILL') {
      const how = hit ? formatKillName(planned) : 'point not reached'
      const number = ledger.kills.length + 1
      const noted = { number, runs: [this.#run], how, at, until: null, conversations: open }
      ledger.kills.push({ ...noted, inFlight: null, leased: null, freedMs: null })
    } else if (planned.kind !== 'checkpoint-midway' || end !== 0)
      this.faults.push(`Start ${this.#run} ended by itself (${end}): ${daemon.tail()}`)
    await pause(SETTLE_DOWN_MS)
  }

  /**
   * Runs the last daemon: waits until every client has a response and all queued mail is final and reported, then asks
   * for the report.
   */
  async drain(asked: ApiTarget): Promise<void> {
    const daemon = this.#start()
    if (!(await this.#ready(daemon))) return
    this.#noteTakenOver(daemon)
    const problems = await drainMail(asked, {
      ...this.#deps,
      traffic: this.traffic,
      retry: () => this.#retry(),
    })
    this.faults.push(...problems)
    if (problems.length === 0) await this.#stop(daemon)
  }

  /** Kills the processes that are still running. */
  async end(): Promise<void> {
    this.#daemon?.signal('SIGKILL')
    await this.#daemon?.ended
    await this.#retrying
  }

  #start(point?: string): Daemon {
    this.#run = this.#deps.nextRun()
    this.#daemon = startDaemon(this.#deps.stage.nodes[0].configFile, point)
    return this.#daemon
  }

  /** Records the number of deliveries that this run took over, which were in flight at the previous kill. */
  #noteTakenOver(daemon: Daemon): void {
    const before = this.#deps.ledger.kills.find(({ runs }) => runs.includes(this.#run - 1))
    if (before) before.inFlight = daemon.tookOver()
  }

  /** Waits until the daemon accepts mail; false when it doesn't, which is a fault unless it `mayDie` and did. */
  async #ready(daemon: Daemon, mayDie = false): Promise<boolean> {
    const { clock } = this.#deps
    const begun = clock.now()
    const ready = await Promise.race([daemon.ready, pause(START_MS, false, { ref: false })])
    if (ready) this.starts.push(clock.now() - begun)
    else if (!(mayDie && daemon.isOver)) this.faults.push(`Start ${this.#run} took no mail: ${daemon.tail()}`)
    return ready
  }

  #hit(daemon: Daemon, planned: PlannedKill): Promise<boolean> {
    if (planned.kind === 'random') return this.#random(daemon, planned)
    return planned.kind === 'server' ? this.#server(daemon, planned) : this.#point(daemon, planned)
  }

  /** Kills and restarts the database server. The daemon must keep running. */
  async #server(daemon: Daemon, planned: PlannedKill & { kind: 'server' }): Promise<boolean> {
    const server = this.#deps.server
    if (!server || !(await this.#ready(daemon))) return false
    this.#send()
    await Promise.race([pause(planned.sinceMs), daemon.ended])
    await server.kill()
    await pause(planned.downMs)
    await server.start()
    this.#send()
    await Promise.race([pause(planned.afterMs), daemon.ended])
    return !daemon.isOver
  }

  async #random(daemon: Daemon, planned: PlannedKill & { kind: 'random' }): Promise<boolean> {
    if (planned.since === 'ready') {
      if (!(await this.#ready(daemon))) return false
      this.#send()
    }
    await Promise.race([pause(planned.afterMs), daemon.ended])
    return true
  }

  async #point(
    daemon: Daemon,
    planned: Exclude<PlannedKill, { kind: 'random' | 'server' }>,
  ): Promise<boolean> {
    const reach = planned.kind === 'point' ? CRASH_POINTS[planned.point].reach : 'stop'
    const ready = await this.#ready(daemon, true)
    if (reach !== 'start' && ready) {
      this.#send()
      if (reach === 'stop') await pause(300)
    }
    const midway = planned.kind === 'checkpoint-midway'
    const unwatch = midway ? killAtCheckpoint(this.#deps.stage.nodes[0].config.data_dir, daemon) : undefined
    if (reach === 'stop') daemon.signal('SIGTERM')
    const late = this.#deps.clock.now() + (reach === 'stop' ? STOP_MS : POINT_MS)
    while (!daemon.isOver && this.#deps.clock.now() < late) {
      await Promise.race([daemon.ended, pause(400)])
      if (reach === 'traffic') this.#send()
    }
    unwatch?.()
    return daemon.isOver && (await daemon.ended) === 'SIGKILL'
  }

  #send(): void {
    this.traffic?.allow(BURST, ARRIVALS)
    if (this.#run % RETRY_EVERY === 0)
      this.#retrying ??= this.#retry().finally(() => (this.#retrying = undefined))
  }

  /**
   * Retries queued mail, as an impatient operator would. May fail because the daemon dies. That does no harm, because
   * this is repeated later.
   */
  async #retry(): Promise<void> {
    await runCommand(['queue', 'retry'], this.#deps.stage.nodes[0].configFile).catch(() => undefined)
  }

  async #stop(daemon: Daemon): Promise<void> {
    daemon.signal('SIGTERM')
    const end = await Promise.race([daemon.ended, pause(STOP_MS, 'nothing', { ref: false })])
    if (end !== 0)
      this.faults.push(`The last daemon was asked to stop and ended with ${end}: ${daemon.tail()}`)
  }
}
