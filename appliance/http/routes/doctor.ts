import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import type { Domain } from '../../storage/storage.ts'
import { presentDoctor } from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'
import * as schema from '../schemas/doctor.ts'

/** GET /doctor and GET /doctor/latest: looks at the machine and its surroundings, or with `domain` at one of the team's domains. */
export function doctorRoutes(app: App, deps: HttpDeps): void {
  const { senders, doctor } = deps
  const operator = requireOperator(deps)

  const readDomain = async (request: FastifyRequest): Promise<Domain | undefined> => {
    const { domain: name } = request.query as Record<string, unknown>
    if (name === undefined || name === '') return undefined
    if (typeof name !== 'string')
      throw refuse('invalid_parameter', { parameter: 'domain', expected: 'one name' })
    const { teamId } = callerOf(request)
    const found = (await senders.listDomains({ teamId })).find((one) => one.name === name.toLowerCase())
    if (!found) throw refuse('not_found', { resource: 'Domain' })
    return found
  }

  app.get(
    '/doctor',
    { preHandler: operator, schema: { response: { 200: schema.Doctor } } },
    async (request) => {
      const wait = readWait(request)
      const domain = await readDomain(request)
      const { findings, at, complete } = wait
        ? { ...(await doctor.examine(domain)), complete: true }
        : await doctor.watch(domain)
      return presentDoctor(findings, at, complete)
    },
  )

  // For what asks often: no look is made for the caller.
  app.get(
    '/doctor/latest',
    { preHandler: operator, schema: { response: { 200: schema.Doctor } } },
    async () => {
      const report = doctor.latest()
      return presentDoctor(report?.findings ?? [], report?.at ?? deps.clock.now(), report !== null)
    },
  )
}

/** `wait=false` answers at once with what is found so far. */
function readWait({ query }: FastifyRequest): boolean {
  const { wait } = query as Record<string, unknown>
  if (wait === undefined || wait === '' || wait === 'true') return true
  if (wait !== 'false') throw refuse('invalid_parameter', { parameter: 'wait', expected: 'true or false' })
  return false
}
