/** Who listens to GET /live, and what they are told. One look at the events serves all of them. */
import type { ServerResponse } from 'node:http'
import { refuse } from '../mail/refusals.ts'
import {
  BEFORE_ALL,
  earlier,
  type EventCursor,
  formatCursor,
  isAfter,
  type LiveEvent,
  type Storage,
} from '../storage/storage.ts'
import type { HttpDeps } from './deps.ts'
import { isoTimestamp } from '../api/timestamp.ts'

/** How often the events are looked at while anybody listens (milliseconds). */
const LOOK = 500
/** How often the lanes are looked at while an operator listens (milliseconds). */
const LOOK_AT_LANES = 2000
/** Proxies cut connections on which nothing is said for a minute. */
const HEARTBEAT = 15_000
/** A stream ends after this time: the client comes back, and has to show its session or key again. */
const LIFETIME = 15 * 60_000
/** Bytes that wait for a client that reads too slowly; then it is dropped, and may come back. */
const MOST_WAITING = 256 * 1024
/** How long a client has to take what was written before its stream ended (milliseconds). */
const LAST_WORDS = 5000
/** Streams at once, of everybody and of one team; each costs a socket. */
const MOST_CLIENTS = 500
const MOST_OF_TEAM = 125
/** Events in one look; more are read in the next. */
const PAGE = 1000

interface Client {
  teamId: string
  /** It hears of lanes too: they are of the whole appliance. */
  operator: boolean
  still: () => Promise<boolean>
  response: ServerResponse
  /** The last event that it was told of. */
  cursor: EventCursor
  beat: NodeJS.Timeout
  end: NodeJS.Timeout
}

/** Who listens. */
export interface Listener {
  teamId: string
  operator: boolean
  /** Whether the listener would still be let in: asked before anything more is told. */
  still: () => Promise<boolean>
}

export interface Live {
  /** Refuses: `live_streams` when the team, or everybody together, has too many streams. */
  admit(teamId: string): void
  /**
   * Takes over a response whose headers are not sent.
   * @param after the last event that the client knows (`Last-Event-ID`); null: it begins now
   */
  join(
    listener: Listener,
    response: ServerResponse,
    headers: Record<string, string>,
    after: EventCursor | null,
  ): Promise<void>
  /** Ends all streams. */
  close(): void
}

/** One event in the format of server-sent events, named by what it is about: `email`, `domain`, `suppression`. */
function written({ cursor, type, emailId, createdAt }: LiveEvent): string {
  const data = { type, email_id: emailId, created_at: isoTimestamp(createdAt) }
  return `id: ${formatCursor(cursor)}\nevent: ${type.split('.', 1)[0]!}\ndata: ${JSON.stringify(data)}\n\n`
}

export function createLive(
  deps: { storage: Pick<Storage, 'liveEvents' | 'lastEvent' | 'listLanes'> } & Pick<
    HttpDeps,
    'clock' | 'log'
  >,
): Live {
  return new Hub(deps)
}

