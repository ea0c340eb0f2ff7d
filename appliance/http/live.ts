/** Serves GET /live. All streams share one query for new events. */
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

/** How often to query events while there are streams (milliseconds). */
const LOOK = 500
/** How often to query lanes while operators have streams (milliseconds). */
const LOOK_AT_LANES = 2000
/** Proxies close connections that are silent for a minute. */
const HEARTBEAT = 15_000
/** Maximum duration of a stream. The client reconnects, and has to present its session or key again. */
const LIFETIME = 15 * 60_000
/** Bytes that may wait for a slow client. Above it the client is disconnected, and may reconnect. */
const MOST_WAITING = 256 * 1024
/** How long a client has to read the rest after its stream ended (milliseconds). */
const LAST_WORDS = 5000
/** Maximum streams in total and per team; each uses a socket. */
const MOST_CLIENTS = 500
const MOST_OF_TEAM = 125
/** Events per query; the next one reads more. */
const PAGE = 1000

interface Client {
  teamId: string
  /** Whether it gets lanes, which belong to the whole server. */
  operator: boolean
  still: () => Promise<boolean>
  response: ServerResponse
  /** The last event it was sent. */
  cursor: EventCursor
  beat: NodeJS.Timeout
  end: NodeJS.Timeout
}

/** A client of a stream. */
export interface Listener {
  teamId: string
  operator: boolean
  /** Whether the client would still be let in; called before anything more is sent. */
  still: () => Promise<boolean>
}

export interface Live {
  /** Refuses: `live_streams` when the team, or all teams together, have too many streams. */
  admit(teamId: string): void
  /**
   * Takes over a response whose headers haven't been sent.
   * @param after the last event that the client knows (`Last-Event-ID`); null to start now
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

/** Formats an event for server-sent events, named after its object: `email`, `domain`, `suppression`. */
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
  /** Identifies a state of the lanes, and when it was read. */
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
    // An id from a database that was later restored from a backup may be in the future.
    const cursor = after === null ? this.#cursor : earlier(after, this.#cursor)
    const drop = () => this.#drop(client)
    const client: Client = {
      ...listener,
      response,
      cursor,
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

  /** Sends what happened since the client was last connected; when that is too much, tells it to reload everything. */
  async #catchUp(client: Client): Promise<void> {
    const { storage, clock } = this.#deps
    // Others may have been sent more meanwhile; then repeat.
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

  /** Sends lanes without an id, because a client that reconnects reloads them. */
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

  /** Whether the client may still listen: it may have been removed, signed out, or lost its key. */
  async #isLet(client: Client): Promise<boolean> {
    // Failing storage also ends the stream. The client reconnects and authenticates again.
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

  /** Ends a stream. Writing to an ended one would throw an uncaught error and crash the daemon. */
  #end(client: Client): void {
    this.#drop(client)
    const { response } = client
    response.end()
    // A client that doesn't read would otherwise keep its socket.
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
