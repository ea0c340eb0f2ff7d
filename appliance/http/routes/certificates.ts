import { presentCertificate } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'
import * as schema from '../schemas/certificates.ts'

/** The certificates of the listeners: those who run the server see when they end. */
export function certificateRoutes(app: App, deps: HttpDeps): void {
  app.get(
    '/certificates',
    { preHandler: requireOperator(deps), schema: { response: { 200: schema.CertificateList } } },
    async () => presentList(((await deps.tls?.list()) ?? []).map(presentCertificate)),
  )
}
