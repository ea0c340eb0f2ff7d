/**
 * Checks the daemon's final report: every email must be final, and every acknowledged ID must exist. Also reads the
 * received mail.
 */
import { fetchJson, fetchAllPages, forEachConcurrently, fetchText, type ApiTarget } from './api-client.ts'
import { getHeaderField, hasMatchingDigest, MARK_FIELD } from './exchanger.ts'
import type { Ledger } from './ledger.ts'

/** The final states of an email (wire format, `last_event`). */
const FINAL = new Set(['delivered', 'bounced', 'failed', 'suppressed'])

interface Listed {
  id: string
  last_event: string
}

/**
 * Returns sentences about emails that aren't final, and about acknowledged IDs that don't exist; none when there are no
 * problems. `ids`: every email of the daemon.
 */
export async function findUnfinishedEmails(
  asked: ApiTarget,
  { sent }: Pick<Ledger, 'sent'>,
): Promise<{ ids: string[]; unfinished: string[] }> {
  let listed: Listed[]
  try {
    listed = await fetchAllPages<Listed>(asked, '/emails')
  } catch (error) {
    return { ids: [], unfinished: [(error as Error).message] }
  }
  const states = new Map(listed.map(({ id, last_event }) => [id, last_event]))
  const waiting = [...states].filter(([, state]) => !FINAL.has(state))
  const unknown = sent.flatMap(({ ids }) => ids.filter((id) => !states.has(id)))
  return {
    ids: [...states.keys()],
    unfinished: [
      ...waiting.map(([id, state]) => `The daemon says that email ${id} is ${state}.`),
      ...unknown.map((id) => `The daemon does not know email ${id}, which it accepted.`),
    ],
  }
}

interface Returned {
  data: { report: unknown }[]
}

/**
 * Fills `ledger.received` and `ledger.returned`. Returns sentences about returned messages that the daemon hasn't read
 * yet; none when there are no problems.
 */
export async function collectReceivedMail(asked: ApiTarget, ledger: Ledger): Promise<string[]> {
  const unread: string[] = []
  const received: NonNullable<Ledger['received']> = []
  try {
    const emails = new Set(ledger.arrivals.flatMap(({ about }) => about?.emailId ?? []))
    await forEachConcurrently([...emails], async (emailId) => {
      const { data } = await fetchJson<Returned>(asked, `/emails/${emailId}/returned`)
      ledger.returned[emailId] = data.length
      if (data.some(({ report }) => report === null)) unread.push(emailId)
    })
    if (unread.length === 0)
      await forEachConcurrently(
        await fetchAllPages<{ id: string }>(asked, '/emails/receiving'),
        async ({ id }) => {
          const source = await fetchText(asked, `/emails/receiving/${id}/source`)
          received.push({ id, mark: getHeaderField(source, MARK_FIELD), whole: hasMatchingDigest(source) })
        },
      )
  } catch (error) {
    return [(error as Error).message]
  }
  ledger.received = received
  return unread.map((emailId) => `The daemon has not read a message returned to email ${emailId}.`)
}
