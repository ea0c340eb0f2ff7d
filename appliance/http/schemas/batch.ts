import { Type } from 'typebox'
import { SendEmail } from './emails.ts'
import { Id } from '../../api/shared.ts'

/** Emails in one request. */
export const MAX_BATCH = 100

/** Body of POST /emails/batch. */
export const SendBatch = Type.Array(SendEmail, {
  minItems: 1,
  maxItems: MAX_BATCH,
  description: 'Each element is sent as a separate email. Attachments are not supported in batches.',
})

/** POST /emails/batch */
export const BatchCreated = Type.Object(
  {
    data: Type.Array(Type.Object({ id: Id }), {
      description: 'The accepted emails, in the order of the request.',
    }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          index: Type.Integer({ description: 'Index in the request, from 0.' }),
          message: Type.String({ description: 'What is wrong with this email.' }),
        }),
        { description: 'Only with `x-batch-validation: permissive`: the emails that were refused.' },
      ),
    ),
  },
  { description: 'The accepted emails, and in permissive mode the refused ones.' },
)
