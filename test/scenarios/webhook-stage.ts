import { Resend } from 'resend'
import { expect } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/**
 * The setup for webhook scenarios: a world with one busy domain, an appliance that may call loopback addresses, and the
 * official client.
 */

export const ALL = ['email.sent', 'email.delivered', 'email.bounced'] as const

/** A registered endpoint and its receiver. */
export interface Endpoint {
  receiver: Receiver
  id: string
  secret: string
}

export interface Stage {
  world: World
  appliance: TestAppliance
  /** Returns a client for the appliance's current run. */
  client(): Resend
  endpoint(events?: readonly (typeof ALL)[number][]): Promise<Endpoint>
  /** Removes the endpoints and closes their receivers. */
  clear(): Promise<void>
  close(): Promise<void>
}

/** Creates a stage. The caller must close it. */
export async function openStage(): Promise<Stage> {
  const world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  const appliance = await startAppliance({ world, config: { webhooks } })
  const client = () => new Resend(appliance.apiKey, { baseUrl: appliance.url })
  const made: Endpoint[] = []

  const clear = async () => {
    for (const { id, receiver } of made.splice(0)) {
      await client().webhooks.remove(id)
      await receiver.close()
    }
  }
  return {
    world,
    appliance,
    client,
    async endpoint(events = ALL) {
      const receiver = await startReceiver()
      const { data, error } = await client().webhooks.create({ endpoint: receiver.url, events: [...events] })
      expect(error).toBeNull()
      const one = { receiver, id: data!.id, secret: data!.signing_secret }
      made.push(one)
      return one
    },
    clear,
    async close() {
      await clear()
      await appliance.close()
      await world.close()
    },
  }
}
