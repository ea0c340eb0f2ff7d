import { expect, test } from 'vitest'
import { forgetNode, listNodes } from '../../../appliance/commands/node.ts'
import type { Config } from '../../../appliance/config/config.ts'
import type { StoredNode } from '../../../appliance/storage/storage.ts'

const NOW = Date.UTC(2026, 0, 1, 12)
const storage = { engine: 'postgres', dataDir: '/var/lib/posthaste', database: 'db/posthaste', schema: 3 }
const facts = { hostname: 'mx1.example', version: '1.2.3', runtime: 'v24', sandbox: false, startedAt: 1 }
const stored = (id: string, name: string, more: Partial<StoredNode> = {}): StoredNode => ({
  id,
  name,
  state: 'active',
  startedAt: NOW,
  heartbeatAt: NOW,
  sources: [],
  facts: JSON.stringify({ ...facts, listeners: [], storage }),
  ...more,
})

/** A context on a database with these nodes, of which those with `alive` can't be removed. */
function contextOf(nodes: StoredNode[], engine: 'sqlite' | 'postgres' = 'postgres') {
  const printed: string[] = []
  return {
    printed,
    config: { storage: { engine } } as Config,
    clock: { now: () => NOW, after: () => () => undefined },
    output: { object: () => undefined, text: (...lines: string[]) => void printed.push(...lines) },
    storage: {
      listNodes: async () => nodes,
      forgetNode: async ({ id }: { id: string }) => nodes.find((one) => one.id === id)?.state === 'stopped',
    },
  }
}

type Given = Parameters<typeof listNodes>[0]
const list = async (nodes: StoredNode[], engine?: 'sqlite') => {
  const context = contextOf(nodes, engine)
  await listNodes(context as unknown as Given)
  return context.printed
}
const forget = async (nodes: StoredNode[], name: string) => {
  const context = contextOf(nodes)
  await forgetNode(context as unknown as Given, [name])
  return context.printed
}

test('node list shows nodes with their sending IPs and problems', async () => {
  const nodes = [
    stored('aa', 'mail1', { sources: ['192.0.2.1', '192.0.2.2'] }),
    stored('bb', 'mail2', { heartbeatAt: NOW - 60_000 }),
  ]
  const printed = (await list(nodes)).join('\n')
  expect(printed).toMatch(/^NAME +ID +STATE +VERSION +SCHEMA +HEARTBEAT +SENDING IPS$/m)
  expect(printed).toMatch(/^mail1 +aa +active +1\.2\.3 +3 .* 192\.0\.2\.1, 192\.0\.2\.2$/m)
  expect(printed).toMatch(/^mail2 +bb +lost /m)
  expect(printed).toMatch(/^mail2: It last renewed its entry in the database 60 s ago\./m)
  const placed = [
    stored('aa', 'mail1', { facts: JSON.stringify({ ...facts, region: 'eu-west-1', storage }) }),
  ]
  expect((await list(placed)).join('\n')).toMatch(/^mail1 +aa +active +eu-west-1 +1\.2\.3 /m)
  expect(await list([])).toEqual(['No nodes. Start one: posthaste serve'])
  await expect(list([], 'sqlite')).rejects.toThrow('With SQLite, there is only one node.')
})

test('node remove deletes a node by name or ID unless it is alive', async () => {
  const nodes = [
    stored('aa', 'mail1', { state: 'stopped', sources: ['192.0.2.1'] }),
    stored('bb', 'mail2'),
    stored('cc', 'twin', { state: 'stopped' }),
    stored('dd', 'twin', { state: 'stopped' }),
  ]
  expect(await forget(nodes, 'mail1')).toEqual(['Removed mail1 and its sending IPs: 192.0.2.1.'])
  expect(await forget(nodes, 'cc')).toEqual(['Removed twin.'])
  await expect(forget(nodes, 'twin')).rejects.toThrow('Several nodes are named twin. Give an ID: cc, dd')
  await expect(forget(nodes, 'mail2')).rejects.toThrow('mail2 is alive.')
  await expect(forget(nodes, 'none')).rejects.toThrow('There is no node none.')
})
