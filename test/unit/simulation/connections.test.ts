import { expect, test } from 'vitest'
import type { ConversationRequest } from '../../../appliance/delivery/delivery.ts'
import { VirtualClock } from '../../../appliance/simulation/clock.ts'
import { createSimulatedConnections } from '../../../appliance/simulation/connections.ts'
import { Server } from '../../../appliance/simulation/server.ts'
import { receiver } from './present.ts'

/** A message to one IP, from a lane with a single connection. */
const call = (ip: string): ConversationRequest =>
  ({
    host: `mx.${ip}.test`,
    ip,
    recipients: [`r1-ok@${ip}.test`],
    until: 60_000,
    lane: { key: 'lane', connections: 1 },
    mailTurn: () => 0,
    messagesPerConnection: 100,
    idleMs: 10_000,
  }) as unknown as ConversationRequest

test('a kept connection evicted for another receiver is closed at its own receiver', async () => {
  const clock = new VirtualClock(0)
  const servers = new Map(['gmail', 'workspace'].map((id) => [id, new Server(receiver(id), () => null)]))
  const connections = createSimulatedConnections(clock, (ip) => servers.get(ip)!)
  for (const ip of ['gmail', 'workspace', 'gmail']) {
    let ended = false
    void connections
      .converse(call(ip), { steps: [], begin: () => ({ end: () => undefined }) })
      .then(({ outcome }) => (ended = [...outcome.values()][0]!.kind === 'accepted'))
    await clock.run(() => ended, 60_000)
    expect(ended).toBe(true)
    expect(connections.count()).toEqual({ open: 1, idle: 1 })
    // The second is closed because it is idle.
    if (ip === 'workspace') await clock.run(() => connections.count().open === 0, 60_000)
  }
  expect([...servers.values()].map(({ peaks }) => peaks.connections)).toEqual([1, 1])
})
