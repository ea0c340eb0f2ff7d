/**
 * Passes each message for a receiving domain to mail filters (milters) before the reply, in the order in which they are
 * configured. Each filter sees the header with the changes of the previous ones. Reports about sent mail aren't
 * filtered.
 */
import { isIPv6 } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { confirmedNames, lookUpPtr } from '../dns/reverse.ts'
import { type HeaderField, splitMessage } from '../mail/headers.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Logger } from '../watch/log.ts'
import {
  type MilterConnection,
  openMilter,
  type Packet,
  type Step,
  STEPS,
  encodeTerminatedText,
  decodeTexts,
} from '../wire/milter.ts'
import { editHeader, type HeaderEdit, MAX_HEADER_EDITS } from './header-edits.ts'
import type { SpamFilterInput } from './spam-filter.ts'

/** A message after the filters. */
export interface FilteredMessage {
  bytes: Uint8Array
  /** Why a filter quarantined the message; null if none did. */
  quarantined: string | null
}

export interface Milters {
  /** Passes a message to the filters. Refuses: `inbound_spam`, `inbound_later`, `inbound_unjudged`. */
  filter(message: SpamFilterInput): Promise<FilteredMessage>
}

/** The result of a filter; `failed` if it returned no verdict. */
export type MilterResult = 'accepted' | 'quarantined' | 'deferred' | 'rejected' | 'failed'

export interface MilterDeps {
  /** `host:port`, or `unix:` with the path of a socket. */
  milters: readonly string[]
  /** What to do with mail while a filter is unavailable. */
  unavailable: 'accept' | 'defer'
  hostname: string
  resolver: Pick<Resolver, 'resolve'>
  clock: Pick<Clock, 'after' | 'now'>
  log: Logger
  count: (milter: string, result: MilterResult) => void
}

/** Time limit in milliseconds, because the client is waiting. Filters may look up DNS records. */
const DEADLINE_MS = 30_000
/** The largest part of a body in a packet. */
const BODY_BYTES = 65_535

/** A filter's verdict on a message. */
interface Verdict {
  result: Exclude<MilterResult, 'failed'>
  /** The filter's own reply or reason; null if there is none. */
  reason: string | null
  edits: HeaderEdit[]
}

export function createMilters(deps: MilterDeps): Milters {
  const { milters, unavailable, log, count } = deps
  const down = new Set<string>()
  const note = (milter: string, failure?: unknown): void => {
    if (failure !== undefined && !down.has(milter))
      log.warn({ err: failure, milter, mail: unavailable }, 'could not ask a milter')
    if (failure === undefined && down.delete(milter)) log.info({ milter }, 'a milter answers again')
    if (failure !== undefined) down.add(milter)
  }
  return {
    async filter(message) {
      const client = (await nameOf(message, deps)) ?? `[${message.ip}]`
      const filtered: FilteredMessage = { bytes: message.bytes, quarantined: null }
      for (const milter of milters) {
        let verdict: Verdict
        try {
          verdict = await ask(milter, { ...message, bytes: filtered.bytes, client }, deps)
          filtered.bytes = editHeader(filtered.bytes, verdict.edits)
          note(milter)
        } catch (error) {
          note(milter, error)
          count(milter, 'failed')
          if (unavailable === 'defer') throw refuse('inbound_unjudged')
          continue
        }
        const { result, reason } = verdict
        count(milter, result)
        if (result !== 'accepted')
          log.info({ milter, result, reason }, 'a milter did not accept a message as it is')
        if (result === 'rejected') throw refuse('inbound_spam')
        if (result === 'deferred') throw refuse('inbound_later')
        if (result === 'quarantined') filtered.quarantined = reason ?? milter
      }
      return filtered
    },
  }
}

/** The confirmed name of the client (forward-confirmed reverse DNS). */
const nameOf = async ({ ip }: SpamFilterInput, { resolver }: MilterDeps): Promise<string | undefined> =>
  confirmedNames(await lookUpPtr(resolver, ip))[0]

async function ask(
  milter: string,
  message: SpamFilterInput & { client: string },
  { clock, hostname }: MilterDeps,
): Promise<Verdict> {
  const stop = new AbortController()
  const late = new Error(`no verdict within ${DEADLINE_MS / 1000} seconds`)
  const cancel = clock.after(DEADLINE_MS, () => stop.abort(late))
  let connection: MilterConnection | undefined
  try {
    connection = await openMilter(milter, stop.signal)
    const verdict = await new Session(connection).judge(message, { j: hostname, i: newId(clock.now()) })
    connection.close()
    return verdict
  } catch (error) {
    connection?.destroy()
    throw error
  } finally {
    cancel()
  }
}

/** Names and values that a filter may look up, such as `i`, the message's id. */
type Macros = Record<string, string>

/** The conversation with one filter about one message. */
class Session {
  readonly #connection: MilterConnection

  constructor(connection: MilterConnection) {
    this.#connection = connection
  }

