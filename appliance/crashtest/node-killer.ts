/**
 * Runs nodes that share a PostgreSQL database. Kills or stops one of them, or the database server, or promotes its
 * standby.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import type { ApiTarget } from './api-client.ts'
import { runCommand, startDaemon, type Daemon } from './daemon.ts'
import { drainMail, type CrashTraffic } from './drain.ts'
import type { Exchangers } from './exchanger.ts'
import type { Kill, Ledger } from './ledger.ts'
import { formatFaultName, type NodeFault } from './node-plan.ts'
import type { PostgresPair } from './postgres-pair.ts'
import type { TestEnvironment } from './environment.ts'
import type { TestNode } from './environment-node.ts'

export interface NodeKillerDeps {
  stage: Pick<TestEnvironment, 'nodes'>
  ledger: Ledger
  clock: Clock
  exchangers: Pick<Exchangers, 'conversations'>
  server: Omit<PostgresPair, 'urlOf' | 'close'>
  /** Counts a new run of a node, and returns its number. */
  nextRun: (node: number) => number
}

/** Number of emails that clients may send, and of messages from other servers, before and after each fault. */
const BURST = 150
const ARRIVALS = 30
/** Interval of further bursts while a node has no leases, in milliseconds. */
const BURST_MS = 2000
/** Time limit for a start or a stop, and for a node to accept mail again, in milliseconds. */
const START_MS = 180_000
const STOP_MS = 60_000
const READY_MS = 180_000
/** Interval between checks of leases or of a node, in milliseconds. */
const LOOK_MS = 200
/** How long to wait until leases are free, in milliseconds; much longer than the verdict allows. */
const FREE_MS = 60_000
/** Time after which transactions of a dead node have ended, in milliseconds. */
const SETTLE_DOWN_MS = 300

/** Lists the deliveries in flight: `node|email recipient`. */
const LEASES = `select split_part(lease_owner, '/', 1), email_id || ' ' || recipient from deliveries where lease_owner is not null`

interface RunningNode extends TestNode {
  at: number
  run: number
  daemon: Daemon
}

export class NodeKiller {
  /** Problems other than lost mail. */
  readonly faults: string[] = []
  /** Duration of each start in milliseconds. */
  readonly starts: number[] = []
  traffic: CrashTraffic | undefined
  readonly #deps: NodeKillerDeps
  #nodes: RunningNode[] = []

  constructor(deps: NodeKillerDeps) {
    this.#deps = deps
  }

  /** Makes a fault, and waits until all nodes accept mail again. */
  async make(fault: NodeFault): Promise<void> {
    await this.#startAll()
    this.#send()
    await pause(fault.sinceMs)
    if (fault.kind === 'server') await this.#killServer(fault)
    else if (fault.kind === 'promotion') await this.#promoteStandby(fault)
    else if (fault.kind === 'pause') await this.#pauseNode(fault)
    else await this.#killNode(fault)
    this.#send()
    for (const node of this.#nodes) await this.#awaitMail(node)
  }

  /** Lets the nodes finish, and stops them. */
  async drain(asked: ApiTarget): Promise<void> {
    await this.#startAll()
    const problems = await drainMail(asked, {
      ...this.#deps,
      traffic: this.traffic,
      retry: () => this.#retry(),
    })
    this.faults.push(...problems)
    if (problems.length > 0) return
    for (const { at, daemon } of this.#nodes) {
      daemon.signal('SIGTERM')
      const end = await Promise.race([daemon.ended, pause(STOP_MS, 'nothing', { ref: false })])
      if (end !== 0)
        this.faults.push(`Node ${at + 1} was asked to stop and ended with ${end}: ${daemon.tail()}`)
    }
  }

  /** Kills the processes that are still running. */
  async end(): Promise<void> {
    for (const { daemon } of this.#nodes) daemon.signal('SIGKILL')
    await Promise.all(this.#nodes.map(({ daemon }) => daemon.ended))
  }

  async #startAll(): Promise<void> {
    if (this.#nodes.length > 0) return
    this.#nodes = this.#deps.stage.nodes.map((node, at) => ({ ...node, at, ...this.#spawn(node, at) }))
    await Promise.all(this.#nodes.map((node) => this.#awaitStart(node)))
  }

  #spawn({ configFile }: TestNode, at: number): Pick<RunningNode, 'run' | 'daemon'> {
    return { run: this.#deps.nextRun(at), daemon: startDaemon(configFile) }
  }

  async #awaitStart({ run, daemon }: RunningNode): Promise<void> {
    const begun = this.#deps.clock.now()
    const ready = await Promise.race([daemon.ready, pause(START_MS, false, { ref: false })])
    if (ready) this.starts.push(this.#deps.clock.now() - begun)
    else this.faults.push(`Start ${run} took no mail: ${daemon.tail()}`)
  }

  /** Waits until a node is ready again, after it was fenced or the database was unavailable. */
  async #awaitMail({ at, url, daemon }: RunningNode): Promise<void> {
    const late = this.#deps.clock.now() + READY_MS
    while (this.#deps.clock.now() < late && !daemon.isOver) {
      const response = await fetch(`${url}/readyz`).catch(() => undefined)
      if (response?.ok) return
      await pause(LOOK_MS)
    }
    this.faults.push(`Node ${at + 1} takes no mail after a fault: ${daemon.tail()}`)
  }

  async #killNode(fault: NodeFault & { kind: 'node' }): Promise<void> {
    const node = this.#nodes[fault.node]!
    if (fault.start === 'when freed') await this.#awaitLeases(node)
    const kill = this.#note(fault, [node])
    node.daemon.signal('SIGKILL')
    await node.daemon.ended
    kill.at = this.#deps.clock.now()
    const atOnce = fault.start === 'at once'
    await this.#watchLeases(node, kill, atOnce ? SETTLE_DOWN_MS : FREE_MS)
    Object.assign(node, this.#spawn(node, fault.node))
    await this.#awaitStart(node)
  }

  async #pauseNode(fault: NodeFault & { kind: 'pause' }): Promise<void> {
    const { clock } = this.#deps
    const node = this.#nodes[fault.node]!
    const kill = this.#note(fault, [node])
    node.daemon.signal('SIGSTOP')
    const end = clock.now() + fault.forMs
    await this.#watchLeases(node, kill, fault.forMs)
    await pause(Math.max(0, end - clock.now()))
    kill.until = clock.now()
    node.daemon.signal('SIGCONT')
  }

  async #killServer(fault: NodeFault & { kind: 'server' }): Promise<void> {
    const { server, clock } = this.#deps
    const kill = this.#note(fault, this.#nodes)
    await server.kill()
    noteInFlight(kill, leasesIn(await server.queryApart(LEASES)))
    await pause(fault.downMs)
    await server.start()
    kill.until = clock.now()
  }

  /** Kills the primary, and promotes its standby. Afterwards, there is a standby again. */
  async #promoteStandby(fault: NodeFault & { kind: 'promotion' }): Promise<void> {
    const { server, clock } = this.#deps
    const kill = this.#note(fault, this.#nodes)
    await server.kill()
    noteInFlight(kill, leasesIn(await server.queryStandby(LEASES)))
    await pause(fault.downMs)
    await server.promote()
    kill.until = clock.now()
    await server.addStandby()
  }

