import * as api from '../../api/doctor.ts'
import { serve } from '../serve.ts'
import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import type { Domain } from '../../storage/storage.ts'
import { getCaller, requireOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/**
 * Routes GET /doctor and GET /doctor/latest: check the machine and its environment or, with `domain`, one of the
 * team's domains.
 */
export function doctorRoutes(app: App, deps: HttpDeps): void {
  const { senders, doctor } = deps
  const operator = requireOperator(deps)

  const findDomain = async (
    request: FastifyRequest,
    name: string | undefined,
  ): Promise<Domain | undefined> => {
    if (name === undefined) return undefined
    const { teamId } = getCaller(request)
    const found = (await senders.listDomains({ teamId })).find((one) => one.name === name.toLowerCase())
    if (!found) throw refuse('not_found', { resource: 'Domain' })
    return found
  }

  serve(app, api.getDoctor, { preValidation: operator }, async (request) => {
    const { wait } = request.query
    const domain = await findDomain(request, request.query.domain)
    const { findings, at, complete } = wait
      ? { ...(await doctor.examine(domain)), complete: true }
      : await doctor.watch(domain)
    return api.presentDoctorReport(findings, at, complete)
  })

  // Never starts a check, so that it can be requested frequently.
  serve(app, api.getLatestDoctor, { preValidation: operator }, async () => {
    const report = doctor.latest()
    return api.presentDoctorReport(report?.findings ?? [], report?.at ?? deps.clock.now(), report !== null)
  })
}
