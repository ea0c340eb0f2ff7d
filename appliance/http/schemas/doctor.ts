import { Type, type Static } from 'typebox'
import { kind, literals, Timestamp } from './shared.ts'
import { Finding } from './sources.ts'

/** GET /doctor. Ours. */
export const Doctor = Type.Object(
  {
    object: kind('doctor'),
    status: literals(['failed', 'warning', 'ok'], {
      description: 'The worst of the checks; what was skipped does not count.',
    }),
    complete: Type.Boolean({
      description: 'False while checks are still under way, with `wait=false` only.',
    }),
    checked_at: Timestamp,
    checks: Type.Array(Finding, { description: 'Failures first.' }),
  },
  { description: 'What the self-check found.' },
)
export type Doctor = Static<typeof Doctor>
