import { createArchives, type PublicArchives } from '../../../appliance/archive/archive.ts'
import { createForms, createFormTokens, type Forms, type FormTokens } from '../../../appliance/forms/forms.ts'

export interface SignUpForms {
  /** Sign-up forms, which send confirmation emails after `start`. */
  forms: Forms
  /** Creates tokens for confirmation links. */
  formTokens: FormTokens
  /** Public archives. */
  archive: PublicArchives
}

type Deps = Pick<Parameters<typeof createForms>[0], 'storage' | 'clock' | 'log' | 'senders' | 'intake'> &
  Pick<Parameters<typeof createArchives>[0], 'storage'>

const ORIGIN = 'https://links.acme.example'
/** An hour, so that a test can move its clock by days. A sign-up wakes the worker. */
const POLL_MS = 3_600_000

/** Creates the sign-up forms and the public archives of the API's tests. */
export function signUpForms(deps: Deps): SignUpForms {
  const formTokens = createFormTokens(Buffer.alloc(32, 2))
  const forms = createForms({
    ...deps,
    tokens: formTokens,
    pollMs: POLL_MS,
    shareOf: (limit) => limit,
    originFor: () => Promise.resolve(ORIGIN),
  })
  const tracking = { originFor: () => ORIGIN }
  return { forms, formTokens, archive: createArchives({ ...deps, tracking }) }
}
