/** Opens what strangers see of teams: sign-up forms and archives. */
import { randomBytes } from 'node:crypto'
import { createArchives, type PublicArchives } from '../archive/archive.ts'
import { createForms, createFormTokens, type Forms } from '../forms/forms.ts'
import type { Intake } from '../intake/intake.ts'
import type { Senders } from '../senders/senders.ts'
import type { Tracking } from '../tracking/tracking.ts'
import type { SharedResources } from './foundations.ts'

/** How often to check for sign-ups that another node received, in milliseconds. */
const POLL_MS = 1000

interface FormParts {
  intake: Intake
  senders: Pick<Senders, 'authorize'>
  tracking: Pick<Tracking, 'originFor'>
  shareOf: (limit: number) => number
}

/** Opens sign-up forms and archives. */
export async function openPublicPages(
  ground: SharedResources,
  parts: FormParts,
): Promise<{ forms: Forms; archive: PublicArchives }> {
  const { storage, clock } = ground
  const archive = createArchives({ storage, clock, tracking: parts.tracking })
  return { forms: await openForms(ground, parts), archive }
}

/** Opens the forms, with links on the tracking host of the sender's domain, and sends their confirmation emails. */
async function openForms(ground: SharedResources, { tracking, ...parts }: FormParts): Promise<Forms> {
  const { storage, clock, started, options } = ground
  const secret = await storage.secret({ name: 'forms', fresh: randomBytes(32) }, clock.now())
  const forms = createForms({
    ...ground,
    ...parts,
    tokens: createFormTokens(secret),
    pollMs: options.pollMs ?? POLL_MS,
    async originFor({ teamId, domain: name }) {
      const domains = await storage.listDomains({ teamId }, clock.now())
      const domain = domains.find((one) => one.name === name)
      // A form whose domain was removed sends nothing, but still has its page.
      const around = { name, openTracking: false, clickTracking: false, trackingSubdomain: null, checks: [] }
      return tracking.originFor(domain ?? around)
    },
  })
  started.defer(() => forms.close())
  forms.start()
  return forms
}
