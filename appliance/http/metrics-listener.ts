/** The listener of `metrics.listen`: Prometheus metrics and the two health checks, without a key, and nothing else. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Health, HealthChecks } from '../watch/health.ts'
import type { Instruments } from '../watch/metrics.ts'
import { createListeners, type Listeners } from './listeners.ts'

export interface MetricsListenerDeps {
  instruments: Pick<Instruments, 'page'>
  health: HealthChecks
  log: { error(fields: object, message: string): void }
}

interface Page {
  status: number
  type: string
  text: string
}

const plain = (status: number, text: string): Page => ({ status, type: 'text/plain; charset=utf-8', text })

const healthPage = ({ ok, reasons }: Health): Page =>
  ok ? plain(200, 'ok\n') : plain(503, `${reasons.join('\n')}\n`)

async function pageOf(path: string, { instruments, health }: MetricsListenerDeps): Promise<Page> {
  if (path === '/metrics') return { status: 200, ...(await instruments.page()) }
  if (path === '/healthz') return healthPage(await health.alive())
  if (path === '/readyz') return healthPage(await health.ready())
  return plain(404, 'Available: /metrics, /healthz and /readyz.\n')
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  deps: MetricsListenerDeps,
): Promise<void> {
  try {
    const allowed = request.method === 'GET' || request.method === 'HEAD'
    const path = (request.url ?? '').split('?', 1)[0]!
    const { status, type, text } = allowed ? await pageOf(path, deps) : plain(405, 'Only GET is allowed.\n')
    const headers = {
      'content-type': type,
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(text),
    }
    response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : text)
  } catch (err) {
    // A monitor must notice the failure, whatever its cause.
    deps.log.error({ err }, 'could not gather the metrics; the storage may not be responding')
    response
      .writeHead(500, { 'content-type': 'text/plain' })
      .end('Could not gather the metrics. See the log.\n')
  }
}

/** Creates the listener. It listens when `listen` binds the addresses of `metrics.listen`. */
export function createMetricsListener(deps: MetricsListenerDeps): Listeners {
  return createListeners((request, response) => void answer(request, response, deps), 'metrics.listen', null)
}
