import { Type, type Static } from 'typebox'
import { RECIPIENT_STATUSES } from '../mail/recipient-status.ts'
import { literals } from './shared.ts'

/** How one recipient stands. */
export const RecipientStatus = literals(RECIPIENT_STATUSES, {
  description:
    'Status of this recipient: `queued` or `scheduled` before the first attempt, `sent` during it, `delayed` after it; `complained` after a complaint.',
})
export type RecipientStatus = Static<typeof RecipientStatus>

/** How the recipients of an email stand. */
export const RecipientCounts = Type.Object(
  Object.fromEntries(
    RECIPIENT_STATUSES.map((status) => [
      status,
      Type.Optional(Type.Integer({ minimum: 1, description: `Recipients with the status \`${status}\`.` })),
    ]),
  ) as Record<
    (typeof RECIPIENT_STATUSES)[number],
    ReturnType<typeof Type.Optional<ReturnType<typeof Type.Integer>>>
  >,
  { description: 'Number of recipients with each status. Statuses without recipients are absent.' },
)
export type RecipientCounts = Static<typeof RecipientCounts>
