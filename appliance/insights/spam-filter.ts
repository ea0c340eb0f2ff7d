/** Checks whether the spam filter for received mail can be reached. */
import type { Finding } from '../mail/finding.ts'
import { openMilter } from '../wire/milter.ts'

/** The response of a filter to a ping, or the reason why there was none. */
export type FilterStatus = { kind: 'up' } | { kind: 'down'; reason: string }

const TIMEOUT = 3000

/** Pings rspamd. Never rejects. */
export async function pingSpamFilter(url: string): Promise<FilterStatus> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT)
    const response = await fetch(new URL('/ping', url), { redirect: 'error', signal })
    const text = (await response.text()).trim()
    if (response.ok && text === 'pong') return { kind: 'up' }
    return { kind: 'down', reason: `answers with status ${response.status}, so it is not rspamd` }
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string } }
    const code = cause?.code
    return {
      kind: 'down',
      reason: name === 'TimeoutError' ? 'does not answer' : `can't be reached (${code ?? name})`,
    }
  }
}

/** Negotiates the protocol with a milter, and disconnects. Never rejects. */
export async function pingMilter(milter: string): Promise<FilterStatus> {
  const signal = AbortSignal.timeout(TIMEOUT)
  try {
    const connection = await openMilter(milter, signal)
    connection.close()
    return { kind: 'up' }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const reason = signal.aborted ? 'does not answer' : `can't be asked (${code ?? message})`
    return { kind: 'down', reason }
  }
}

/**
 * Evaluates a milter's response.
 * @param unavailable what happens to mail without its verdict
 */
export function evaluateMilter(
  answer: FilterStatus,
  { milter, unavailable }: { milter: string; unavailable: 'accept' | 'defer' },
): Finding {
  const about = { id: `milter:${milter}`, title: `Milter ${milter}` }
  if (answer.kind === 'up')
    return { ...about, status: 'ok', found: `The milter at ${milter} answers.`, advice: null }
  return {
    ...about,
    status: unavailable === 'accept' ? 'warning' : 'failed',
    found: `The milter at ${milter} ${answer.reason}. ${EFFECT[unavailable]}`,
    advice: 'Start the filter, or change inbound.milters.',
  }
}

/** What happens to received mail while the filter is unavailable. */
const EFFECT = {
  accept: 'Received mail is accepted without a verdict.',
  defer: 'Mail to receiving domains is refused temporarily.',
}

/**
 * Evaluates the filter's response.
 * @param unavailable what happens to mail without a verdict
 */
export function evaluateSpamFilter(
  answer: FilterStatus,
  { url, unavailable }: { url: string; unavailable: 'accept' | 'defer' },
): Finding {
  const about = { id: 'spam-filter', title: 'Spam filter' }
  if (answer.kind === 'up')
    return { ...about, status: 'ok', found: `rspamd at ${url} answers.`, advice: null }
  return {
    ...about,
    status: unavailable === 'accept' ? 'warning' : 'failed',
    found: `rspamd at ${url} ${answer.reason}. ${EFFECT[unavailable]}`,
    advice: 'Start rspamd, or change inbound.rspamd_url.',
  }
}
