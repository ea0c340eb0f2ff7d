import { createResolver } from '../../../appliance/dns/resolver.ts'
import type { HttpDeps } from '../../../appliance/http/http.ts'
import type { NodeView } from '../../../appliance/mail/node.ts'
import { refuse } from '../../../appliance/mail/refusals.ts'
import type { TestClock } from '../../world/clock.ts'

/** A resolver whose only server is a closed port, so that every lookup fails at once. */
export const noDns = (clock: TestClock) => createResolver({ servers: ['127.0.0.1:9'], clock, timeoutMs: 50 })

/** These tests read no metrics. */
export const silentInstruments: HttpDeps['instruments'] = {
  page: () => Promise.resolve({ type: 'text/plain', text: '' }),
  httpAnswered: () => undefined,
}

/** The only node of the API's tests. */
export const nodeView = (dataDir: string, startedAt: number): NodeView => ({
  id: '5f2b1c9a7d3e4f60',
  name: 'mail1',
  state: 'active',
  current: true,
  heartbeatAt: null,
  sources: ['auto'],
  hostname: 'mail.acme.example',
  version: '0.0.0',
  runtime: 'v24.0.0',
  sandbox: false,
  region: null,
  failover: null,
  startedAt,
  listeners: ['http://127.0.0.1:8025', 'smtp://127.0.0.1:2525'],
  storage: { engine: 'sqlite', dataDir, database: null, schema: 1 },
  ready: true,
  reasons: [],
})

/** The list of nodes, which has only this one. */
export const nodeStandIn = (dataDir: string, clock: TestClock): HttpDeps['node'] => {
  const view = () => nodeView(dataDir, clock.now())
  return {
    facts: view,
    list: async () => [view()],
    forget: async (id) => {
      const { id: own, name } = view()
      throw id === own ? refuse('node_alive', { name }) : refuse('not_found', { resource: `Node ${id}` })
    },
    shareOf: (limit) => limit,
  }
}

export const wellHealth: HttpDeps['health'] = {
  alive: () => Promise.resolve({ ok: true, reasons: [] }),
  ready: () => Promise.resolve({ ok: true, reasons: [] }),
  stopping: () => undefined,
}

/** Nothing is signed here. Real keys would take half a second per server. */
export const noKeys = async () => ({ privateKey: new Uint8Array([1]), publicKey: 'AQ==' })
