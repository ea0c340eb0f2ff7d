/** Checks the daemon's final report: every email is final, and every acknowledged id exists. */
import { askAll, type Asked } from './ask.ts'
import type { Ledger } from './ledger.ts'

/** The final states of an email (wire format, `last_event`). */
const FINAL = new Set(['delivered', 'bounced', 'failed', 'suppressed'])

interface Listed {
  id: string
  last_event: string
}

/**
 * Returns sentences about emails that aren't final, and about acknowledged ids that don't exist; none when all is well.
 * `ids`: every email of the daemon.
 */
export async function unfinishedEmails(
  asked: Asked,
  { sent }: Pick<Ledger, 'sent'>,
): Promise<{ ids: string[]; unfinished: string[] }> {
  let listed: Listed[]
  try {
    listed = await askAll<Listed>(asked, '/emails')
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
