import { setMaxListeners } from 'node:events'
import type { Answer, RecordType } from './dns.ts'
import { interpret, MAX_LINKS, type Reading, canonical, isDomainName } from './interpret.ts'
import type { Question } from './message.ts'
import type { Server } from './servers.ts'
import { exchange } from './transport.ts'

/** Asking a list of servers until one tells, without any memory. */

/** Rounds over the servers; the second waits twice as long, for a network that is slow and not dead. */
const ROUNDS = 2
/** The longest that one look-up may take, however many servers and aliases there are. */
const LOOKUP_MS = 30_000

/** Asks servers; nothing is remembered. `close` ends all waiting, with failed answers. */
export class Client {
  /** For one try over UDP or TCP, in the first round. */
  readonly #timeoutMs: number
  readonly #closing = new AbortController()

  constructor(options: { timeoutMs: number }) {
    this.#timeoutMs = options.timeoutMs
    // One listener for each query in flight, which is no leak.
    setMaxListeners(0, this.#closing.signal)
  }

  close(): void {
    this.#closing.abort()
  }

  /** Looks a name up through recursive servers, following aliases that the servers leave to us. */
  async lookup<T extends RecordType>(servers: Server[], name: string, type: T): Promise<Answer<T>> {
    const deadline = performance.now() + LOOKUP_MS
    const seen = new Set([canonical(name)])
    let question = { name: canonical(name), type }
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
   * Asks the servers one question, in order, until one tells. A server that said no (SERVFAIL, REFUSED) is not asked
   * again in the second round: it has spoken. One that stumbled over EDNS is asked without (RFC 6891 §7).
   */
  async ask<T extends RecordType>(
    servers: Server[],
    question: Question & { type: T },
    options: { recursion: boolean; deadline?: number; rounds?: number },
  ): Promise<Reading<T>> {
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

  /** One question to one server; `again` tells whether, and how, it is worth another round. */
  async #try<T extends RecordType>(
    { server, edns }: Candidate,
    question: Question & { type: T },
    asking: { recursion: boolean; timeoutMs: number },
  ): Promise<{ reading: Reading<T>; again?: Candidate }> {
    const result = await exchange(server, question, { ...asking, edns, signal: this.#closing.signal })
    if ('note' in result) {
      const reading = { kind: 'failed', note: result.note } as const
      return result.silent ? { reading, again: { server, edns } } : { reading }
    }
    const reading = interpret(result.message, question)
    return edns && refusesEdns(result.message.rcode)
      ? { reading, again: { server, edns: false } }
      : { reading }
  }
}

/** A server that is still worth asking, with the EDNS record or without. */
interface Candidate {
  server: Server
  edns: boolean
}

/** FORMERR and NOTIMP from a server that does not know EDNS, BADVERS from one that knows another version. */
function refusesEdns(rcode: number): boolean {
  return rcode === 1 || rcode === 4 || rcode === 16
}

function tellChain(name: string, target: string, seen: Set<string>, links: number): string | undefined {
  if (seen.has(target)) return `The CNAME records of ${name} form a loop at ${target}`
  if (links > MAX_LINKS) return `${name} has a chain of more than ${MAX_LINKS} CNAME records`
  return undefined
}

function tell(what: string, notes: Map<string, string>, extra?: string): { kind: 'failed'; note: string } {
  const parts = [...notes].map(([server, note]) => `DNS server ${server} ${note}`)
  if (extra) parts.push(extra)
  if (parts.length === 0) parts.push('no DNS server is configured')
  return { kind: 'failed', note: `Cannot look up ${what}: ${parts.join('; ')}` }
}