  /** Records a fault that is about to be made. */
  #note(fault: NodeFault, nodes: readonly RunningNode[]): Kill {
    const { ledger, clock, exchangers } = this.#deps
    const kill: Kill = {
      number: ledger.kills.length + 1,
      runs: nodes.map(({ run }) => run),
      how: formatFaultName(fault),
      at: clock.now(),
      until: null,
      conversations: exchangers.conversations(),
      inFlight: null,
      leased: null,
      freedMs: null,
    }
    ledger.kills.push(kill)
    return kill
  }

  /** Waits until a node leases deliveries, because otherwise its end leaves nothing to free. */
  async #awaitLeases(node: RunningNode): Promise<void> {
    const { server, clock } = this.#deps
    const id = await readNodeId(node)
    const late = clock.now() + READY_MS
    for (let next = clock.now() + BURST_MS; clock.now() < late; await pause(LOOK_MS)) {
      if (leasesIn(await server.query(LEASES), id).length > 0) return
      if (clock.now() < next) continue
      this.#send()
      next = clock.now() + BURST_MS
    }
  }

  /** Records the leases of a node that is gone, until there are none or the time limit is reached. */
  async #watchLeases(node: RunningNode, kill: Kill, forMs: number): Promise<void> {
    const { server, clock } = this.#deps
    const id = await readNodeId(node)
    const leased = new Set<string>()
    for (let left = Infinity; left > 0 && clock.now() - kill.at < forMs;) {
      const seen = leasesIn(await server.query(LEASES), id)
      for (const one of seen) leased.add(one)
      left = seen.length
      // Writes that were in progress at the kill may still be committed.
      if (left === 0 && clock.now() - kill.at < SETTLE_DOWN_MS) left = Infinity
      if (left === 0 && leased.size > 0) kill.freedMs = clock.now() - kill.at
      if (left > 0) await pause(LOOK_MS)
    }
    noteInFlight(kill, [...leased])
    if (kill.freedMs === null && leased.size > 0 && forMs >= FREE_MS) kill.freedMs = clock.now() - kill.at
  }

  #send(): void {
    this.traffic?.allow(BURST, ARRIVALS)
  }

  /** Retries queued mail. A failure while the database is down does no harm, because this runs again. */
  async #retry(): Promise<void> {
    await runCommand(['queue', 'retry'], this.#deps.stage.nodes[0].configFile).catch(() => undefined)
  }
}

const readNodeId = async ({ config }: TestNode): Promise<string> =>
  (await readFile(join(config.data_dir, 'node-id'), 'utf8')).trim()

/** Parses the deliveries in flight, of one node or of all. */
const leasesIn = (lines: string, node?: string): string[] =>
  lines
    .split('\n')
    .filter((line) => line !== '' && (node === undefined || line.startsWith(`${node}|`)))
    .map((line) => line.slice(line.indexOf('|') + 1))

function noteInFlight(kill: Kill, leased: string[]): void {
  kill.leased = leased
  kill.inFlight = leased.length
}
