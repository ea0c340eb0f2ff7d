import { setMaxListeners } from 'node:events'
import type { Answer, RecordType } from './dns.ts'
import {
  interpretResponse,
  MAX_CNAME_LINKS,
  type InterpretedResponse,
  canonicalizeName,
  isDomainName,
} from './interpret.ts'
import type { Question } from './message.ts'
import type { Server } from './servers.ts'
import { sendQuery } from './transport.ts'

/** Queries a list of DNS servers until one gives a usable answer. Caches nothing. */

/** Number of rounds over the servers. The second round waits twice as long, for networks that are slow but not down. */
const ROUNDS = 2
/** Time limit of one lookup in milliseconds, however many servers and aliases there are. */
const LOOKUP_MS = 30_000

/** Queries servers; caches nothing. `close` ends all pending queries with failed answers. */
export class DnsClient {
  /** Timeout of one query over UDP or TCP, in the first round. */
  readonly #timeoutMs: number
  readonly #closing = new AbortController()

  constructor(options: { timeoutMs: number }) {
    this.#timeoutMs = options.timeoutMs
    // Each query in flight adds a listener, so many listeners aren't a leak.
    setMaxListeners(0, this.#closing.signal)
  }

  close(): void {
    this.#closing.abort()
  }

  /** Looks up a name through recursive servers. Follows aliases that the servers left unresolved. */
  async lookup<T extends RecordType>(servers: Server[], name: string, type: T): Promise<Answer<T>> {
    const deadline = performance.now() + LOOKUP_MS
    const seen = new Set([canonicalizeName(name)])
    let question = { name: canonicalizeName(name), type }
    let ttl = Number.MAX_SAFE_INTEGER
    let authentic = true
    let links = 0
    for (;;) {
      const reading = await this.ask(servers, question, { recursion: true, deadline })
      if (reading.kind === 'failed') return reading
      ttl = Math.min(ttl, reading.ttl)
      authentic &&= reading.authentic
      if (reading.kind === 'absent') return { ...reading, ttl, authentic }
      if (reading.kind === 'found')
        return { ...reading, ttl, authentic, ...(links > 0 ? { alias: reading.alias ?? question.name } : {}) }
      links += reading.links
      const note = tellChain(name, reading.target, seen, links)
      if (note) return { kind: 'failed', note }
      seen.add(reading.target)
      question = { name: reading.target, type }
    }
  }

  /**
   * Sends one question to the servers, in order, until one gives a usable answer. A server that returned an error
   * (SERVFAIL, REFUSED) isn't queried again in the second round, because it has answered. A server that fails because
   * of EDNS is queried without it (RFC 6891 §7).
   */
  async ask<T extends RecordType>(
    servers: Server[],
    question: Question & { type: T },
    options: { recursion: boolean; deadline?: number; rounds?: number },
  ): Promise<InterpretedResponse<T>> {
    const what = `${question.type} of ${question.name}`
    if (!isDomainName(question.name)) {
      return { kind: 'failed', note: `Cannot look up ${what}: that is not a domain name` }
    }
    const deadline = options.deadline ?? performance.now() + LOOKUP_MS
    const notes = new Map<string, string>()
    let waiting: Candidate[] = servers.map((server) => ({ server, edns: true }))
    for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
      const again: Candidate[] = []
      for (const candidate of waiting) {
        const left = deadline - performance.now()
        if (left <= 0) return tell(what, notes, `timed out after ${LOOKUP_MS / 1000} seconds`)
        const timeoutMs = Math.ceil(Math.min(this.#timeoutMs * 2 ** round, left))
        const tried = await this.#try(candidate, question, { recursion: options.recursion, timeoutMs })
        if (tried.reading.kind !== 'failed') return tried.reading
        notes.set(candidate.server.text, tried.reading.note)
        if (tried.again) again.push(tried.again)
      }
      waiting = again
    }
    return tell(what, notes)
  }

  /**
   * Queries one server. `again` is set if the server is worth another query in the next round, and says whether to use
   * EDNS.
   */
  async #try<T extends RecordType>(
    { server, edns }: Candidate,
    question: Question & { type: T },
    asking: { recursion: boolean; timeoutMs: number },
  ): Promise<{ reading: InterpretedResponse<T>; again?: Candidate }> {
    const result = await sendQuery(server, question, { ...asking, edns, signal: this.#closing.signal })
    if ('note' in result) {
      const reading = { kind: 'failed', note: result.note } as const
      return result.silent ? { reading, again: { server, edns } } : { reading }
    }
    const reading = interpretResponse(result.message, question)
    return edns && refusesEdns(result.message.rcode)
      ? { reading, again: { server, edns: false } }
      : { reading }
  }
}

/** A server that is still worth querying, with or without the EDNS record. */
interface Candidate {
  server: Server
  edns: boolean
}

/**
 * Whether a response code means that the server doesn't support EDNS (FORMERR, NOTIMP), or not this version (BADVERS).
 */
function refusesEdns(rcode: number): boolean {
  return rcode === 1 || rcode === 4 || rcode === 16
}

function tellChain(name: string, target: string, seen: Set<string>, links: number): string | undefined {
  if (seen.has(target)) return `The CNAME records of ${name} form a loop at ${target}`
  if (links > MAX_CNAME_LINKS) return `${name} has a chain of more than ${MAX_CNAME_LINKS} CNAME records`
  return undefined
}

function tell(what: string, notes: Map<string, string>, extra?: string): { kind: 'failed'; note: string } {
  const parts = [...notes].map(([server, note]) => `DNS server ${server} ${note}`)
  if (extra) parts.push(extra)
  if (parts.length === 0) parts.push('no DNS server is configured')
  return { kind: 'failed', note: `Cannot look up ${what}: ${parts.join('; ')}` }
}