  async judge(message: SpamFilterInput & { client: string }, macros: Macros): Promise<Verdict> {
    const { bytes, ip, helo, mailFrom, recipients, client } = message
    const [sender, family] = [`<${mailFrom}>`, isIPv6(ip) ? '6' : '4']
    this.#macros('C', { ...macros, '{client_addr}': ip, '{client_name}': client })
    // The client's port is no longer known, so send 0.
    const from = [
      encodeTerminatedText(client),
      Buffer.from(family),
      Buffer.alloc(2),
      encodeTerminatedText(ip),
    ]
    const early =
      (await this.#say('connect', 'C', from)) ??
      (await this.#say('helo', 'H', [encodeTerminatedText(helo)])) ??
      (await this.#say('mail', 'M', [encodeTerminatedText(sender)], {
        ...macros,
        '{mail_addr}': mailFrom,
      })) ??
      (await this.#recipients(recipients.map(({ address }) => address))) ??
      (await this.#say('data', 'T', [], macros)) ??
      (await this.#content(bytes))
    if (early) return early
    this.#macros('E', macros)
    this.#connection.send('E')
    return this.#end()
  }

  /**
   * Sends the recipients. If a filter refuses one of them, the whole message is refused, because the server has already
   * accepted all of them, and sends one reply to the message.
   */
  async #recipients(addresses: readonly string[]): Promise<Verdict | undefined> {
    for (const address of addresses) {
      const macros = { '{rcpt_addr}': address }
      const verdict = await this.#say('recipient', 'R', [encodeTerminatedText(`<${address}>`)], macros)
      if (verdict) return verdict
    }
    return undefined
  }

  async #content(bytes: Uint8Array): Promise<Verdict | undefined> {
    const { fields, bodyOffset } = splitMessage(bytes)
    for (const field of fields) {
      const verdict = await this.#say('header', 'L', [
        encodeTerminatedText(field.name),
        encodeTerminatedText(valueOf(field, this.#connection.hasSpace), 'latin1'),
      ])
      if (verdict) return verdict
    }
    const verdict = await this.#say('endOfHeader', 'N', [])
    if (verdict) return verdict
    for (let at = bodyOffset; at < bytes.length; at += BODY_BYTES) {
      if ((this.#connection.steps & STEPS.body.no) !== 0) break
      this.#connection.send('B', bytes.subarray(at, at + BODY_BYTES))
      if ((this.#connection.steps & STEPS.body.quiet) !== 0) continue
      const reply = await this.#reply()
      if (reply.letter === 's') break
      const verdict = verdictOf(reply)
      if (verdict) return verdict
    }
    return undefined
  }

  /** Sends one step. Returns a verdict if the filter ends the session with it. */
  async #say(step: Step, letter: string, data: Buffer[], macros?: Macros): Promise<Verdict | undefined> {
    const { no, quiet } = STEPS[step]
    if ((this.#connection.steps & no) !== 0) return undefined
    if (macros) this.#macros(letter, macros)
    this.#connection.send(letter, ...data)
    return (this.#connection.steps & quiet) !== 0 ? undefined : verdictOf(await this.#reply())
  }

  #macros(letter: string, macros: Macros): void {
    const pairs = Object.entries(macros).flatMap(([name, value]) => [
      encodeTerminatedText(name),
      encodeTerminatedText(value),
    ])
    this.#connection.send('D', Buffer.from(letter), ...pairs)
  }

  /** Returns the next packet other than progress packets. */
  async #reply(): Promise<Packet> {
    for (;;) {
      const packet = await this.#connection.receive()
      if (packet.letter !== 'p') return packet
    }
  }

  /** Reads the changes after the end of the message, and the verdict. */
  async #end(): Promise<Verdict> {
    const edits: HeaderEdit[] = []
    let quarantine: string | null = null
    for (;;) {
      const packet = await this.#reply()
      if (packet.letter === 'q') quarantine = (decodeTexts(packet.data)[0] ?? '').slice(0, 200)
      else if (['h', 'i', 'm'].includes(packet.letter)) {
        if (edits.push(editOf(packet, this.#connection.hasSpace)) > MAX_HEADER_EDITS)
          throw new Error('too many changes of the header')
      } else {
        const verdict = verdictOf(packet) ?? { result: 'accepted', reason: null, edits }
        if (verdict.result !== 'accepted') return verdict
        return quarantine === null
          ? { ...verdict, edits }
          : { result: 'quarantined', reason: quarantine, edits }
      }
    }
  }
}

/** Returns a field's value as filters expect it: octets as characters, folded with LF. */
const valueOf = ({ raw }: HeaderField, hasSpace: boolean): string => {
  const field = Buffer.from(raw).toString('latin1').replace(/\r\n$/, '').replaceAll('\r\n', '\n')
  const value = field.slice(field.indexOf(':') + 1)
  return hasSpace ? value : value.replace(/^ /, '')
}

/**
 * Reads a reply. Returns undefined if the filter wants to continue. A message that the filter would discard is
 * rejected, so that its sender learns of it.
 */
function verdictOf({ letter, data }: Packet): Verdict | undefined {
  const verdict = (result: Verdict['result'], reason: string | null = null): Verdict => ({
    result,
    reason,
    edits: [],
  })
  switch (letter) {
    case 'c':
      return undefined
    case 'a':
      return verdict('accepted')
    case 'r':
    case 'd':
      return verdict('rejected')
    case 't':
      return verdict('deferred')
    case 'y': {
      const reply = (decodeTexts(data)[0] ?? '').slice(0, 500)
      if (!/^[45]/.test(reply)) throw new Error('a reply without a code of 4xx or 5xx')
      return verdict(reply.startsWith('4') ? 'deferred' : 'rejected', reply)
    }
    default:
      throw new Error(`an unexpected packet "${letter}"`)
  }
}

function editOf({ letter, data }: Packet, hasSpace: boolean): HeaderEdit {
  const [name = '', given = ''] = decodeTexts(letter === 'h' ? data : data.subarray(4))
  const value = hasSpace || given === '' ? given : ` ${given}`
  if (letter === 'h') return { kind: 'add', name, value }
  const index = data.readUInt32BE(0)
  return letter === 'i' ? { kind: 'insert', index, name, value } : { kind: 'change', index, name, value }
}
