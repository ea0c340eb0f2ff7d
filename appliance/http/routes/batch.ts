import type { FastifyRequest } from 'fastify'
import { parseRequest, type ItemError, type SendRequest, type Submission } from '../../intake/intake.ts'
import { Refusal, refuse, refuseAt } from '../../mail/refusals.ts'
import { setAcceptedHeaders, dropHeadersAndLog, identifyRequest } from '../accepted.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { MAX_BATCH, sendBatch, SendEmail } from '../../api/sending.ts'
import { serve } from '../serve.ts'
import { createValidationRefusal } from '../validation.ts'

/** Routes for sending many emails with one request. */
export function batchRoutes(app: App, { intake, templates, clock }: HttpDeps): void {
  serve(
    app,
    sendBatch,
    {
      right: 'send',
      audit: null,
      // Elements are validated one by one, because a permissive batch accepts its valid elements. The schema's result
      // for the whole batch is ignored.
      attachValidation: true,
      preValidation: (request, _reply, done) => {
        const { body } = request
        if (Array.isArray(body) && body.length <= MAX_BATCH) dropHeadersAndLog(request, body)
        done()
      },
    },
    async (request, reply) => {
      const caller = getCaller(request)
      const permissive = readMode(request.headers['x-batch-validation']) === 'permissive'
      const name = identifyRequest(request, 'POST /emails/batch', permissive ? 'permissive' : '')
      const read = async (item: unknown) => {
        const { body, template } = await templates.fill(assertEmail(request, item), caller.teamId)
        return { ...parseRequest(body, clock.now()), template }
      }
      // Checked before the emails are read, because a permissive request may have sent a batch that a strict request
      // can't.
      const accepted =
        (await intake.findEarlier(name, caller)) ??
        (await intake.accept({ ...(await readBatch(request, permissive, read)), ...name }, caller))
      // A list, so that a search for an id finds the request.
      request.about.email_id = accepted.ids
      setAcceptedHeaders(reply, accepted)
      const data = accepted.ids.map((id) => ({ id }))
      return permissive ? { data, errors: accepted.errors } : { data }
    },
  )
}

/** Reads the emails of a batch; of a permissive one, the valid emails. */
async function readBatch(
  request: FastifyRequest,
  permissive: boolean,
  read: (item: unknown) => Promise<Submission>,
): Promise<Required<Pick<SendRequest, 'submissions' | 'batch'>>> {
  const submissions: Submission[] = []
  const places: number[] = []
  const errors: ItemError[] = []
  for (const [index, item] of assertBatch(request.body).entries()) {
    try {
      submissions.push(await read(item))
      places.push(index)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status >= 500) throw error
      if (!permissive) throw refuseAt(index, error)
      errors.push({ index, message: error.message })
    }
  }
  return { submissions, batch: { permissive, places, errors } }
}

/** Reads `x-batch-validation`. By default, nothing is sent unless every email is valid. */
function readMode(value: string | string[] | undefined): 'strict' | 'permissive' {
  const mode = value === undefined || value === '' ? 'strict' : String(value).toLowerCase()
  if (mode === 'strict' || mode === 'permissive') return mode
  throw refuse('invalid_parameter', { parameter: 'x-batch-validation', expected: 'strict or permissive' })
}

function assertBatch(body: unknown): unknown[] {
  if (!Array.isArray(body)) throw refuse('body_not_array')
  if (body.length < 1 || body.length > MAX_BATCH)
    throw refuse('invalid_field', { field: 'request.body', expected: `1 to ${MAX_BATCH} emails` })
  return body
}

/** Runs the same checks as for the body of POST /emails, in the same order. */
function assertEmail(request: FastifyRequest, item: unknown): SendEmail {
  const fits = request.getValidationFunction(SendEmail) ?? request.compileValidationSchema(SendEmail)
  if (!fits(item)) throw createValidationRefusal(fits.errors ?? [])
  const email = item as SendEmail
  if (email.attachments && email.attachments.length > 0)
    throw refuse('not_in_batch', { field: 'attachments' })
  return email
}
