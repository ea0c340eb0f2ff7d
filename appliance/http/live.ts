/** Serves GET /live. All streams share one query for new events. */
import type { ServerResponse } from 'node:http'
import { refuse } from '../mail/refusals.ts'
import {
  START_CURSOR,
  minCursor,
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
/** How often to query lanes while operators have streams, in milliseconds. */
const LOOK_AT_LANES = 2000
/** Interval between heartbeats in milliseconds. Proxies close connections that are silent for a minute. */
const HEARTBEAT = 15_000
/**
 * Maximum duration of a stream in milliseconds. The client then reconnects, and has to present its session or key
 * again.
 */
const LIFETIME = 15 * 60_000
/** Maximum number of bytes buffered for a slow client. A client with more is disconnected, and may reconnect. */
const MOST_WAITING = 256 * 1024
/** How long a client has to read the remaining data after its stream ended, in milliseconds. */
const LAST_WORDS = 5000
/** Maximum number of streams in total and per team. Each uses a socket. */
const MOST_CLIENTS = 500
const MOST_OF_TEAM = 125
/** Maximum number of events per query. The next query reads more. */
const PAGE = 1000

interface Client {
  teamId: string
  /** Whether the client receives lanes, which belong to the whole server. */
  operator: boolean
  still: () => Promise<boolean>
  response: ServerResponse
  /** The last event that was sent to the client. */
  cursor: EventCursor
  beat: NodeJS.Timeout
  end: NodeJS.Timeout
}

/** A client of a stream. */
export interface StreamClient {
  teamId: string
  operator: boolean
  /** Reports whether the client still has access. Called before more data is sent. */
  still: () => Promise<boolean>
}

export interface LiveStreams {
  /** Checks the limits. Refuses: `live_streams` when the team, or all teams together, have too many streams. */
  admit(teamId: string): void
  /**
   * Takes over a response whose headers haven't been sent.
   * @param after the last event that the client knows (`Last-Event-ID`); null to send only new events
   */
  join(
    listener: StreamClient,
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

export function createLiveStreams(
  deps: { storage: Pick<Storage, 'liveEvents' | 'lastEvent' | 'listLanes'> } & Pick<
    HttpDeps,
    'clock' | 'log'
  >,
): LiveStreams {
  return new Hub(deps)
}

class Hub implements LiveStreams {
  readonly #deps: Parameters<typeof createLiveStreams>[0]
  readonly #clients = new Set<Client>()
  #cursor = START_CURSOR
  #looking = false
  /** A key for the current state of the lanes, and when it was read. */
  #lanes = { mark: '', at: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Parameters<typeof createLiveStreams>[0]) {
    this.#deps = deps
  }

  admit(teamId: string): void {
    const ofTeam = [...this.#clients].filter((client) => client.teamId === teamId).length
    if (ofTeam >= MOST_OF_TEAM || this.#clients.size >= MOST_CLIENTS) throw refuse('live_streams')
  }

  async join(
    listener: StreamClient,
    response: ServerResponse,
    headers: Record<string, string>,
    after: EventCursor | null,
  ) {
    const { storage, clock } = this.#deps
    const last = await storage.lastEvent({}, clock.now())
    if (this.#clients.size === 0) this.#cursor = last
    // The ID may be in the future if the database was restored from a backup.
    const cursor = after === null ? this.#cursor : minCursor(after, this.#cursor)
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

  /**
   * Sends the events since the client was last connected. If there are too many, tells the client to reload everything.
   */
  async #catchUp(client: Client): Promise<void> {
    const { storage, clock } = this.#deps
    // Other clients may receive newer events meanwhile. In that case, the caller repeats this.
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

  /**
   * Whether the client may still receive events. The person may have been removed or signed out, or the key revoked.
   */
  async #isLet(client: Client): Promise<boolean> {
    // A storage failure also ends the stream. The client reconnects and authenticates again.
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

  /** Ends a stream. Writing to a stream that has ended would throw an uncaught error and crash the daemon. */
  #end(client: Client): void {
    this.#drop(client)
    const { response } = client
    response.end()
    // Otherwise, a client that doesn't read would keep its socket.
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
