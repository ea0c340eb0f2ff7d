import { Type, type Static } from 'typebox'
import { kind, literals, Timestamp } from '../../api/shared.ts'
import { Finding } from './sources.ts'

/** GET /doctor. Ours. */
export const Doctor = Type.Object(
  {
    object: kind('doctor'),
    status: literals(['failed', 'warning', 'ok'], {
      description: 'The worst status of all checks, without skipped ones.',
    }),
    complete: Type.Boolean({
      description: 'False while checks are running; only with `wait=false`.',
    }),
    checked_at: Timestamp,
    checks: Type.Array(Finding, { description: 'Failures first.' }),
  },
  { description: 'The results of the self-check.' },
)
export type Doctor = Static<typeof Doctor>
