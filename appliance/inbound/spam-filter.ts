/**
 * Checks each message for a receiving domain with rspamd, over its HTTP protocol (`POST /checkv2`), before the reply.
 * Reports about sent mail aren't checked, because they quote the original mail.
 */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { confirmedNames, lookUpPtr } from '../dns/reverse.ts'
import type { SpamVerdict } from '../mail/inbound.ts'
import { refuse } from '../mail/refusals.ts'
import type { Logger } from '../watch/log.ts'

/** A message to check, with the data that the filter needs. */
export interface SpamFilterInput {
  bytes: Uint8Array
  mailFrom: string
  ip: string
  helo: string
  recipients: readonly { address: string }[]
}

export interface SpamFilter {
  /**
   * Returns the filter's verdict; null if the filter is unavailable and mail is accepted in that case. Refuses:
   * `inbound_spam`, `inbound_later`, `inbound_unjudged`.
   */
  judge(message: SpamFilterInput): Promise<SpamVerdict | null>
}

/** The result of the check; `failed` if there is no verdict. */
type Result = 'clear' | 'flagged' | 'deferred' | 'rejected' | 'failed'

export interface SpamFilterDeps {
  /** Origin of rspamd's normal worker, such as http://127.0.0.1:11333. */
  url: string
  /** What to do with mail that can't be checked. */
  unavailable: 'accept' | 'defer'
  resolver: Pick<Resolver, 'resolve'>
  clock: Pick<Clock, 'after'>
  log: Logger
  count: (result: Result) => void
}

/** Time limit in milliseconds, because the client is waiting. */
const DEADLINE_MS = 10_000
/** Maximum size of an answer in bytes. A verdict with all symbols has a few kilobytes. */
const MOST_BYTES = 1024 * 1024
const MOST_SYMBOLS = 50

export function createSpamFilter(deps: SpamFilterDeps): SpamFilter {
  const { unavailable, log, count } = deps
  let isDown = false
  const note = (down: boolean, err?: unknown): void => {
    if (down && !isDown) log.warn({ err, mail: unavailable }, 'could not ask the spam filter')
    if (!down && isDown) log.info({}, 'the spam filter answers again')
    isDown = down
  }
  return {
    async judge(message) {
      let answer
      try {
        answer = readVerdict(await ask(message, deps))
        note(false)
      } catch (error) {
        note(true, error)
        count('failed')
        if (unavailable === 'defer') throw refuse('inbound_unjudged')
        return null
      }
      const { action, verdict } = answer
      if (action === 'reject') {
        count('rejected')
        throw refuse('inbound_spam')
      }
      // "greylist" isn't final: rspamd's greylisting turns it into "soft reject" while a message has to wait.
      if (action === 'soft reject') {
        count('deferred')
        throw refuse('inbound_later')
      }
      count(verdict.flagged ? 'flagged' : 'clear')
      return verdict
    },
  }
}

/** Sends the message to rspamd and returns its answer. */
async function ask(message: SpamFilterInput, { url, resolver, clock }: SpamFilterDeps): Promise<unknown> {
  const stop = new AbortController()
  const late = new Error(`no answer within ${DEADLINE_MS / 1000} seconds`)
  const cancel = clock.after(DEADLINE_MS, () => stop.abort(late))
  try {
    const facts = await Promise.race([lookUpPtr(resolver, message.ip), aborted(stop.signal)])
    const response = await fetch(new URL('/checkv2', url), {
      method: 'POST',
      headers: headersOf(message, confirmedNames(facts)[0]),
      body: new Uint8Array(message.bytes),
      redirect: 'error',
      signal: stop.signal,
    })
    if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > MOST_BYTES) throw new Error('the answer is too large')
      chunks.push(chunk)
    }
    return JSON.parse(Buffer.concat(chunks).toString())
  } finally {
    cancel()
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

function headersOf(
  { ip, helo, mailFrom, recipients }: SpamFilterInput,
  hostname: string | undefined,
): [string, string][] {
  const value = (text: string) => Buffer.from(text.replaceAll(/\p{Cc}/gu, '')).toString('latin1')
  return [
    ['ip', ip],
    ['helo', value(helo)],
    // The value that rspamd expects for a client without a confirmed name.
    ['hostname', hostname ?? 'unknown'],
    ['from', value(mailFrom)],
    ...recipients.map(({ address }): [string, string] => ['rcpt', value(address)]),
  ]
}

/** Reads rspamd's answer. Throws if it is invalid. */
function readVerdict(answer: unknown): { action: string; verdict: SpamVerdict } {
  const {
    action,
    score,
    required_score: rejectScore,
    symbols = {},
  } = (answer ?? {}) as Record<string, unknown>
  if (typeof action !== 'string' || typeof score !== 'number' || typeof rejectScore !== 'number')
    throw new Error('the answer has no action and scores')
  const weights = Object.entries(symbols as Record<string, { score?: unknown } | null>).map(
    ([name, symbol]) => [name, Number(symbol?.score ?? 0)] as const,
  )
  const matched = weights.filter(([, weight]) => weight !== 0)
  const heaviest = matched.toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a)).slice(0, MOST_SYMBOLS)
  return {
    action,
    verdict: {
      flagged: action === 'add header' || action === 'rewrite subject',
      score,
      rejectScore,
      symbols: heaviest.map(([name]) => name.slice(0, 100)),
    },
  }
}
