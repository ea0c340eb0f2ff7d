/** Reads the senders that a From field can suggest. */
import { sendersOf } from '../state/senders.ts'
import { listDomains, listEmails } from './calls.ts'
import { listForms } from './forms.ts'

/** Number of the newest emails whose senders are suggested: one page of the list. */
const EMAILS = 100

/** Ignores the failure of a request, because fewer suggestions do no harm. */
const orNone = <T>(request: Promise<{ data: T[] }>): Promise<T[]> =>
  request.then(
    ({ data }) => data,
    () => [],
  )

/**
 * Lists senders at verified domains: of the sign-up forms and the newest emails, and one for each other domain.
 * @param team the name of the team
 */
export async function listSenders(team: string, signal?: AbortSignal): Promise<string[]> {
  const [domains, forms, emails] = await Promise.all([
    listDomains(signal),
    orNone(listForms(signal)),
    orNone(listEmails({}, EMAILS, signal)),
  ])
  const verified = domains.data.filter(({ status }) => status === 'verified').map(({ name }) => name)
  // People choose the sender of a form deliberately. Apps may send with many.
  const used = [...forms, ...emails].map(({ from }) => from)
  return sendersOf({ domains: verified, used, team })
}
