import { Type, type Static } from 'typebox'
import { kind, literals } from '../../api/shared.ts'

/** GET /healthz and GET /readyz. */
export const Health = Type.Object(
  {
    object: kind('health'),
    status: literals(['ok', 'unavailable'], { description: '`unavailable` comes with status 503.' }),
    reasons: Type.Array(Type.String(), { description: 'What is wrong, and how to fix it.', examples: [[]] }),
  },
  { description: 'The health of the server.' },
)
export type Health = Static<typeof Health>
