/** Checks whether the spam filter for received mail can be reached. */
import type { Finding } from '../mail/finding.ts'

/** What the filter answers to a ping; `down`: why it doesn't. */
export type FilterAnswer = { kind: 'up' } | { kind: 'down'; reason: string }

const TIMEOUT = 3000

/** Pings rspamd. Never rejects. */
export async function askSpamFilter(url: string): Promise<FilterAnswer> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT)
    const response = await fetch(new URL('/ping', url), { redirect: 'error', signal })
    const text = (await response.text()).trim()
    if (response.ok && text === 'pong') return { kind: 'up' }
    return { kind: 'down', reason: `answers with status ${response.status}, and is not rspamd` }
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string } }
    const code = cause?.code
    return {
      kind: 'down',
      reason: name === 'TimeoutError' ? 'does not answer' : `can't be reached (${code ?? name})`,
    }
  }
}

/** Judges the answer. @param unavailable what happens to mail without a verdict */
export function judgeSpamFilter(
  answer: FilterAnswer,
  { url, unavailable }: { url: string; unavailable: 'accept' | 'defer' },
): Finding {
  const about = { id: 'spam-filter', title: 'Spam filter' }
  if (answer.kind === 'up')
    return { ...about, status: 'ok', found: `rspamd at ${url} answers.`, advice: null }
  const effect =
    unavailable === 'accept'
      ? 'Received mail is accepted without a verdict.'
      : 'Mail to receiving domains is refused temporarily.'
  return {
    ...about,
    status: unavailable === 'accept' ? 'warning' : 'failed',
    found: `rspamd at ${url} ${answer.reason}. ${effect}`,
    advice: 'Start rspamd, or change inbound.rspamd_url.',
  }
}
