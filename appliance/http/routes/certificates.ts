import * as api from '../../api/certificates.ts'
import { serve } from '../serve.ts'
import { presentList } from '../../api/shared.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'

/** The certificates of the listeners: those who run the server see when they end. */
export function certificateRoutes(app: App, deps: HttpDeps): void {
  serve(app, api.listCertificates, { preValidation: requireOperator(deps) }, async () =>
    presentList(((await deps.tls?.list()) ?? []).map(api.presentCertificate)),
  )
}