class Hub implements Live {
  readonly #deps: Parameters<typeof createLive>[0]
  readonly #clients = new Set<Client>()
  #cursor = BEFORE_ALL
  #looking = false
  /** What tells one state of the lanes from another, and when it was looked at. */
  #lanes = { mark: '', at: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Parameters<typeof createLive>[0]) {
    this.#deps = deps
  }

  admit(teamId: string): void {
    const ofTeam = [...this.#clients].filter((client) => client.teamId === teamId).length
    if (ofTeam >= MOST_OF_TEAM || this.#clients.size >= MOST_CLIENTS) throw refuse('live_streams')
  }

  async join(
    listener: Listener,
    response: ServerResponse,
    headers: Record<string, string>,
    after: EventCursor | null,
  ) {
    const { storage, clock } = this.#deps
    const last = await storage.lastEvent({}, clock.now())
    if (this.#clients.size === 0) this.#cursor = last
    // An id from a database that was since restored from a backup may be of the future.
    const cursor = after === null ? this.#cursor : earlier(after, this.#cursor)
    const drop = () => this.#drop(client)
    const client: Client = {
      ...{ ...listener, response, cursor },
      beat: setInterval(() => this.#write(client, ': still here\n\n'), HEARTBEAT),
      end: setTimeout(() => this.#end(client), LIFETIME),
    }
    response.on('close', drop)
    response.writeHead(200, headers)
    this.#write(client, `retry: 2000\nid: ${formatCursor(cursor)}\nevent: hello\ndata: {}\n\n`)
    while (isAfter(this.#cursor, client.cursor) && !response.closed) await this.#catchUp(client)
    if (response.closed) return
    this.#clients.add(client)
    this.#timer ??= setInterval(() => void this.#look(), LOOK)
  }

  close(): void {
    for (const client of this.#clients) this.#end(client)
  }

  /** What happened since the client was last here; where that is too much, it is told to read everything anew. */
  async #catchUp(client: Client): Promise<void> {
    const { storage, clock } = this.#deps
    // Meanwhile the others may have been told more: then this is done again.
    const until = this.#cursor
    const asked = { teamId: client.teamId, after: client.cursor, limit: PAGE }
    const missed = await storage.liveEvents(asked, clock.now())
    if (missed.length === PAGE) this.#write(client, `id: ${formatCursor(until)}\nevent: reset\ndata: {}\n\n`)
    else missed.forEach((event) => this.#tell(client, event))
    if (isAfter(until, client.cursor)) client.cursor = until
  }

  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    const { storage, clock, log } = this.#deps
    try {
      const events = await storage.liveEvents({ after: this.#cursor, limit: PAGE }, clock.now())
      this.#cursor = events.at(-1)?.cursor ?? this.#cursor
      await Promise.all([...this.#clients].map((client) => this.#tellAll(client, events)))
      await this.#lookAtLanes()
    } catch (err) {
      log.warn({ err }, 'the live stream could not read new events; will retry')
    }
    this.#looking = false
  }

  /** Without an id: a client that comes back reads the lanes anew. */
  async #lookAtLanes(): Promise<void> {
    const operators = [...this.#clients].filter(({ operator }) => operator)
    const { storage, clock } = this.#deps
    if (operators.length === 0 || Date.now() - this.#lanes.at < LOOK_AT_LANES) return
    const lanes = await storage.listLanes({}, clock.now())
    const mark = `${lanes.length} ${Math.max(0, ...lanes.map(({ updatedAt }) => updatedAt))}`
    const known = this.#lanes.mark
    this.#lanes = { mark, at: Date.now() }
    if (mark === known) return
    for (const client of operators)
      if (await this.#isLet(client)) this.#write(client, 'event: lanes\ndata: {}\n\n')
  }

  /** Somebody may have been removed, signed out, or lost the key since the stream began. */
  async #isLet(client: Client): Promise<boolean> {
    // A storage that does not answer ends the stream as well: the client comes back, and is asked who it is.
    const still = await client.still().catch(() => false)
    if (!still) this.#end(client)
    return still
  }

  async #tellAll(client: Client, events: LiveEvent[]): Promise<void> {
    const news = events.filter(
      ({ teamId, cursor }) => teamId === client.teamId && isAfter(cursor, client.cursor),
    )
    if (news.length === 0 || !(await this.#isLet(client))) return
    for (const event of news) this.#tell(client, event)
  }

  #tell(client: Client, event: LiveEvent): void {
    if (event.teamId !== client.teamId || !isAfter(event.cursor, client.cursor)) return
    client.cursor = event.cursor
    this.#write(client, written(event))
  }

  #write(client: Client, text: string): void {
    if (client.response.writableEnded) return
    if (client.response.writableLength > MOST_WAITING) client.response.destroy()
    else client.response.write(text)
  }

  /** Nothing is written to an ended stream: Node throws that where nobody catches it, and the daemon would end with it. */
  #end(client: Client): void {
    this.#drop(client)
    const { response } = client
    response.end()
    // One that does not read would keep its socket until it does.
    const late = setTimeout(() => response.destroy(), LAST_WORDS)
    late.unref()
    response.once('close', () => clearTimeout(late))
  }

  #drop(client: Client): void {
    clearInterval(client.beat)
    clearTimeout(client.end)
    this.#clients.delete(client)
    if (this.#clients.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
